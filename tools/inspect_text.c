/* SPDX-License-Identifier: MIT */
#include "tools/inspect.h"
#include <stdio.h>
#include <string.h>

static const char *const layouts[] = {"row-major", "channels-last"};

static void print_io(const char *title, uint32_t count, const struct inspect *inspect,
                     enum morsel_error (*get)(const struct morsel_session *, uint32_t, struct morsel_view *)) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_view view;
        char stated[256], dims[128];
        get(&inspect->model.session, i, &view);
        printf("%s %u: %s\n    in memory %s %s %s", title, i, model_describe(&view, stated, sizeof stated), model_type_name(view.type),
               model_dims(view.dims, view.rank, dims, sizeof dims), layouts[view.layout]);
        if (view.type == MORSEL_UINT8 || view.type == MORSEL_INT8)
            printf(", scale %.9g, zero point %d", (double)view.scale, view.zero_point);
        printf(", %u bytes\n", view.bytes);
    }
}

static void print_picture(const struct inspect *inspect) {
    const struct morsel_blob_picture *rule = inspect_picture(inspect);
    if (!rule) {
        printf("picture rule: none\n");
        return;
    }
    printf("picture rule: input %u, resize %s", rule->input, inspect_resize_name(rule->resize));
    if (rule->resize == MORSEL_RESIZE_EXACT)
        printf(" %u x %u", rule->resize_height, rule->resize_width);
    if (rule->resize == MORSEL_RESIZE_SHORT_SIDE)
        printf(" %u", rule->resize_height);
    if (rule->crop_height)
        printf(", crop %u x %u", rule->crop_height, rule->crop_width);
    printf(", %s, (pixel * %.9g - mean) / std", inspect_channels_name(rule->channels), (double)rule->scale);
    int channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    for (int c = 0; c < channels; c++)
        printf("%s%.6g / %.6g", c ? ", " : " with ", (double)rule->mean[c], (double)rule->std[c]);
    putchar('\n');
}

static void print_labels(const struct inspect *inspect) {
    uint32_t count = inspect->header->labels.count;
    printf("labels: %u", count);
    for (uint32_t i = 0; i < count && i < 12; i++)
        printf("%s%s", i ? ", " : ": ", morsel_label(&inspect->model.network, i));
    printf("%s\n", count > 12 ? ", ..." : "");
}

static void print_shapes(const struct inspect *inspect, const struct morsel_blob_step *step) {
    char dims[128];
    for (uint32_t k = 0; k < step->input_count + step->output_count; k++) {
        const struct morsel_blob_tensor *tensor =
            morsel_blob_tensor(&inspect->model.network, morsel_blob_operand(&inspect->model.network, step, k));
        printf("%s%s", k == 0 ? "" : k == step->input_count ? " -> " : " ", model_dims(tensor->dims, tensor->rank, dims, sizeof dims));
    }
}

/* Rows that a step makes at a time, and that its ring holds. */
static void print_stage(const struct inspect *inspect, const struct morsel_blob_step *step) {
    char rows[32] = "all";
    if (step->group) {
        const struct morsel_blob_group *group = morsel_blob_group(&inspect->model.network, step->group - 1);
        const struct morsel_blob_tensor *y = morsel_blob_output(&inspect->model.network, step);
        snprintf(rows, sizeof rows, "%u", step->stage_scale * group->strip_rows);
        if (y->ring_rows)
            snprintf(rows + strlen(rows), sizeof rows - strlen(rows), " of %u", y->ring_rows);
    }
    printf("%-10s ", rows);
}

static void print_steps(const struct inspect *inspect) {
    const struct morsel_model *network = &inspect->model.network;
    printf("\nsteps\n%4s  %-12s %-10s %12s  %-10s shapes as in memory, name\n", "", "kind", "isa", "MACs", "rows");
    for (uint32_t i = 0; i < inspect->header->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(network, i);
        const struct morsel_blob_group *group = step->group ? morsel_blob_group(network, step->group - 1) : NULL;
        if (group && group->first_step == i)
            printf("      group %u, steps %u to %u: %u rows of the last one at a time\n", step->group, i, i + group->step_count - 1,
                   group->strip_rows);
        printf("%4u  %-12s %-10s %12llu  ", i, steps_kind_name(step->kind), inspect->isa[i], (unsigned long long)steps_macs(step));
        print_stage(inspect, step);
        print_shapes(inspect, step);
        printf("  %s\n", morsel_blob_string(network, step->name));
    }
}

static void print_tensor(const struct inspect *inspect, uint32_t index) {
    const struct morsel_blob_tensor *tensor = morsel_blob_tensor(&inspect->model.network, index);
    char dims[128], name[16], first[16] = "before";
    if (tensor->first_step != MORSEL_STEP_BEFORE)
        snprintf(first, sizeof first, "%u", tensor->first_step);
    printf("%4u  %-8s %-22s %-8s %10u %10u  %6s..%-6u %12.6g %5d  %s\n", index, model_type_name((enum morsel_type)tensor->type),
           model_dims(tensor->dims, tensor->rank, dims, sizeof dims), tensor->place ? "constant" : "arena", tensor->offset, tensor->bytes,
           first, tensor->last_step, (double)tensor->scale, tensor->zero_point, inspect_tensor_name(inspect, index, name));
}

static void print_memory(const struct inspect *inspect) {
    const struct morsel_blob_header *header = inspect->header;
    const struct morsel_blob_step *peak = header->steps.count ? morsel_blob_step(&inspect->model.network, inspect->peak.step) : NULL;
    char name[16];
    printf("\narena: %u bytes, of which %u for prepared calls", header->arena_bytes, header->steps.count * MORSEL_FORMAT_STEP_SLOT);
    if (peak) {
        printf("; fullest at step %u (%s) with %u bytes:\n", inspect->peak.step, morsel_blob_string(&inspect->model.network, peak->name),
               inspect->peak.bytes);
        for (uint32_t i = 0; i < header->tensors.count; i++)
            if (memory_holds(&inspect->model.network, morsel_blob_tensor(&inspect->model.network, i), inspect->peak.step))
                printf("  %10u  %s\n", morsel_blob_tensor(&inspect->model.network, i)->bytes, inspect_tensor_name(inspect, i, name));
        if (peak->scratch_bytes)
            printf("  %10u  scratch of the step\n", peak->scratch_bytes);
    } else {
        putchar('\n');
    }
}

static void print_blob(const struct inspect *inspect) {
    struct inspect_section sections[INSPECT_SECTIONS];
    inspect_sections(inspect, sections);
    printf("\nblob: %u bytes\n", inspect->header->blob_bytes);
    for (int i = 0; i < INSPECT_SECTIONS; i++)
        if (sections[i].bytes)
            printf("  %10u  %s\n", sections[i].bytes, sections[i].name);
}

void inspect_text(const struct inspect *inspect) {
    const struct morsel_blob_header *header = inspect->header;
    uint64_t macs = (uint64_t)header->macs_high << 32 | header->macs_low;
    const char *name = morsel_blob_string(&inspect->model.network, header->name);
    printf("%s: format %u, %u steps, %llu MACs, %u parameters\n", *name ? name : "(stripped of names)", header->format_version,
            header->steps.count, (unsigned long long)macs, header->parameter_count);
    print_io("input", header->inputs.count, inspect, morsel_input);
    print_io("output", header->outputs.count, inspect, morsel_output);
    print_picture(inspect);
    print_labels(inspect);
    print_steps(inspect);
    printf("\ntensors\n%4s  %-8s %-22s %-8s %10s %10s  %-14s %12s %5s  name\n", "", "type", "shape in memory", "place", "offset", "bytes",
           "written..read", "scale", "zero");
    for (uint32_t i = 0; i < header->tensors.count; i++)
        print_tensor(inspect, i);
    print_memory(inspect);
    print_blob(inspect);
}
