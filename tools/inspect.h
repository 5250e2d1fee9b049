/* SPDX-License-Identifier: MIT */
/* A network taken apart, as verb_inspect.c shows it: gathered once, printed as text or JSON. */
#ifndef MORSEL_TOOLS_INSPECT_H
#define MORSEL_TOOLS_INSPECT_H

#include "tools/memory.h"
#include "tools/steps.h"

struct inspect {
    struct model model;
    const struct morsel_blob_header *header;
    struct memory_peak peak;
    const char **isa; /* [step] */
};

/* The blob's sections, in words and bytes. */
struct inspect_section {
    const char *name;
    uint32_t bytes;
};
enum { INSPECT_SECTIONS = 11 };
void inspect_sections(const struct inspect *inspect, struct inspect_section sections[INSPECT_SECTIONS]);

/* NULL where the blob has none. */
const struct morsel_blob_picture *inspect_picture(const struct inspect *inspect);
const char *inspect_resize_name(uint32_t resize);     /* "short_side" */
const char *inspect_channels_name(uint32_t channels); /* "RGB" */

/* A tensor's name, or "#7" (in `text`) where the blob was stripped or it has none. */
const char *inspect_tensor_name(const struct inspect *inspect, uint32_t index, char text[16]);

void inspect_text(const struct inspect *inspect);
void inspect_json(const struct inspect *inspect);

#endif
