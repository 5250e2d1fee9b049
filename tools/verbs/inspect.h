/* SPDX-License-Identifier: MIT */
/* A network taken apart, as inspect.c shows it: gathered once, printed as text or JSON. */
#ifndef MORSEL_TOOLS_VERBS_INSPECT_H
#define MORSEL_TOOLS_VERBS_INSPECT_H

#include "tools/net/memory.h"
#include "tools/network/tensor.h"
#include <stdio.h>

/* A size of the network, of several in the blob. */
struct inspect_variant {
    uint32_t dims[MORSEL_MAX_RANK], rank; /* of its first input, as the ONNX graph states it */
    uint32_t steps, arena_bytes;
    uint64_t macs;
};

struct inspect {
    uint32_t variant_count;
    struct inspect_variant variants[MORSEL_FORMAT_MAX_VARIANTS];
    struct network network;
    struct network_run *run;
    const struct morsel_blob_header *header;
    struct memory memory;
};

/* The blob's sections, in words and bytes. */
struct inspect_section {
    const char *name;
    uint32_t bytes;
};
enum { INSPECT_SECTIONS = 13 };
void inspect_sections(const struct inspect *inspect, struct inspect_section sections[INSPECT_SECTIONS]);

/* NULL where the blob has none. */
const struct morsel_blob_picture *inspect_picture(const struct inspect *inspect);
const struct morsel_blob_answer *inspect_answer(const struct inspect *inspect);
const struct morsel_blob_text *inspect_text_rule(const struct inspect *inspect);
const char *inspect_answer_name(uint32_t kind);                          /* "detections" */
const char *inspect_head_name(const struct morsel_blob_answer *rule);    /* "yolov8" */
const char *inspect_resize_name(const struct morsel_blob_picture *rule); /* "short_side" */
const char *inspect_filter_name(const struct morsel_blob_picture *rule); /* "linear" */
const char *inspect_channels_name(uint32_t channels);                    /* "RGB" */

/* A tensor's name, or "#7" (in `text`) where the blob was stripped or it has none. */
const char *inspect_tensor_name(const struct inspect *inspect, uint32_t index, char text[16]);

/* What a slice of the arena holds, in words: a tensor's name, "scratch of step 3, conv1", "prepared calls". */
const char *inspect_slice_name(const struct inspect *inspect, const struct memory_slice *slice, char *text, size_t size);

/* Rows that a step of a group makes at a time. */
uint32_t inspect_rows(const struct inspect *inspect, const struct morsel_blob_step *step);

/* "avx2": whose kernel a step gets. */
struct morsel_step inspect_step(const struct inspect *inspect, uint32_t step);

/* Bytes of a group's rings. */
uint32_t inspect_ring_bytes(const struct inspect *inspect, const struct morsel_blob_group *group);

void inspect_text(const struct inspect *inspect);
void inspect_json(const struct inspect *inspect);

/* A blob or a built-in network, taken apart; inspect_close() lets go of it, whatever came of it. */
bool inspect_open(struct inspect *inspect, const struct network_call *call, struct failure *failure);
void inspect_close(struct inspect *inspect);

/* The rule in words, on one line; "none". */
void inspect_put_picture(const struct inspect *inspect, FILE *file);
void inspect_put_text(const struct inspect *inspect, FILE *file); /* nothing where there is none */
void inspect_put_answer(const struct inspect *inspect, FILE *file);

/* A picture of the arena over the steps, as SVG: to a file of its own, or as a part of a page, whose style colours it. */
bool inspect_plan(const struct inspect *inspect, const char *path, struct failure *failure);
void inspect_draw(const struct inspect *inspect, FILE *file, bool in_page);

#endif
