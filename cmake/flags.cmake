# SPDX-License-Identifier: Apache-2.0
# Flags of every target. Contraction is off so that a multiply-add is fused only where the code
# says so: sums must not depend on the compiler's choice.
add_library(glint_flags INTERFACE)
target_compile_definitions(glint_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(glint_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-align -Wwrite-strings -Wvla
    -ffp-contract=off -fno-math-errno>)
if(GLINT_WERROR)
    target_compile_options(glint_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(GLINT_SANITIZE)
    target_compile_options(glint_flags INTERFACE -fsanitize=${GLINT_SANITIZE}
        -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(glint_flags INTERFACE -fsanitize=${GLINT_SANITIZE})
endif()
if(GLINT_FUZZ)
    target_compile_options(glint_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)
target_link_libraries(glint_flags INTERFACE Threads::Threads m)
