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
CC := $(CROSS)gcc
AR := $(CROSS)ar
NM := $(CROSS)nm
SIZE := $(CROSS)size
# A cross build is the reduced tool: no converter, no picture libraries, linked statically so that it can simply be copied.
REDUCED := 1
LDFLAGS += -static
BUILD ?= build/$(patsubst %-,%,$(CROSS))
else
NM ?= nm
SIZE ?= size
REDUCED ?=
BUILD ?= build
endif

TARGET := $(shell $(CC) -dumpmachine)
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^\#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

OPT ?= -O2
WARNINGS := -Wall -Wextra -Werror
# The arithmetic is part of the interface: no fused multiply-add, no x87.
CFLAGS_ALL := -std=c11 $(WARNINGS) -ffp-contract=off -ffunction-sections -fdata-sections -I. -MMD -MP $(OPT)
ifneq ($(filter i386-% i486-% i586-% i686-%,$(TARGET)),)
CFLAGS_ALL += -msse2 -mfpmath=sse
endif
CFLAGS_ALL += $(CFLAGS)

# ---- sources ---------------------------------------------------------------------------------------------------------

ISA_FOLDER :=
ifneq ($(filter aarch64% arm64%,$(TARGET)),)
ISA_FOLDER := arm64
endif
ifneq ($(filter x86_64%,$(TARGET)),)
ISA_FOLDER := x86
endif
LIBRARY_SOURCES := $(wildcard core/*.c kernels/*.c)
ifneq ($(ISA_FOLDER),)
LIBRARY_SOURCES += $(wildcard $(ISA_FOLDER)/*.c $(ISA_FOLDER)/*.S)
endif

# The reduced tool is made of these files alone; the full tool of every file below tools/.
REDUCED_TOOLS := main verb_run verb_inspect verb_bench verb_eval options message file model tensor npy json pool progress dataset scores \
	results steps memory inspect_text inspect_json image/image image/pnm image/bmp
ifeq ($(REDUCED),)
TOOL_SOURCES := $(wildcard tools/*.c tools/*/*.c)
PROTO := $(wildcard tools/onnx/onnx.proto)
PACKAGES := libprotobuf-c libcjson libpng libjpeg
else
TOOL_SOURCES := $(wildcard $(REDUCED_TOOLS:%=tools/%.c))
PROTO :=
PACKAGES :=
endif

GENERATED := $(if $(PROTO),$(BUILD)/generated/onnx.pb-c.c)
objects = $(patsubst %,$(BUILD)/%.o,$(basename $(1)))
LIBRARY_OBJECTS := $(call objects,$(LIBRARY_SOURCES))
TOOL_OBJECTS := $(call objects,$(TOOL_SOURCES)) $(GENERATED:.c=.o)

ifneq ($(PACKAGES),)
TOOL_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null) -I$(BUILD)/generated
TOOL_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
else
TOOL_CFLAGS := -DMORSEL_TOOL_REDUCED
TOOL_LIBS :=
endif
TOOL_CFLAGS += -D_GNU_SOURCE
TOOL_LIBS += -lm -lpthread

# ---- the library and the tool ----------------------------------------------------------------------------------------

.PHONY: all lib tool
all: lib tool
lib: $(BUILD)/libmorsel.a
tool: $(BUILD)/morsel

$(BUILD)/libmorsel.a: $(LIBRARY_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# Everything of the tool but main(): the tests link it too.
$(BUILD)/libtool.a: $(filter-out $(BUILD)/tools/main.o,$(TOOL_OBJECTS))
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/morsel: $(BUILD)/tools/main.o $(BUILD)/libtool.a $(BUILD)/libmorsel.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(TOOL_LIBS)

# One file is one ISA: the end of its name says which flags it gets, and nothing else gets any.
isa_flags_avx2 := -mavx2 -mfma
isa_flags_avxvnni := -mavx2 -mfma -mavxvnni
isa_flags_avx512vnni := -mavx2 -mfma -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
isa_flags_neon :=
isa_flags_dotprod := -march=armv8.2-a+dotprod
isa_flags_i8mm := -march=armv8.2-a+dotprod+i8mm
isa_flags = $(if $(filter arm64/% x86/%,$(1)),$(isa_flags_$(lastword $(subst _, ,$(basename $(notdir $(1)))))))

$(BUILD)/tools/%.o: tools/%.c $(BUILD)/flags | libraries $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(call isa_flags,$<) -c -o $@ $<

$(BUILD)/%.o: %.S $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(call isa_flags,$<) -c -o $@ $<

# protobuf-c's code from our schema; its warnings are not ours.
$(BUILD)/generated/onnx.pb-c.c: tools/onnx/onnx.proto | libraries
	@mkdir -p $(@D)
	protoc-c --proto_path=tools/onnx --c_out=$(@D) tools/onnx/onnx.proto
$(BUILD)/generated/onnx.pb-c.o: $(BUILD)/generated/onnx.pb-c.c $(BUILD)/flags
	$(CC) $(CFLAGS_ALL) -w $(TOOL_CFLAGS) -c -o $@ $<

# Other flags or another compiler: everything again.
.PHONY: always
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@echo '$(CC) $(TARGET) $(CFLAGS_ALL) $(TOOL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(TARGET) $(CFLAGS_ALL) $(TOOL_CFLAGS)' > $@

.PHONY: libraries
libraries:
ifneq ($(PACKAGES),)
	@missing=; command -v protoc-c >/dev/null || missing=" protoc-c"; \
	if command -v pkg-config >/dev/null; then for p in $(PACKAGES); do pkg-config --exists $$p || missing="$$missing $$p"; done; \
	else missing="$$missing pkg-config"; fi; \
	if [ -n "$$missing" ]; then echo "make: the full tool needs$$missing; 'make deps' installs what is missing ('make demo' needs none)" >&2; \
	exit 1; fi
endif

-include $(LIBRARY_OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d)

.PHONY: clean
clean:
	rm -rf build
