# SPDX-License-Identifier: Apache-2.0
# glint_folder(NAME [SOURCES ...] DEPENDS ...): the static library of src/NAME; without sources, its
# headers. DEPENDS names the other folders it may include.
function(glint_folder name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
    if(arg_SOURCES)
        set(reach PUBLIC)
        add_library(glint_${name} STATIC ${arg_SOURCES})
    else()
        set(reach INTERFACE)
        add_library(glint_${name} INTERFACE)
    endif()
    target_include_directories(glint_${name} ${reach} ${PROJECT_SOURCE_DIR}/src
        ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(glint_${name} ${reach} glint_flags)
    if(arg_SOURCES AND NOT GLINT_SANITIZE)
        target_compile_options(glint_${name} PRIVATE
            $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=8192>)
    endif()
    foreach(other ${arg_DEPENDS})
        target_link_libraries(glint_${name} ${reach} glint_${other})
    endforeach()
endfunction()

# glint_test(NAME SOURCES ... DEPENDS ... [ARGS ...] [THREADS]): a cmocka program registered with
# CTest. DEPENDS names src folders. The test runs in the source tree's tests/ folder. THREADS: it
# runs under the thread sanitizer too.
add_custom_target(thread_tests)
set(GLINT_TEST_SECONDS 300)
if(GLINT_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL Release)
    set(GLINT_TEST_SECONDS 1500)
endif()
function(glint_test name)
    cmake_parse_arguments(arg "THREADS" "" "SOURCES;DEPENDS;ARGS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${GLINT_CMOCKA_INCLUDE})
    target_link_libraries(${name} PRIVATE glint_flags ${GLINT_CMOCKA})
    foreach(folder ${arg_DEPENDS})
        target_link_libraries(${name} PRIVATE glint_${folder})
    endforeach()
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${GLINT_TEST_SECONDS})
    if(arg_THREADS)
        set_tests_properties(${name} PROPERTIES LABELS threads)
        add_dependencies(thread_tests ${name})
    endif()
endfunction()

# glint_fuzz(NAME SOURCES ... DEPENDS ...): a fuzz harness, one for each reader of foreign bytes.
# With GLINT_FUZZ a libFuzzer program; else a program that replays tests/fuzz/corpus/NAME and is
# registered with CTest, but for the other sanitizer builds: the libFuzzer program replays it first
# under the same sanitizers. See tests/fuzz/README.md.
function(glint_fuzz name)
    if(GLINT_SANITIZE AND NOT GLINT_FUZZ)
        return()
    endif()
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE glint_flags)
    foreach(folder ${arg_DEPENDS})
        target_link_libraries(${name} PRIVATE glint_${folder})
    endforeach()
    if(GLINT_FUZZ)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers ${name})
    else()
        target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
        add_test(NAME ${name} COMMAND ${name} fuzz/corpus/${name}
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${GLINT_TEST_SECONDS})
    endif()
endfunction()

# glint_bench(NAME SOURCES ... DEPENDS ...): a program that measures; `make bench` runs it
# without arguments, so that should take less than a minute.
add_custom_target(benches)
function(glint_bench name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE glint_flags)
    foreach(folder ${arg_DEPENDS})
        target_link_libraries(${name} PRIVATE glint_${folder})
    endforeach()
    add_dependencies(benches ${name})
endfunction()
