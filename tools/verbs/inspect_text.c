/* SPDX-License-Identifier: MIT */
/* What inspect says of a blob, as text. */
#include "core/kind.h"
#include "tools/base/message.h"
#include "tools/verbs/inspect.h"
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 140, LEAST_NAME = 24 };

static const char *const layouts[] = {"row-major", "channels-last"};

static void print_io(const char *title, const struct network_tensor *tensors, uint32_t count, const struct inspect *inspect,
                     enum morsel_error (*get)(const struct morsel_session *, uint32_t, struct morsel_view *)) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_view view;
        char stated[256], dims[128];
        get(&inspect->run->session, i, &view);
        message_print("%s %u: %s\n    in memory %s %s %s", title, i, tensor_describe(&tensors[i], stated, sizeof stated),
                      tensor_type_name(view.type), tensor_dims(view.dims, view.rank, dims, sizeof dims), layouts[view.layout]);
        if (view.type == MORSEL_UINT8 || view.type == MORSEL_INT8)
            message_print(", scale %.9g, zero point %d", (double)view.scale, view.zero_point);
        message_print(", %u bytes\n", view.bytes);
    }
}

void inspect_put_picture(const struct inspect *inspect, FILE *file) {
    const struct morsel_blob_picture *rule = inspect_picture(inspect);
    if (!rule) {
        fputs("none", file);
        return;
    }
    uint32_t mode = morsel_resize_mode(rule), channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    fprintf(file, "input %u, resize %s", rule->input, inspect_resize_name(rule));
    if (mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX) fprintf(file, " %u x %u", rule->resize_height, rule->resize_width);
    if (mode == MORSEL_RESIZE_SHORT_SIDE) fprintf(file, " %u", rule->resize_height);
    if (morsel_resize_filter(rule) != MORSEL_FILTER_ANTIALIAS) fprintf(file, " (%s)", inspect_filter_name(rule));
    if (mode == MORSEL_RESIZE_LETTERBOX) {
        fprintf(file, ", %s, fill", rule->resize & MORSEL_RESIZE_CORNER ? "corner" : "centre");
        for (uint32_t c = 0; c < channels; c++) fprintf(file, " %u", morsel_resize_fill(rule, c));
    }
    if (rule->crop_height) fprintf(file, ", crop %u x %u", rule->crop_height, rule->crop_width);
    fprintf(file, ", %s, (pixel * %.9g - mean) / std", inspect_channels_name(rule->channels), (double)rule->scale);
    for (uint32_t c = 0; c < channels; c++)
        fprintf(file, "%s%.6g / %.6g", c ? ", " : " with ", (double)rule->mean[c], (double)rule->std[c]);
}

static void print_picture(const struct inspect *inspect) {
    message_print("picture rule: ");
    inspect_put_picture(inspect, stdout);
    message_print("\n");
}

void inspect_put_text(const struct inspect *inspect, FILE *file) {
    static const char *const what[] = {"ids", "mask", "types"};
    const struct morsel_blob_text *rule = inspect_text_rule(inspect);
    if (!rule) return;
    fprintf(file, "%u tokens, a text of at most %u, %u of them around it", rule->id_count, rule->max_length, rule->front + rule->back);
    for (int i = 0; i < 3; i++)
        if (rule->inputs[i] != MORSEL_TEXT_NO_INPUT) fprintf(file, ", %s to input %u", what[i], rule->inputs[i]);
}

static void print_text_rule(const struct inspect *inspect) {
    if (!inspect_text_rule(inspect)) return;
    message_print("text rule: ");
    inspect_put_text(inspect, stdout);
    message_print("\n");
}

static void put_segmentation(const struct morsel_blob_answer *rule, FILE *file) {
    fprintf(file, ", head %s, %u classes, channels %s", inspect_head_name(rule), rule->classes,
            rule->flags & MORSEL_ANSWER_COLUMNS ? "first" : "last");
    if (rule->head == MORSEL_HEAD_INDICES) return;
    fprintf(file, ", %s", rule->flags & MORSEL_ANSWER_NEAREST ? "nearest" : "linear");
    if (rule->classes == 1)
        fprintf(file, ", class 1 of %s >= %.6g", rule->flags & MORSEL_ANSWER_SIGMOID ? "sigmoid" : "p", (double)rule->threshold);
}

static void put_points(const struct morsel_blob_answer *rule, FILE *file) {
    fprintf(file, ", head %s, %u points", inspect_head_name(rule), rule->classes);
    if (rule->head == MORSEL_HEAD_HEATMAPS)
        fprintf(file, ", channels %s, offset %s, cell %s", rule->flags & MORSEL_ANSWER_COLUMNS ? "first" : "last",
                rule->flags & MORSEL_ANSWER_QUARTER ? "quarter" : "none", rule->flags & MORSEL_ANSWER_CENTRE ? "centre" : "corner");
    fprintf(file, ", times %.6g x %.6g, p >= %.6g", (double)rule->scale[0], (double)rule->scale[1], (double)rule->threshold);
}

void inspect_put_answer(const struct inspect *inspect, FILE *file) {
    const struct morsel_blob_answer *rule = inspect_answer(inspect);
    if (!rule) return;
    fprintf(file, "%s, output %u", inspect_answer_name(rule->kind), rule->output);
    if (rule->kind == MORSEL_ANSWER_CLASSES)
        fprintf(file, ", %s, the first %u of p >= %.6g",
                rule->flags & MORSEL_ANSWER_SOFTMAX   ? "softmax"
                : rule->flags & MORSEL_ANSWER_SIGMOID ? "sigmoid"
                                                      : "as they are",
                rule->most, (double)rule->threshold);
    if (rule->kind == MORSEL_ANSWER_EMBEDDING && rule->flags & MORSEL_ANSWER_NORMALIZE) fprintf(file, ", normalized");
    if (rule->kind == MORSEL_ANSWER_SEGMENTATION) put_segmentation(rule, file);
    if (rule->kind == MORSEL_ANSWER_POINTS) put_points(rule, file);
    if (rule->kind == MORSEL_ANSWER_DETECTIONS) {
        if (rule->scores != rule->output) fprintf(file, " and %u", rule->scores);
        fprintf(file, ", head %s, %u classes", inspect_head_name(rule), rule->classes);
        if (rule->anchors) fprintf(file, ", %u anchors", rule->anchors);
        fprintf(file, ", the first %u of p >= %.6g and IoU <= %.6g", rule->most, (double)rule->threshold, (double)rule->iou);
    }
}

static void print_answer(const struct inspect *inspect) {
    if (!inspect_answer(inspect)) return;
    message_print("answer rule: ");
    inspect_put_answer(inspect, stdout);
    message_print("\n");
}

static void print_labels(const struct inspect *inspect) {
    uint32_t count = inspect->header->labels.count;
    message_print("labels: %u", count);
    for (uint32_t i = 0; i < count && i < 12; i++) message_print("%s%s", i ? ", " : ": ", morsel_label(&inspect->network.model, i));
    message_print("%s\n", count > 12 ? ", ..." : "");
}

static void print_metadata(const struct inspect *inspect) {
    const char *key, *value;
    for (uint32_t i = 0; (key = morsel_metadata_at(&inspect->network.model, i, &value)); i++) message_print("%s = %s\n", key, value);
}

/* The end of a line that has `used` columns so far: a name, cut in front where it does not fit. */
static void print_name(const char *name, int used) {
    size_t room = used < MOST_COLUMNS - LEAST_NAME ? (size_t)(MOST_COLUMNS - used) : LEAST_NAME, length = strlen(name);
    if (length <= room) {
        message_print("%s\n", name);
        return;
    }
    name += length - room + 3;
    while ((*name & 0xC0) == 0x80) /* not within a character */
        name++;
    message_print("...%s\n", name);
}

/* Returns columns. */
static int print_shapes(const struct inspect *inspect, const struct morsel_blob_step *step) {
    char dims[128];
    int columns = 0;
    for (uint32_t k = 0; k < step->input_count + step->output_count; k++) {
        const struct morsel_blob_tensor *tensor =
            morsel_blob_tensor(&inspect->network.model, morsel_blob_operand(&inspect->network.model, step, k));
        const char *between = k == 0 ? "" : k == step->input_count ? " -> " : " ";
        columns += message_print("%s%s", between, tensor_dims(tensor->dims, tensor->rank, dims, sizeof dims));
    }
    return columns;
}

/* Rows that a step makes at a time. */
static const char *rows_text(const struct inspect *inspect, const struct morsel_blob_step *step, char *text, size_t size) {
    snprintf(text, size, "all");
    if (step->group) snprintf(text, size, "%u", inspect_rows(inspect, step));
    return text;
}

static void print_group(const struct inspect *inspect, uint32_t number) {
    const struct morsel_blob_group *group = morsel_blob_group(&inspect->network.model, number - 1);
    message_print("      group %u, steps %u to %u: %u row%s of the last one at a time; rings %u bytes\n", number, group->first_step,
                  group->first_step + group->step_count - 1, group->strip_rows, group->strip_rows == 1 ? "" : "s",
                  inspect_ring_bytes(inspect, group));
}

static void print_steps(const struct inspect *inspect) {
    const struct morsel_model *network = &inspect->network.model;
    message_print("\nsteps\n%4s  %-12s %-10s %12s %5s  shapes as in memory, name\n", "", "kind", "isa", "MACs", "rows");
    for (uint32_t i = 0; i < inspect->header->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(network, i);
        char rows[16];
        if (step->group && morsel_blob_group(network, step->group - 1)->first_step == i) print_group(inspect, step->group);
        struct morsel_step info = inspect_step(inspect, i);
        int used = message_print("%4u  %-12s %-10s %12llu %5s  ", i, morsel_kinds[step->kind]->name, info.isa,
                                 (unsigned long long)morsel_step_macs(step), rows_text(inspect, step, rows, sizeof rows));
        used += print_shapes(inspect, step);
        used += message_print("  ");
        print_name(morsel_blob_string(network, step->name), used);
        if (info.why_c) message_print("      plain C: %s\n", info.why_c);
    }
}

/* "whole", "ring 5 of 32": rows that it has room for, and rows in all. */
static const char *place_text(const struct morsel_blob_tensor *tensor, char *text, size_t size) {
    snprintf(text, size, "%s", tensor->place ? "constant" : "whole");
    if (tensor->ring_rows) snprintf(text, size, "ring %u of %u", tensor->ring_rows, tensor->dims[1]);
    return text;
}

static void print_tensor(const struct inspect *inspect, uint32_t index) {
    const struct morsel_blob_tensor *tensor = morsel_blob_tensor(&inspect->network.model, index);
    char dims[128], name[16], place[40], first[16] = "before";
    if (tensor->first_step != MORSEL_STEP_BEFORE) snprintf(first, sizeof first, "%u", tensor->first_step);
    int used =
        message_print("%4u  %-7s %-20s %-14s %9u %9u  %6s..%-4u %11.6g %4d  ", index, tensor_type_name((enum morsel_type)tensor->type),
                      tensor_dims(tensor->dims, tensor->rank, dims, sizeof dims), place_text(tensor, place, sizeof place), tensor->offset,
                      tensor->place ? tensor->bytes : morsel_slice_bytes(tensor), first, tensor->last_step, (double)tensor->scale,
                      tensor->zero_point);
    print_name(inspect_tensor_name(inspect, index, name), used);
}

static void print_tensors(const struct inspect *inspect) {
    message_print("\ntensors\n%4s  %-7s %-20s %-14s %9s %9s  %-12s %11s %4s  name\n", "", "type", "shape in memory", "place: rows",
                  "offset", "bytes", "written..read", "scale", "zero");
    for (uint32_t i = 0; i < inspect->header->tensors.count; i++) print_tensor(inspect, i);
}

static void print_holder(const struct inspect *inspect, const struct memory_slice *slice) {
    char name[512], other[16], what[48];
    snprintf(what, sizeof what, "%s", memory_kind_name(slice->kind));
    if (slice->kind == MEMORY_RING) {
        const struct morsel_blob_tensor *tensor = morsel_blob_tensor(&inspect->network.model, slice->index);
        snprintf(what, sizeof what, "ring of %u of %u rows", tensor->ring_rows, tensor->dims[1]);
    }
    int used = message_print("  %10u  %-24s ", slice->own, what);
    inspect_slice_name(inspect, slice, name, sizeof name);
    if (slice->over != MEMORY_NONE) {
        size_t end = strlen(name);
        snprintf(name + end, sizeof name - end, " (%u more lie over %s)", slice->bytes - slice->own,
                 inspect_tensor_name(inspect, slice->over, other));
    }
    if (slice->kind == MEMORY_CALLS) {
        size_t end = strlen(name);
        snprintf(name + end, sizeof name - end, ", %u bytes for each step", MORSEL_FORMAT_STEP_SLOT);
    }
    print_name(name, used);
}

static void print_memory(const struct inspect *inspect) {
    const struct memory *memory = &inspect->memory;
    const struct morsel_model *network = &inspect->network.model;
    message_print("\narena: %u bytes", inspect->header->arena_bytes);
    if (!inspect->header->steps.count) {
        message_print("\n");
        return;
    }
    const struct morsel_blob_step *step = morsel_blob_step(network, memory->peak_step);
    message_print(", fullest at step %u (%s%s%s)", memory->peak_step, morsel_kinds[step->kind]->name, step->name ? " " : "",
                  morsel_blob_string(network, step->name));
    if (step->group) {
        const struct morsel_blob_group *group = morsel_blob_group(network, step->group - 1);
        message_print(" in group %u (steps %u to %u)", step->group, group->first_step, group->first_step + group->step_count - 1);
    }
    message_print(" with %u bytes:\n", memory->peak_bytes);
    for (uint32_t i = 0; i < memory->holder_count; i++) print_holder(inspect, &memory->holders[i]);
    if (inspect->header->arena_bytes > memory->peak_bytes)
        message_print("  %10u  %-24s between them or above\n", inspect->header->arena_bytes - memory->peak_bytes, "free there");
}

/* Where the plan has fast memory. */
static void print_parts(const struct inspect *inspect) {
    const struct memory_part *fast = &inspect->memory.fast, *slow = &inspect->memory.slow;
    double all = (double)fast->traffic + (double)slow->traffic;
    if (!fast->bytes) return;
    message_print("  %10u  of them in fast memory, fullest at step %u with %u bytes\n", fast->bytes, fast->peak_step, fast->peak_bytes);
    message_print("  %10u  in slow memory, fullest at step %u with %u bytes\n", slow->bytes, slow->peak_step, slow->peak_bytes);
    message_print("traffic: %.1f MB a run to tensors and scratch, %.1f %% of it to fast memory\n", all / 1e6,
                  all > 0 ? 100 * (double)fast->traffic / all : 0);
}

static void print_stack(void) {
    message_print(
        "stack: %u bytes at most, whatever the network, with the kernels of this machine; %u on arm64, %u on x86-64, %u elsewhere\n",
        MORSEL_STACK_BYTES, MORSEL_STACK_ARM64, MORSEL_STACK_X86, MORSEL_STACK_C);
}

static void print_blob(const struct inspect *inspect) {
    struct inspect_section sections[INSPECT_SECTIONS];
    inspect_sections(inspect, sections);
    message_print("\nblob: %u bytes\n", inspect->network.whole.blob_bytes);
    for (int i = 0; i < INSPECT_SECTIONS; i++)
        if (sections[i].bytes) message_print("  %10u  %s\n", sections[i].bytes, sections[i].name);
}

/* Each with the shape of its first input. */
static void print_variants(const struct inspect *inspect) {
    char dims[128];
    if (inspect->variant_count < 2) return;
    message_print("variants: %u, of which this is number %u\n", inspect->variant_count, inspect->network.variant);
    for (uint32_t k = 0; k < inspect->variant_count; k++) {
        const struct inspect_variant *v = &inspect->variants[k];
        message_print("  %2u  %-20s %5u steps %14llu MACs %10u bytes of arena\n", k, tensor_dims(v->dims, v->rank, dims, sizeof dims),
                      v->steps, (unsigned long long)v->macs, v->arena_bytes);
    }
}

void inspect_text(const struct inspect *inspect) {
    const struct morsel_blob_header *header = inspect->header;
    uint64_t macs = (uint64_t)header->macs_high << 32 | header->macs_low;
    const char *name = morsel_blob_string(&inspect->network.model, header->name);
    message_print("%s: format %u, %u steps, %llu MACs, %u parameters, work at most %llu\n", *name ? name : "(stripped of names)",
                  header->format_version, header->steps.count, (unsigned long long)macs, header->parameter_count,
                  (unsigned long long)morsel_work(&inspect->network.model));
    print_variants(inspect);
    print_io("input", inspect->network.inputs, header->inputs.count, inspect, morsel_input);
    print_io("output", inspect->network.outputs, header->outputs.count, inspect, morsel_output);
    print_picture(inspect);
    print_text_rule(inspect);
    print_answer(inspect);
    print_labels(inspect);
    print_metadata(inspect);
    print_steps(inspect);
    print_tensors(inspect);
    print_memory(inspect);
    print_parts(inspect);
    print_stack();
    print_blob(inspect);
}
