/* SPDX-License-Identifier: MIT */
/* morsel inspect: what a blob holds. */
#include "tools/inspect.h"
#include "tools/options.h"
#include "tools/verbs.h"
#include <stdio.h>
#include <stdlib.h>

void inspect_sections(const struct inspect *inspect, struct inspect_section sections[INSPECT_SECTIONS]) {
    const struct morsel_blob_header *header = inspect->header;
    const struct inspect_section all[INSPECT_SECTIONS] = {
        {"header", sizeof *header},
        {"tensors", header->tensors.count * (uint32_t)sizeof(struct morsel_blob_tensor)},
        {"operands", header->operands.count * 4},
        {"steps", header->steps.count * (uint32_t)sizeof(struct morsel_blob_step)},
        {"parameters", header->parameters.count * 4},
        {"inputs", header->inputs.count * (uint32_t)sizeof(struct morsel_blob_io)},
        {"outputs", header->outputs.count * (uint32_t)sizeof(struct morsel_blob_io)},
        {"picture", header->picture.count * (uint32_t)sizeof(struct morsel_blob_picture)},
        {"labels", header->labels.count * 4},
        {"strings", header->strings.count},
        {"data", header->data.count},
    };
    for (int i = 0; i < INSPECT_SECTIONS; i++)
        sections[i] = all[i];
}

const struct morsel_blob_picture *inspect_picture(const struct inspect *inspect) {
    return inspect->header->picture.count ? morsel_blob_at(&inspect->model.network, inspect->header->picture.offset) : NULL;
}

const char *inspect_resize_name(uint32_t resize) {
    static const char *const names[] = {"none", "exact", "short_side"};
    return resize < 3 ? names[resize] : "?";
}

const char *inspect_channels_name(uint32_t channels) {
    static const char *const names[] = {"RGB", "BGR", "GRAY"};
    return channels < 3 ? names[channels] : "?";
}

const char *inspect_tensor_name(const struct inspect *inspect, uint32_t index, char text[16]) {
    const char *name = morsel_blob_string(&inspect->model.network, morsel_blob_tensor(&inspect->model.network, index)->name);
    snprintf(text, 16, "#%u", index);
    return *name ? name : text;
}

static bool gather(struct inspect *inspect, const char *path, uint32_t cpu, struct failure *failure) {
    if (!model_open(&inspect->model, path, cpu, 1, failure))
        return false;
    inspect->header = morsel_blob_header(&inspect->model.network);
    inspect->isa = steps_isa(&inspect->model, failure);
    return inspect->isa && memory_find_peak(&inspect->model.network, &inspect->peak, failure);
}

int verb_inspect(int argc, char **argv) {
    static struct inspect inspect;
    struct failure failure;
    uint32_t cpu;
    bool want_json = false;
    const struct option list[] = {
        {"--cpu", "NAME", OPTION_CPU, &cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--json", NULL, OPTION_FLAG, &want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {"MODEL [options]",
                                    "Shows what a blob holds: inputs, outputs, steps, tensors and where they lie, sizes.", list,
                                    sizeof list / sizeof list[0]};
    if (!options_cpu_default(&cpu))
        return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0)
        return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("inspect: one model is wanted, %d given: morsel inspect MODEL", count);
        return STATUS_CALL;
    }
    bool good = gather(&inspect, argv[0], cpu, &failure);
    if (good && want_json)
        inspect_json(&inspect);
    else if (good)
        inspect_text(&inspect);
    free(inspect.isa);
    model_close(&inspect.model);
    return good ? STATUS_DONE : message_failure(&failure);
}
