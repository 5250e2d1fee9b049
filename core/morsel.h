/* SPDX-License-Identifier: MIT */
/*
 * Morsel runs int8 neural networks in memory that you hand it.
 *
 * A network is a read-only blob (written by `morsel convert`), used in place: const memory, flash, an mmap. Everything that changes during
 * a run lives in one arena that you own, whose size is known before the program is built. The library allocates nothing, makes no thread,
 * prints nothing and calls nothing but memcpy, memmove, memset and memcmp.
 *
 *     static _Alignas(64) uint8_t arena[MODEL_ARENA_BYTES];
 *     struct morsel_model model; struct morsel_session session; struct morsel_view in, out;
 *     if (morsel_open(&model, blob, blob_bytes, 0)) ...
 *     if (morsel_session_open(&session, &model, arena, sizeof arena, NULL)) ...
 *     morsel_input(&session, 0, &in); morsel_output(&session, 0, &out);
 *     morsel_quantize(&in, pixels, PIXELS);          // floats, in the order the ONNX graph states (often NCHW)
 *     morsel_run(&session);
 *     morsel_dequantize(&out, scores, CLASSES);
 *
 * Threads: a model is immutable once open and may be shared by any number of sessions on any threads. A session belongs to one caller at a
 * time; two need two arenas.
 * Numbers: the same blob and the same input give the same output bytes on every CPU, with any number of threads. Threads round to nearest
 * and keep subnormal numbers, as C starts them; a link with gcc's -ffast-math does not. The bits of a NaN may differ.
 * Capacities: each pointer to a caller's memory comes with how much there is, in elements or bytes. Less than is needed is refused before
 * anything is written; more is fine.
 * Defaults: 0 and NULL mean the default, everywhere.
 * Binary interface: within 0.N a later library takes the place of an earlier one without compiling the app anew. No size, number or call
 * changes, and struct morsel_options grows only as its `size` provides for. 0.N+1 may change all of that.
 */
#ifndef MORSEL_H
#define MORSEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define MORSEL_VERSION "0.2.0"
#define MORSEL_VERSION_MAJOR 0
#define MORSEL_VERSION_MINOR 2
#define MORSEL_VERSION_PATCH 0
#define MORSEL_VERSION_NUMBER (MORSEL_VERSION_MAJOR * 1000000 + MORSEL_VERSION_MINOR * 1000 + MORSEL_VERSION_PATCH)
/* The versions of the blob's format that this library opens, both included. */
#define MORSEL_FORMAT_OLDEST 1
#define MORSEL_FORMAT_NEWEST 2

#define MORSEL_MAX_RANK 6   /* the largest number of dimensions of a tensor */
#define MORSEL_ALIGNMENT 64 /* blobs and arenas start at a multiple of this many bytes */
/* Bytes of stack that no function goes beyond, whatever the network: where there is nothing but plain C, on arm64, on x86-64. `make stack`
 * proves it for gcc at -O2; without optimization it is many times as much. libc's memcpy() and functions of the caller come on top. Plain C
 * takes as much as arm64 where pointers have 64 bits, or compilers find vectors (SSE2, NEON of 32 bits, WebAssembly's). */
#define MORSEL_STACK_C 2048
#define MORSEL_STACK_ARM64 8192
#define MORSEL_STACK_X86 16384
#if defined(__x86_64__) || defined(_M_X64)
#define MORSEL_STACK_BYTES MORSEL_STACK_X86
#elif defined(__i386__) || defined(_M_IX86) || defined(__ARM_NEON) || defined(__wasm_simd128__) || UINTPTR_MAX > 0xffffffffu
#define MORSEL_STACK_BYTES MORSEL_STACK_ARM64
#else
#define MORSEL_STACK_BYTES MORSEL_STACK_C
#endif

/* Every function that can fail returns one of these; morsel_error_text() puts it into words. */
enum morsel_error {
    MORSEL_OK = 0,
    MORSEL_ERR_ARGUMENT,     /* a null pointer; no such index or name; a size out of range; a model that is not open; no view */
    MORSEL_ERR_ALIGNMENT,    /* the blob or the arena does not start at a multiple of MORSEL_ALIGNMENT */
    MORSEL_ERR_ENDIAN,       /* the machine is big-endian */
    MORSEL_ERR_TRUNCATED,    /* fewer bytes than a header, or than the header says */
    MORSEL_ERR_MAGIC,        /* not a Morsel blob */
    MORSEL_ERR_VERSION,      /* a blob of a format this library does not know */
    MORSEL_ERR_CHECKSUM,     /* the bytes are not those that were written */
    MORSEL_ERR_HEADER,       /* a count or a field of the header is out of its range */
    MORSEL_ERR_SECTION,      /* a section lies outside the blob or is misaligned */
    MORSEL_ERR_STRING,       /* a name or a label lies outside its section or does not end */
    MORSEL_ERR_TENSOR,       /* a tensor has an unknown type, layout or rank */
    MORSEL_ERR_SHAPE,        /* a tensor's dimensions are zero, overflow, or differ from its bytes */
    MORSEL_ERR_QUANTIZATION, /* a scale is not positive and finite, or a zero point is outside its type */
    MORSEL_ERR_STEP,         /* an unknown step, or one with the wrong number of tensors */
    MORSEL_ERR_PARAMETER,    /* a step's parameters do not fit its tensors */
    MORSEL_ERR_CONSTANT,     /* weights or a table lie outside the blob or are misaligned */
    MORSEL_ERR_ORDER,        /* a step reads what no step before it has written */
    MORSEL_ERR_PLAN,         /* an arena slice lies outside the arena, or two live ones overlap */
    MORSEL_ERR_PICTURE,      /* no picture rule in the blob, or one that does not fit the input */
    MORSEL_ERR_ARENA,        /* the arena is too small: morsel_arena_bytes() says what it needs */
    MORSEL_ERR_SCRATCH,      /* the scratch memory is too small: morsel_picture_bytes() or morsel_frame_bytes() says what it needs */
    MORSEL_ERR_CAPACITY,     /* a buffer is too small: morsel_view_elements() floats, or (height - 1) * stride + 3 * width bytes of RGB */
    MORSEL_ERR_OPTIONS,      /* options without their size, or with a field or a flag that this library does not know */
    MORSEL_ERR_TEXT,         /* no text rule in the blob, or a damaged one */
    MORSEL_ERR_ANSWER,       /* no answer rule of this kind in the blob, or one that does not fit the outputs */
    MORSEL_ERR_COUNT         /* not an error: how many there are */
};

enum morsel_type { MORSEL_UINT8 = 0, MORSEL_INT8 = 1, MORSEL_INT32 = 2, MORSEL_FLOAT32 = 3 };

/* How a tensor lies in memory. The ONNX order (N, C, H, W) is ROW_MAJOR; CHANNELS_LAST is N, H, W, C. */
enum morsel_layout { MORSEL_ROW_MAJOR = 0, MORSEL_CHANNELS_LAST = 1 };

/* Kernels that a CPU can run; combine with |. Plain C is always there; as a mask by itself it allows nothing else. */
enum morsel_cpu {
    MORSEL_CPU_NEON = 1 << 0,
    MORSEL_CPU_DOTPROD = 1 << 1, /* a mask has NEON, too, or this does nothing */
    MORSEL_CPU_I8MM = 1 << 2,    /* NEON and DOTPROD, too */
    MORSEL_CPU_AVX2 = 1 << 8,
    MORSEL_CPU_AVXVNNI = 1 << 9,     /* AVX2, too */
    MORSEL_CPU_AVX512VNNI = 1 << 10, /* AVX2, too */
    MORSEL_CPU_AVX512VBMI = 1 << 11, /* beside AVX512VNNI: some of its kernels */
    MORSEL_CPU_C = 1 << 30,
    MORSEL_CPU_ALL = 0 /* whatever the CPU has */
};

/* What morsel_open() found at fault, counted from 0 in the order of the blob, which is that of `morsel inspect`. */
enum morsel_part {
    MORSEL_PART_BLOB = 0, /* no part of it, or all */
    MORSEL_PART_TENSOR = 1,
    MORSEL_PART_STEP = 2,
    MORSEL_PART_GROUP = 3, /* of steps that stream */
    MORSEL_PART_INPUT = 4,
    MORSEL_PART_OUTPUT = 5,
    MORSEL_PART_LABEL = 6,
    MORSEL_PART_METADATA = 7 /* a pair of key and value */
};

/* An open network. Place it anywhere; do not rely on its contents. It points into the blob, which must outlive it. */
struct morsel_model {
    const uint8_t *blob;
    uint32_t blob_bytes;
    uint32_t opened;      /* a mark that morsel_open() finished */
    uint32_t error_part;  /* enum morsel_part, where it did not ... */
    uint32_t error_index; /* ... and which one */
};

/* Calls fn(arg, 0), fn(arg, 1) ... fn(arg, n - 1), in any order and on any threads, and returns when all are done. */
typedef void morsel_task(void *arg, uint32_t index);
typedef void morsel_parallel_for(void *ctx, uint32_t n, morsel_task *fn, void *arg);

/* A barrier: each of the n tasks of one parallel_for calls it with its own index, and goes on when all have. What a task wrote before it,
 * all may read after it. The tasks have to run at once: none waits for its thread until another is done. */
typedef void morsel_barrier(void *ctx, uint32_t n, uint32_t index);

/* How a session runs: {.size = sizeof options, .tasks = 4, .parallel_for = run_on_pool, .parallel_ctx = pool}. All else is 0. */
struct morsel_options {
    uint32_t size;                     /* sizeof(struct morsel_options), as the app was compiled: fields behind it count as 0 */
    uint32_t flags;                    /* 0: there are none yet */
    uint32_t cpu_mask;                 /* kernels allowed, from enum morsel_cpu; 0: whatever the CPU has */
    uint32_t tasks;                    /* into how many tasks a step is cut at most, with parallel_for; 0: one */
    morsel_parallel_for *parallel_for; /* the caller's threads; NULL: everything runs in the calling thread, in one task */
    void *parallel_ctx;                /* handed to parallel_for, and to barrier, as it is */
    morsel_barrier *barrier;           /* NULL: parallel_for is called for each step. Else once a run, with `tasks` tasks that wait for each
                                          other between steps. That needs an arena with room for all of them (morsel_arena_bytes_for),
                                          and `tasks` threads that run at once. It takes less time where runs follow each other at once:
                                          a thread that went to sleep since is waited for, some 50 microseconds */
    void *fast;                        /* a second block, aligned as the arena is, for what the plan put into fast memory (`--arena-fast`):
                                          SRAM, TCM. The arena then takes so much less. NULL: the arena holds all */
    size_t fast_bytes;                 /* of that block: at least morsel_arena_fast_bytes() */
};

struct morsel_step;
typedef void morsel_watch(void *ctx, const struct morsel_step *step);

/* A network with its arena. Place it anywhere; do not rely on its contents. It points at the model and the blob, which must stay as long;
 * options are copied. It may be moved, or copied: the copies share the arena. */
struct morsel_session {
    const struct morsel_model *model;
    uint8_t *arena;
    void *steps;                      /* in the arena: one prepared call for each step */
    uint32_t step_count, cpu;         /* cpu: the features in use */
    uint32_t bands;                   /* tasks that a group of streaming steps is cut into */
    uint32_t spare_bytes, band_bytes; /* behind the planned arena: once, and for each of them but the first */
    struct morsel_options options;
    morsel_watch *watch;
    void *watch_ctx;
    void (*tell)(const struct morsel_session *session, uint32_t step, int done); /* the watch of a step */
    uint8_t *fast, *behind; /* the part of the arena that may be a block of its own; what follows the planned arena */
    size_t behind_bytes;
    void *reserve[2]; /* for fields to come, of the options, too: the size stays */
};

/* An input or output of the network: where it lies in the arena and what its bytes mean. */
struct morsel_view {
    void *data; /* in the arena, as long as the session is. Write inputs before morsel_run(); read outputs after it, and before the next
                   inputs are written: they may lie in the same place */
    uint32_t bytes;
    enum morsel_type type;
    enum morsel_layout layout;
    uint32_t rank;
    uint32_t dims[MORSEL_MAX_RANK]; /* in the order of memory, slowest first: N H W C for CHANNELS_LAST */
    float scale;                    /* real value = scale * (byte - zero_point); 1 for float and int32 */
    int32_t zero_point;             /* 0..255 for uint8, -128..127 for int8, 0 for others */
    const char *name;               /* the ONNX graph's name for it; "" where the blob was stripped */
    enum morsel_type onnx_type;     /* what the ONNX graph states: the type outside quantization, and ... */
    uint32_t onnx_rank;
    uint32_t onnx_dims[MORSEL_MAX_RANK]; /* ... the shape, row-major */
    uint32_t sign_flip; /* 0, or in a watched step 0x80: then each byte is stored ^ 0x80. morsel_dequantize() knows of it */
};

/* --- The network ------------------------------------------------------------------------------------------------ */

/* For morsel_open(): trust the storage, check only the structure. Memory stays safe from any blob. But of one that lies about its weights
 * the answers may depend on CPU and tasks. */
#define MORSEL_SKIP_CHECKSUM 1u

/* Opens a blob in place. Every count, offset, shape, scale and arena slice is checked against `bytes` before anything is used. So is what
 * kernels rely on: sums of weights, padding, proofs. A damaged or hostile file gives an error, or a network like any other. Time is bounded
 * by `bytes` and steps (core/README.md). `bytes` may be more than the blob says that it has: those are not looked at. `blob` is aligned to
 * MORSEL_ALIGNMENT. Nobody writes it while it is open, as another process may in a shared mapping: that voids all checks. */
enum morsel_error morsel_open(struct morsel_model *model, const void *blob, size_t bytes, uint32_t flags);

/* After morsel_open() gave an error: the part of the blob that it found at fault, for logs. `index` (may be NULL): which one. */
enum morsel_part morsel_open_part(const struct morsel_model *model, uint32_t *index);

/* How many bytes of arena a session needs, exactly. Depends on the blob alone: the same on every CPU. */
uint32_t morsel_arena_bytes(const struct morsel_model *model);

/* How many of these are for fast memory, as `--arena-fast` had the converter plan it. options.fast gives them a block of their own, and
 * `arena` is as much shorter; without it nothing is different. 0 of most blobs. */
uint32_t morsel_arena_fast_bytes(const struct morsel_model *model);

/* The same for up to `tasks` tasks at once. With parallel_for, steps that stream rows run in as many tasks as the arena has room for.
 * With morsel_arena_bytes() alone they run in one, the others in options.tasks. 0 tasks are 1. Returns 0 above 2^31 - 1 bytes. */
uint32_t morsel_arena_bytes_for(const struct morsel_model *model, uint32_t tasks);

/* How much a run in one task computes at most: multiply-accumulates, padding of weights included, and bytes read and written. From shapes
 * that were checked: no blob understates it. UINT64_MAX: that or more. An app that runs blobs of others refuses what it has no time for. */
uint64_t morsel_work(const struct morsel_model *model);

/* Each count, and morsel_work(), is 0 where the model is not open. */
uint32_t morsel_input_count(const struct morsel_model *model);
uint32_t morsel_output_count(const struct morsel_model *model);
uint32_t morsel_label_count(const struct morsel_model *model);

/* The label of class `index`; NULL where there is none. The network's name, that of its ONNX file without folder and
 * ending; "" where there is none. */
const char *morsel_label(const struct morsel_model *model, uint32_t index);
const char *morsel_network_name(const struct morsel_model *model);

/* What the blob says of itself (`--set KEY=VALUE` of convert, quantize, edit): version, licence, where it comes from. Pairs of a key and a
 * value in UTF-8; nothing depends on them. The value of a key; NULL where there is none. Time grows with the number of pairs. */
const char *morsel_metadata(const struct morsel_model *model, const char *key);

/* How many pairs there are: 0 of a model that is not open. Pair `index`: its key, and into `value` (may be NULL) its value. NULL where
 * there is no such pair. The tool writes them in the order of the keys' bytes. */
uint32_t morsel_metadata_count(const struct morsel_model *model);
const char *morsel_metadata_at(const struct morsel_model *model, uint32_t index, const char **value);

/* --- Several sizes of the inputs ----------------------------------------------------------------------------------- */

/* A network that was converted for several sizes (`--dim sequence=16,32,64,128`) has a variant for each in one blob, and constants once.
 * morsel_open() opens variant 0, the largest; what morsel_arena_bytes() says of that holds each of them. One that wants more is not opened.
 * A variant is a network like any other. morsel_work() and morsel_arena_bytes_for() are asked of each: none speaks for the others. Its
 * sessions may take the same arena in turns, each opened anew, or have one each.
 * How many there are: 1 of most blobs, 0 of a model that is not open. */
uint32_t morsel_variant_count(const struct morsel_model *model);

/* Opens variant `index` of an open model; the blob is shared. Checks it as morsel_open() does, but for the checksum: that of the model
 * covers them all. Time and `flags` are the same. MORSEL_ERR_ARGUMENT: there is no such variant. */
enum morsel_error morsel_open_variant(struct morsel_model *variant, const struct morsel_model *model, uint32_t index, uint32_t flags);

/* --- A session -------------------------------------------------------------------------------------------------- */

/* Lays a session into `arena` (aligned to MORSEL_ALIGNMENT, at least morsel_arena_bytes() long) and chooses a kernel for each step. What a
 * longer arena has besides is lent to kernels, some of which are faster then. `options` may be NULL: every field is 0. With options.fast,
 * `arena` is at least morsel_arena_bytes() less morsel_arena_fast_bytes() long. */
enum morsel_error morsel_session_open(struct morsel_session *session, const struct morsel_model *model, void *arena, size_t arena_bytes,
                                      const struct morsel_options *options);

/* Where an input or output lies: by its index, or by the ONNX graph's name. MORSEL_ERR_ARGUMENT: there is none; "" finds none. */
enum morsel_error morsel_input(const struct morsel_session *session, uint32_t index, struct morsel_view *view);
enum morsel_error morsel_output(const struct morsel_session *session, uint32_t index, struct morsel_view *view);
enum morsel_error morsel_input_named(const struct morsel_session *session, const char *name, struct morsel_view *view);
enum morsel_error morsel_output_named(const struct morsel_session *session, const char *name, struct morsel_view *view);

/* One inference: inputs in the arena to outputs in the arena. Inputs are spent by it: write them before every run.
 * MORSEL_ERR_ARGUMENT: a session that is not open; nothing else fails. */
enum morsel_error morsel_run(const struct morsel_session *session);

/* --- Watching a run, to profile or to debug it ------------------------------------------------------------------- */

/* A step of a run, valid while the callback runs. */
struct morsel_step {
    uint32_t index;            /* in the order of running, from 0 */
    const char *name;          /* of the ONNX node it comes from; "" where the blob was stripped */
    const char *kind;          /* "conv", "depthwise", "fc" .. */
    const char *isa;           /* whose kernel computes it: "c", "neon", "avx2" .. */
    const char *why_c;         /* why plain C computes it and no kernel of the session's instruction set; else NULL */
    uint32_t group;            /* steps that take turns of some rows have the same number, from 1 on; 0: it runs by itself */
    uint32_t done;             /* 1: the result is complete. 0: after one of its turns in a group */
    struct morsel_view result; /* by its name inside the network. Its data: NULL until done, and where a group holds only some rows at a
                                  time; else whole until the callback returns. Bytes may be stored ^ result.sign_flip */
};

/* Step `index` as a watch would see it, without a run and without data. MORSEL_ERR_ARGUMENT behind the last one. */
enum morsel_error morsel_session_step(const struct morsel_session *session, uint32_t index, struct morsel_step *step);

/*
 * From the next run on, calls watch(ctx, step) in the thread that called morsel_run(): once with `done` for each step, in order, right
 * after it. Steps of a group are told of after each of their turns, too, and are all done when the group is. So the time since the call
 * before (or since morsel_run() was called) is what the step took; turns add up. Values stay the same. What only helps speed may be left
 * out. A watched run hands every step to parallel_for by itself, groups run in one task, and no barrier is used. NULL ends it. The
 * callback itself calls neither this nor morsel_run() for its session.
 */
enum morsel_error morsel_session_watch(struct morsel_session *session, morsel_watch *watch, void *ctx);

/* --- Numbers in and out ------------------------------------------------------------------------------------------- */

/* How many elements a view has, in memory and to the ONNX graph alike. 0: it is no view (rank, dims, bytes, type do not agree). */
uint32_t morsel_view_elements(const struct morsel_view *view);

/* Floats in the ONNX graph's order (row-major onnx_dims) to the view's bytes. Value / scale is rounded half to even, plus the zero point,
 * saturated (ONNX QuantizeLinear; a NaN gives the lowest byte, or 0 as an int32). A float view gets a copy in its own layout. `values`
 * holds `count` floats, of which morsel_view_elements() are read. Fewer: MORSEL_ERR_CAPACITY; no view: MORSEL_ERR_ARGUMENT. */
enum morsel_error morsel_quantize(const struct morsel_view *view, const float *values, size_t count);

/* The way back, scale * (byte - zero_point) (ONNX DequantizeLinear), into room for `count` floats. The same errors. */
enum morsel_error morsel_dequantize(const struct morsel_view *view, float *values, size_t count);

/* --- Pictures ----------------------------------------------------------------------------------------------------- */

/* Bytes of scratch that morsel_picture() needs for pictures of this size; 0: no picture rule, or a size out of range. */
size_t morsel_picture_bytes(const struct morsel_model *model, uint32_t width, uint32_t height);

/* An RGB8 picture to image `image` (0 but for batches) of the input `view`, by the rule stored in the blob. That resizes (as Pillow
 * or OpenCV do), crops the centre or fills a box, computes (pixel * scale - mean) / std by channel, and quantizes. A pixel has 3 bytes;
 * `stride` bytes lead from a row to the next (0: rows without gaps). Width and height: 1..32768. `rgb` holds `rgb_bytes`: up to the last
 * pixel of the last row they are read, and fewer are MORSEL_ERR_CAPACITY. */
enum morsel_error morsel_picture(const struct morsel_model *model, const uint8_t *rgb, size_t rgb_bytes, uint32_t width, uint32_t height,
                                 size_t stride, void *scratch, size_t scratch_bytes, const struct morsel_view *view, uint32_t image);

/* How a frame's pixels lie. Packed ones have plane 0 alone, with 3, 4 or 1 bytes a pixel; alpha is not looked at. NV12, NV21 and I420 have
 * Y in plane 0, and chroma for each 2 x 2 pixels, rounded up. NV12 has pairs of U V in plane 1, NV21 of V U. I420 has U in plane 1, V in
 * plane 2. All pixels of a 2 x 2 have its chroma. */
enum morsel_pixels {
    MORSEL_RGB = 0,
    MORSEL_BGR = 1,
    MORSEL_RGBA = 2,
    MORSEL_BGRA = 3,
    MORSEL_GRAY = 4,
    MORSEL_NV12 = 5,
    MORSEL_NV21 = 6,
    MORSEL_I420 = 7
};

/* What Y, U and V mean: ITU-R BT.601 or BT.709, in video range (Y 16..235, U and V 16..240) or in full range. Whole numbers make red, green
 * and blue of them, within 0.53 of what real numbers give. */
enum morsel_colors { MORSEL_BT601 = 0, MORSEL_BT601_FULL = 1, MORSEL_BT709 = 2, MORSEL_BT709_FULL = 3 };

struct morsel_plane {
    const uint8_t *data;
    size_t bytes;  /* up to the last pixel of the last row they have to be there */
    size_t stride; /* bytes from a row to the next; 0: rows without gaps */
};

/* A picture as cameras and decoders have it. What is not set is 0: {.size = sizeof frame, .pixels = MORSEL_NV21, .width = 640,
 * .height = 480, .turn = 90, .planes = {{y, y_bytes, y_stride}, {vu, vu_bytes, vu_stride}}} */
struct morsel_frame {
    uint32_t size; /* sizeof(struct morsel_frame), as the app was compiled: fields behind it count as 0 */
    enum morsel_pixels pixels;
    enum morsel_colors colors;
    uint32_t width, height;                          /* of the planes: 1..32768 */
    uint32_t left, top, region_width, region_height; /* the part that is taken; 0 x 0: all from left, top on */
    uint32_t turn;                                   /* the region is turned by 0, 90, 180 or 270 degrees clockwise, and then ... */
    uint32_t mirror;                                 /* ... 1: left and right change places */
    struct morsel_plane planes[3];
};

/* Bytes of scratch that morsel_frame() needs, whose planes may be absent here; 0: no picture rule, or a frame that it refuses. */
size_t morsel_frame_bytes(const struct morsel_model *model, const struct morsel_frame *frame);

/* As morsel_picture(), with the bytes that it gives for the same region, turned and mirrored, in RGB. Gray pixels are red, green and blue.
 * MORSEL_ERR_OPTIONS: a frame without its size, or with pixels, colors, a turn or a mirror that there are not.
 * MORSEL_ERR_CAPACITY: a plane holds less than its rows take; its last row needs no stride. */
enum morsel_error morsel_frame(const struct morsel_model *model, const struct morsel_frame *frame, void *scratch, size_t scratch_bytes,
                               const struct morsel_view *view, uint32_t image);

/* Where points of the input lie in the frame: back through letterbox or crop, resize, turn and region. `points` are `count` pairs x, y, in
 * pixels from the top left corner of the input. They become such of the frame as it lies in memory, those of a margin beside the region.
 * A box is two points: by a turn or a mirror its corners change places. The frame's planes may be absent. */
enum morsel_error morsel_frame_points(const struct morsel_model *model, const struct morsel_frame *frame, float *points, size_t count);

/* --- Answers ------------------------------------------------------------------------------------------------------ */

/* What the outputs mean, by the rule stored in the blob (`--answer`). Answers are asked for after morsel_run(), before inputs are written
 * again, and are the same on every CPU. `count` gets how many there are; `image` is 0 but for batches. What is not finite is left out, and
 * so is a p below the rule's threshold. MORSEL_ERR_ANSWER: the rule is of another kind. MORSEL_ERR_CAPACITY: there is no room.
 * What is found lies in `frame`, as morsel_frame_points() maps it; NULL: in the input. It is that of morsel_frame(), or behind
 * morsel_picture() {.size = sizeof frame, .width = width, .height = height}. MORSEL_ERR_PICTURE: no picture rule goes with it. */
enum morsel_answer {
    MORSEL_ANSWER_NONE = 0,         /* there is no rule, or no open model */
    MORSEL_ANSWER_CLASSES = 1,      /* for morsel_classes() */
    MORSEL_ANSWER_DETECTIONS = 2,   /* for morsel_detect() */
    MORSEL_ANSWER_EMBEDDING = 3,    /* for morsel_embedding() */
    MORSEL_ANSWER_SEGMENTATION = 4, /* for morsel_segment() */
    MORSEL_ANSWER_POINTS = 5,       /* for morsel_points() */
    MORSEL_ANSWER_COUNT             /* how many there are */
};

/* Which it is, and of which output; `output` may be NULL. */
enum morsel_answer morsel_answer_kind(const struct morsel_model *model, uint32_t *output);

/* Something found in a picture, between x0 and x1, y0 and y1, in pixels from the top left corner. */
struct morsel_box {
    float x0, y0, x1, y1; /* x0 < x1, y0 < y1 */
    float p;              /* how sure the network is: at least the rule's threshold */
    uint32_t index;       /* the class: morsel_label() has its name */
    uint32_t candidate;   /* which candidate of the head it is: the place of what other outputs say of it */
};

/* What a detector found: of the heads of YOLOv5, v8, v10, v11 and of SSDs. Boxes come best first, of equal ones the first candidate: as
 * many as the rule tells and `boxes` has room for. Of two of a class that overlap by more than the rule's IoU the better one stays. That is
 * greedy suppression over all candidates, whatever the room. What has no extent is left out. Boxes are cut off at the frame's edges.
 * Time grows with candidates times classes, and in crowds with how often the room is too small for all that pass the threshold. */
enum morsel_error morsel_detect(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image,
                                struct morsel_box *boxes, size_t capacity, uint32_t *count);

/* One of the classes that a picture may show; morsel_label() has the name of `index`. */
struct morsel_class {
    uint32_t index;
    float p; /* the score, or what the rule's softmax or sigmoid makes of it */
};

/* The best classes, best first, of equal ones the first: as many as the rule tells, and as `classes` has room for. */
enum morsel_error morsel_classes(const struct morsel_session *session, uint32_t image, struct morsel_class *classes, size_t capacity,
                                 uint32_t *count);

/* The output that the rule names as a vector, in the ONNX graph's order, divided by its length where the rule says so. One of zeros stays;
 * where a number is not finite, some become NaN. MORSEL_ERR_CAPACITY: `values` has room for fewer. */
enum morsel_error morsel_embedding(const struct morsel_session *session, uint32_t image, float *values, size_t capacity, uint32_t *count);

#define MORSEL_NO_CLASS 255 /* of a pixel that the network did not see, or whose class is no number that there is */

/* The class of each pixel: that of the largest score, the first of equal ones; 255 classes at most. Scores are interpolated between the
 * cells of the output as torch.nn.functional.interpolate(mode="bilinear") does it, or the nearest cell is taken. A network with one score
 * for a pixel has class 1 where p is at least the rule's threshold, else 0. `classes` gets the frame's width x height bytes, row by row;
 * pixels outside of its region or the crop are MORSEL_NO_CLASS. Without a frame it gets the cells of the output as they are.
 * Time grows with pixels, and where classes meet with their number. */
enum morsel_error morsel_segment(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image, uint8_t *classes,
                                 size_t capacity);

/* A point of a pose, a face, a hand .. */
struct morsel_point {
    float x, y, p;  /* in pixels from the top left corner; how sure the network is, 1 where it does not say */
    uint32_t index; /* which one it is: morsel_label() has its name */
};

/* Where heat maps are highest, or coordinates that the network has, in the order of their index. There has to be room for all that the
 * network has. Points outside of the frame stay where they are. */
enum morsel_error morsel_points(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image,
                                struct morsel_point *points, size_t capacity, uint32_t *count);

/* --- Text --------------------------------------------------------------------------------------------------------- */

/* A text to token ids, by the blob's rule: BERT's normalization, words, WordPiece, special tokens. `utf8` holds `bytes`, and no 0 is
 * needed behind them; what is not UTF-8 counts as U+FFFD. There is room for `capacity` ids. `count` gets how many the text makes; the rest
 * of the room gets the rule's padding. So an attention mask is 1 for the first `count`, and 0 behind them. A longer text is cut to the
 * capacity, or to the rule's length where that is less. Special tokens in the text, such as [SEP], become their ids. Every id is below
 * morsel_text_ids(). Damaged rules give MORSEL_ERR_TEXT, or wrong ids. Less room than the special tokens around a text take is
 * MORSEL_ERR_CAPACITY. Time is in proportion to `bytes`, whatever the rule: at most 800 steps for each, a step being two binary searches.
 * A word that takes more than 400 for each of its bytes becomes the unknown token. */
enum morsel_error morsel_text(const struct morsel_model *model, const char *utf8, size_t bytes, int32_t *ids, size_t capacity,
                              uint32_t *count);

/* The same into the inputs of a session: token ids, and as far as the network has them, mask and token types. `index` is the text's place
 * in a batch, else 0; MORSEL_ERR_ARGUMENT: the batch has no such place. MORSEL_ERR_TEXT: the rule names no input that takes token ids. */
enum morsel_error morsel_text_put(const struct morsel_session *session, const char *utf8, size_t bytes, uint32_t index);

/* Which variant of an open model takes the text in the shortest line that holds all of it, by the inputs that the rule names. Where none
 * does, the longest, into which morsel_text_put() cuts it. */
enum morsel_error morsel_text_variant(const struct morsel_model *model, const char *utf8, size_t bytes, uint32_t *index);

/* The rule's longest text, in ids; how many ids there are. 0: there is no text rule. */
uint32_t morsel_text_length(const struct morsel_model *model);
uint32_t morsel_text_ids(const struct morsel_model *model);

/* --- The library -------------------------------------------------------------------------------------------------- */

/* What an error means, in English, never NULL. */
const char *morsel_error_text(enum morsel_error error);

/* Of the library that is linked, as MORSEL_VERSION and MORSEL_VERSION_NUMBER are of the header. */
const char *morsel_version(void);
uint32_t morsel_version_number(void);

/* The features of this CPU that the library has kernels for (enum morsel_cpu). */
uint32_t morsel_cpu_features(void);

/* Has each kernel that this CPU would use compute a known answer. NULL: all are right. Else the kind of step, as in struct morsel_step,
 * whose kernel is not: compiler, options or the thread's rounding changed arithmetic. It takes `cpu_mask` as struct morsel_options does,
 * less than a millisecond, and stack. A program that does not call it has none of it. */
const char *morsel_selftest(uint32_t cpu_mask);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
