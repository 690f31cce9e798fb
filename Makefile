# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake: the presets in CMakePresets.json do the work.
# `make demo` and `make test` first install what is missing (tools/setup.sh).

PRESET ?= release
WERROR ?= OFF
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
SECONDS_EACH ?= 60
PREFIX ?= /usr/local

GLINT = build/release/glint
configure = cmake --preset $(1) -DGLINT_WERROR=$(WERROR) >build/$(1).configure.log 2>&1 || \
    { cat build/$(1).configure.log; exit 1; }

.PHONY: all demo test test-asan test-tsan fuzz check bench format install clean

# The program alone.
all:
	@tools/setup.sh build
	@mkdir -p build
	@$(call configure,release)
	@command -v nvcc >/dev/null || echo "No CUDA toolkit found: building for the CPU alone."
	@cmake --build --preset release -j $(JOBS) --target glint

# Builds the program and lets the small model that ships with it answer: a question, a call of a
# tool it has never seen, a picture.
demo: all
	@echo '> Who are you?'
	@$(GLINT) run -m models/glimmer-mini.gguf --temp 0 -p 'Who are you?'
	@echo; echo '> What is 47 + 38?'
	@$(GLINT) run -m models/glimmer-mini.gguf --temp 0 -p 'What is 47 + 38?'
	@echo; echo '> What is the weather in Oslo?   (with the tool of tools/demo/weather.json)'
	@$(GLINT) run -m models/glimmer-mini.gguf --temp 0 --tools tools/demo/weather.json \
	    -p 'What is the weather in Oslo?'
	@echo; echo '> Describe the picture.   (tools/demo/shapes.png)'
	@$(GLINT) run -m models/glimmer-mini.gguf --temp 0 --image tools/demo/shapes.png \
	    -p 'Describe the picture.'

# Builds and runs every test. PRESET picks another build: debug, asan, tsan.
test:
	@tools/setup.sh build test
	@mkdir -p build
	@$(call configure,$(PRESET))
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@python3 tests/server/browser.py || true
	@$(if $(filter release debug,$(PRESET)),python3 -B tests/clients/test_clients.py --install || true)
	@ctest --test-dir build/$(PRESET) --output-on-failure --no-tests=error -j $(JOBS)

# Address and undefined-behaviour sanitizers.
test-asan:
	@$(MAKE) --no-print-directory test PRESET=asan

# Thread sanitizer, on the tests that have threads.
test-tsan:
	@tools/setup.sh build test
	@mkdir -p build
	@$(call configure,tsan)
	@cmake --build --preset tsan -j $(JOBS) --target thread_tests
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -L threads

# Every fuzz harness, SECONDS_EACH seconds each.
fuzz:
	@tools/setup.sh build ci
	@tools/fuzz.sh $(SECONDS_EACH)

# The rules of CONTRIBUTING.md that a script can see.
check:
	@tools/setup.sh build test ci
	@tools/check_tree.py

# What the pieces cost on this machine.
bench:
	@tools/setup.sh build test
	@mkdir -p build
	@$(call configure,release)
	@cmake --build --preset release -j $(JOBS) --target benches
	@for program in build/release/bench_*; do echo "== $$program"; $$program || exit 1; done

format:
	@tools/setup.sh ci
	@tools/check_tree.py --format

install: all
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
