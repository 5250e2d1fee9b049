/* SPDX-License-Identifier: MIT */
/* morsel inspect: what a blob holds. */
#include "tools/verbs/inspect.h"
#include "core/answer.h"
#include "core/text.h"
#include "tools/base/message.h"
#ifndef MORSEL_TOOL_REDUCED
#include "tools/verbs/host/inspect_onnx.h"
#endif
#include "tools/net/nets.h"
#include "tools/base/options.h"
#include "tools/verbs/verbs.h"
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
        {"answer", morsel_has_answer(header) ? header->answer.count * 4 : 0},
        {"labels", header->labels.count * 4},
        {"metadata", morsel_metadata_count(&inspect->network.model) * (uint32_t)sizeof(struct morsel_blob_pair)},
        {"strings", header->strings.count},
        {"data", header->data.count},
    };
    for (int i = 0; i < INSPECT_SECTIONS; i++) sections[i] = all[i];
}

const struct morsel_blob_picture *inspect_picture(const struct inspect *inspect) {
    return inspect->header->picture.count ? morsel_blob_at(&inspect->network.model, inspect->header->picture.offset) : NULL;
}

const struct morsel_blob_text *inspect_text_rule(const struct inspect *inspect) {
    struct morsel_text_rule rule;
    return morsel_text_find(&rule, &inspect->network.model) ? NULL : rule.record;
}

const struct morsel_blob_answer *inspect_answer(const struct inspect *inspect) {
    return morsel_answer_rule(&inspect->network.model);
}

const char *inspect_answer_name(uint32_t kind) {
    static const char *const names[MORSEL_ANSWER_COUNT] = {"none", "classes", "detections", "embedding", "segmentation", "points"};
    return kind < MORSEL_ANSWER_COUNT ? names[kind] : "?";
}

const char *inspect_head_name(const struct morsel_blob_answer *rule) {
    static const char *const names[] = {"?", "yolov5", "yolov8", "yolov10", "ssd", "scores", "indices", "heatmaps", "coordinates"};
    if (rule->head == MORSEL_HEAD_YOLOV5 && rule->anchors) return "yolox"; /* anchors are its cells */
    if (rule->flags & MORSEL_ANSWER_DISTANCES) return "scrfd";             /* or another that tells boxes so */
    return rule->head < sizeof names / sizeof *names ? names[rule->head] : "?";
}

const char *inspect_resize_name(const struct morsel_blob_picture *rule) {
    static const char *const names[] = {"none", "exact", "short_side", "letterbox"};
    return morsel_resize_mode(rule) < 4 ? names[morsel_resize_mode(rule)] : "?";
}

const char *inspect_filter_name(const struct morsel_blob_picture *rule) {
    static const char *const names[] = {"antialias", "linear", "nearest"};
    return morsel_resize_filter(rule) < 3 ? names[morsel_resize_filter(rule)] : "?";
}

const char *inspect_channels_name(uint32_t channels) {
    static const char *const names[] = {"RGB", "BGR", "GRAY"};
    return channels < 3 ? names[channels] : "?";
}

const char *inspect_tensor_name(const struct inspect *inspect, uint32_t index, char text[16]) {
    const char *name = morsel_blob_string(&inspect->network.model, morsel_blob_tensor(&inspect->network.model, index)->name);
    snprintf(text, 16, "#%u", index);
    return *name ? name : text;
}

const char *inspect_slice_name(const struct inspect *inspect, const struct memory_slice *slice, char *text, size_t size) {
    char number[16];
    const char *name = "prepared calls";
    if (slice->kind == MEMORY_WHOLE || slice->kind == MEMORY_RING) name = inspect_tensor_name(inspect, slice->index, number);
    snprintf(text, size, "%s", name);
    if (slice->kind != MEMORY_SCRATCH) return text;
    const char *step = morsel_blob_string(&inspect->network.model, morsel_blob_step(&inspect->network.model, slice->index)->name);
    snprintf(text, size, "scratch of step %u%s%s", slice->index, *step ? ", " : "", step);
    return text;
}

uint32_t inspect_rows(const struct inspect *inspect, const struct morsel_blob_step *step) {
    return step->stage_scale * morsel_blob_group(&inspect->network.model, step->group - 1)->strip_rows;
}

struct morsel_step inspect_step(const struct inspect *inspect, uint32_t step) {
    struct morsel_step info = {0};
    morsel_session_step(&inspect->run->session, step, &info);
    return info;
}

uint32_t inspect_ring_bytes(const struct inspect *inspect, const struct morsel_blob_group *group) {
    const struct morsel_model *network = &inspect->network.model;
    uint32_t bytes = 0;
    for (uint32_t i = group->first_step; i < group->first_step + group->step_count - 1; i++)
        bytes += morsel_slice_bytes(morsel_blob_output(network, morsel_blob_step(network, i)));
    return bytes;
}

static bool gather_variants(struct inspect *inspect, struct failure *failure) {
    inspect->variant_count = network_variants(&inspect->network);
    for (uint32_t k = 0; k < inspect->variant_count; k++) {
        struct inspect_variant *v = &inspect->variants[k];
        struct network network;
        if (!network_variant(&network, &inspect->network, k, failure)) return false;
        const struct morsel_blob_header *h = morsel_blob_header(&network.model);
        const struct network_tensor *input = network.inputs;
        v->rank = network.input_count ? input->rank : 0;
        for (uint32_t i = 0; i < v->rank; i++) v->dims[i] = (uint32_t)input->dims[i];
        v->steps = h->steps.count;
        v->macs = (uint64_t)h->macs_high << 32 | h->macs_low;
        v->arena_bytes = h->arena_bytes;
        network_close(&network);
    }
    return true;
}

bool inspect_open(struct inspect *inspect, const struct network_call *call, struct failure *failure) {
    *inspect = (struct inspect){0};
    if (!network_open(&inspect->network, call, failure) || !(inspect->run = network_run_open(&inspect->network, failure))) return false;
    inspect->header = morsel_blob_header(&inspect->network.model);
    return gather_variants(inspect, failure) && memory_read(&inspect->network.model, &inspect->memory, failure);
}

void inspect_close(struct inspect *inspect) {
    memory_free(&inspect->memory);
    network_run_close(inspect->run);
    if (inspect->network.kind) network_close(&inspect->network);
}

int verb_inspect(int argc, char **argv) {
    static struct inspect inspect;
    struct failure failure;
    struct network_call call = {.blob_only = true};
    bool want_json = false;
    const char *plan = NULL;
    const struct option list[] = {
        {"--variant", "N", OPTION_NUMBER, &call.variant, 0, MORSEL_FORMAT_MAX_VARIANTS - 1,
         "of a blob with several sizes: which one, as inspect counts them"},
        {"--cpu", "NAME", OPTION_CPU, &call.cpu, 0, 0, "cap the kernels: c neon dotprod i8mm avx2 avxvnni avx512vnni"},
        {"--plan", "FILE.svg", OPTION_TEXT, &plan, 0, 0, "draw the arena over the steps: who lives where, what holds the peak"},
        {"--arena", "BYTES", OPTION_NUMBER, &call.arena, 0, INT32_MAX, "of a NET: at most so large an arena; 1: the least"},
        {"--arena-fast", "BYTES", OPTION_NUMBER, &call.arena_fast, 0, INT32_MAX, "of a NET: so much of the arena for fast memory"},
        {"--no-streaming", NULL, OPTION_FLAG, &call.no_streaming, 0, 0, "of a NET: run step by step, every tensor whole"},
        {"--json", NULL, OPTION_FLAG, &want_json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL|NET [options]",
        .summary = "what a blob or an ONNX file holds: steps, tensors, memory plan",
        .about = "Shows what a blob holds: inputs, outputs, steps and the groups in which they stream, tensors and where they lie, what "
                 "fills the arena, sizes. NET is built in: mobilenetv2-224 mobilenetv1-224 resnet18-224 shufflenetv2-224 resnet8-32 "
                 "ds-cnn-kws autoencoder-ad.",
        .list = list,
        .count = sizeof list / sizeof list[0],
        .examples = {{"morsel inspect food.morsel --plan arena.svg", "steps, tensors and the arena, and a drawing of it"},
                     {"morsel inspect mobilenetv2-224 --arena 1", "a network that is built in, in the least arena"}},
#ifndef MORSEL_TOOL_REDUCED
        .second = &inspect_onnx_options,
#endif
    };
#ifndef MORSEL_TOOL_REDUCED
    if (inspect_onnx_wanted(argc, argv)) return inspect_onnx(argc, argv);
#endif
    if (!options_cpu_default(&call.cpu)) return STATUS_CALL;
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    if (count != 1) {
        message_error("inspect: one model is wanted, %d given: morsel inspect MODEL|NET", count);
        return STATUS_CALL;
    }
    if (file_same(argv[0], plan)) {
        message_error("inspect: --plan %s would be written over: it is the model; name another file", plan);
        return STATUS_CALL;
    }
    call.path = argv[0];
    bool good = inspect_open(&inspect, &call, &failure) && (!plan || inspect_plan(&inspect, plan, &failure));
    if (good && want_json) inspect_json(&inspect);
    else if (good) inspect_text(&inspect);
    inspect_close(&inspect);
    return good ? STATUS_DONE : message_failure(&failure);
}
