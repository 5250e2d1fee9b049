/* SPDX-License-Identifier: MIT */
/* What inspect says of a blob, as JSON. */
#include "core/kind.h"
#include "tools/verbs/inspect.h"
#include "tools/base/json.h"

static const char *const layouts[] = {"row_major", "channels_last"};

static void put_io(struct json *json, const char *key, uint32_t count, const struct inspect *inspect,
                   enum morsel_error (*get)(const struct morsel_session *, uint32_t, struct morsel_view *)) {
    json_open_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_view view;
        get(&inspect->run->session, i, &view);
        json_open_flat(json, NULL);
        json_text(json, "name", view.name);
        json_text(json, "onnx_type", tensor_type_name(view.onnx_type));
        json_dims(json, "onnx_shape", view.onnx_dims, view.onnx_rank);
        json_text(json, "type", tensor_type_name(view.type));
        json_dims(json, "shape", view.dims, view.rank);
        json_text(json, "layout", layouts[view.layout]);
        json_float(json, "scale", view.scale);
        json_integer(json, "zero_point", view.zero_point);
        json_integer(json, "bytes", view.bytes);
        json_close(json);
    }
    json_close_array(json);
}

/* The step's operands `from` .. `to` as indices of tensors. */
static void put_operands(struct json *json, const char *key, const struct inspect *inspect, const struct morsel_blob_step *step,
                         uint32_t from, uint32_t to) {
    json_open_array(json, key);
    for (uint32_t k = from; k < to; k++) json_integer(json, NULL, morsel_blob_operand(&inspect->network.model, step, k));
    json_close_array(json);
}

static void put_steps(struct json *json, const struct inspect *inspect) {
    json_open_array(json, "steps");
    for (uint32_t i = 0; i < inspect->header->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(&inspect->network.model, i);
        json_open_flat(json, NULL);
        json_integer(json, "index", i);
        json_text(json, "kind", morsel_kinds[step->kind]->name);
        json_text(json, "name", morsel_blob_string(&inspect->network.model, step->name));
        put_operands(json, "inputs", inspect, step, 0, step->input_count);
        put_operands(json, "outputs", inspect, step, step->input_count, step->input_count + step->output_count);
        json_integer(json, "macs", (int64_t)morsel_step_macs(step));
        json_integer(json, "scratch_bytes", step->scratch_bytes);
        struct morsel_step info = inspect_step(inspect, i);
        json_text(json, "isa", info.isa);
        if (info.why_c) json_text(json, "why_c", info.why_c);
        json_integer(json, "group", step->group);
        if (step->group) json_integer(json, "rows_at_a_time", inspect_rows(inspect, step));
        json_close(json);
    }
    json_close_array(json);
}

static void put_tensor(struct json *json, const struct inspect *inspect, uint32_t index) {
    const struct morsel_blob_tensor *tensor = morsel_blob_tensor(&inspect->network.model, index);
    json_open_flat(json, NULL);
    json_integer(json, "index", index);
    json_text(json, "name", morsel_blob_string(&inspect->network.model, tensor->name));
    json_text(json, "type", tensor_type_name((enum morsel_type)tensor->type));
    json_dims(json, "shape", tensor->dims, tensor->rank);
    json_text(json, "layout", layouts[tensor->layout]);
    json_float(json, "scale", tensor->scale);
    json_integer(json, "zero_point", tensor->zero_point);
    json_text(json, "place", tensor->place ? "constant" : "arena");
    json_integer(json, "offset", tensor->offset);
    json_integer(json, "bytes", tensor->bytes);
    json_integer(json, "ring_rows", tensor->ring_rows);
    json_integer(json, "slice_bytes", tensor->place ? 0 : morsel_slice_bytes(tensor));
    json_integer(json, "first_step", tensor->first_step == MORSEL_STEP_BEFORE ? -1 : (int64_t)tensor->first_step);
    json_integer(json, "last_step", tensor->last_step);
    json_close(json);
}

static void put_tensors(struct json *json, const struct inspect *inspect) {
    json_open_array(json, "tensors");
    for (uint32_t i = 0; i < inspect->header->tensors.count; i++) put_tensor(json, inspect, i);
    json_close_array(json);
}

/* Steps that run together, some rows of each in turn. */
static void put_groups(struct json *json, const struct inspect *inspect) {
    json_open_array(json, "groups");
    for (uint32_t i = 0; i < inspect->header->groups.count; i++) {
        const struct morsel_blob_group *group = morsel_blob_group(&inspect->network.model, i);
        json_open_flat(json, NULL);
        json_integer(json, "group", i + 1);
        json_integer(json, "first_step", group->first_step);
        json_integer(json, "step_count", group->step_count);
        json_integer(json, "strip_rows", group->strip_rows);
        json_integer(json, "ring_bytes", inspect_ring_bytes(inspect, group));
        json_close(json);
    }
    json_close_array(json);
}

static void put_holder(struct json *json, const struct inspect *inspect, const struct memory_slice *slice) {
    bool tensor = slice->kind == MEMORY_WHOLE || slice->kind == MEMORY_RING;
    char name[512];
    json_open_flat(json, NULL);
    json_text(json, "what", memory_kind_name(slice->kind));
    if (tensor) json_integer(json, "tensor", slice->index);
    json_text(json, "name", inspect_slice_name(inspect, slice, name, sizeof name));
    if (slice->kind == MEMORY_RING) json_integer(json, "ring_rows", morsel_blob_tensor(&inspect->network.model, slice->index)->ring_rows);
    json_integer(json, "offset", slice->offset);
    json_integer(json, "bytes", slice->own);
    if (slice->over != MEMORY_NONE) {
        json_integer(json, "over", slice->over);
        json_integer(json, "shared_bytes", slice->bytes - slice->own);
    }
    json_close(json);
}

/* The bytes of all holders make the peak: what lies over an input counts what it has beside it. */
static void put_peak(struct json *json, const struct inspect *inspect) {
    const struct memory *memory = &inspect->memory;
    json_open(json, "arena_peak");
    json_integer(json, "step", memory->peak_step);
    if (inspect->header->steps.count) json_integer(json, "group", morsel_blob_step(&inspect->network.model, memory->peak_step)->group);
    json_integer(json, "bytes", memory->peak_bytes);
    json_open_array(json, "holders");
    for (uint32_t i = 0; i < memory->holder_count; i++) put_holder(json, inspect, &memory->holders[i]);
    json_close_array(json);
    json_close(json);
}

static void put_part(struct json *json, const char *key, const struct memory_part *part) {
    json_open_flat(json, key);
    json_integer(json, "bytes", part->bytes);
    json_integer(json, "peak_bytes", part->peak_bytes);
    json_integer(json, "peak_step", part->peak_step);
    json_integer(json, "traffic", part->traffic > INT64_MAX ? INT64_MAX : (int64_t)part->traffic);
    json_close(json);
}

static void put_sides(struct json *json, const char *key, uint32_t height, uint32_t width) {
    uint32_t sides[2] = {height, width};
    json_dims(json, key, sides, 2);
}

static void put_floats(struct json *json, const char *key, const float *values, int count) {
    json_open_array(json, key);
    for (int i = 0; i < count; i++) json_float(json, NULL, values[i]);
    json_close_array(json);
}

static void put_letterbox(struct json *json, const struct morsel_blob_picture *rule, int channels) {
    json_text(json, "place", rule->resize & MORSEL_RESIZE_CORNER ? "corner" : "centre");
    json_open_array(json, "fill");
    for (int c = 0; c < channels; c++) json_integer(json, NULL, morsel_resize_fill(rule, (uint32_t)c));
    json_close_array(json);
}

/* As a rule file states it. */
static void put_picture(struct json *json, const struct inspect *inspect) {
    const struct morsel_blob_picture *rule = inspect_picture(inspect);
    if (!rule) {
        json_text(json, "picture", NULL);
        return;
    }
    int channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    uint32_t mode = morsel_resize_mode(rule);
    json_open_flat(json, "picture");
    json_open(json, "resize");
    json_text(json, "mode", inspect_resize_name(rule));
    if (mode == MORSEL_RESIZE_SHORT_SIDE) json_integer(json, "size", rule->resize_height);
    if (mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX) put_sides(json, "size", rule->resize_height, rule->resize_width);
    if (mode != MORSEL_RESIZE_NONE) json_text(json, "filter", inspect_filter_name(rule));
    if (mode == MORSEL_RESIZE_LETTERBOX) put_letterbox(json, rule, channels);
    json_close(json);
    if (rule->crop_height) put_sides(json, "crop", rule->crop_height, rule->crop_width);
    json_text(json, "channels", inspect_channels_name(rule->channels));
    json_float(json, "scale", rule->scale);
    put_floats(json, "mean", rule->mean, channels);
    put_floats(json, "std", rule->std, channels);
    json_close(json);
}

static void put_text(struct json *json, const struct inspect *inspect) {
    static const char *const names[] = {"ids_input", "mask_input", "types_input"};
    const struct morsel_blob_text *rule = inspect_text_rule(inspect);
    if (!rule) {
        json_text(json, "text", NULL);
        return;
    }
    json_open_flat(json, "text");
    json_integer(json, "tokens", rule->id_count);
    json_integer(json, "max_length", rule->max_length);
    json_integer(json, "special_tokens", rule->front + rule->back);
    for (int i = 0; i < 3; i++)
        if (rule->inputs[i] != MORSEL_TEXT_NO_INPUT) json_integer(json, names[i], rule->inputs[i]);
    json_close(json);
}

static void put_segmentation(struct json *json, const struct morsel_blob_answer *rule) {
    json_text(json, "head", inspect_head_name(rule));
    json_integer(json, "classes", rule->classes);
    json_text(json, "layout", rule->flags & MORSEL_ANSWER_COLUMNS ? "chw" : "hwc");
    json_bool(json, "background", rule->flags & MORSEL_ANSWER_BACKGROUND);
    if (rule->head == MORSEL_HEAD_INDICES) return;
    json_text(json, "filter", rule->flags & MORSEL_ANSWER_NEAREST ? "nearest" : "linear");
    json_text(json, "activation", rule->flags & MORSEL_ANSWER_SIGMOID ? "sigmoid" : "none");
    json_float(json, "threshold", rule->threshold);
}

static void put_points(struct json *json, const struct morsel_blob_answer *rule) {
    json_text(json, "head", inspect_head_name(rule));
    json_integer(json, "points", rule->classes);
    json_text(json, "activation", rule->flags & MORSEL_ANSWER_SIGMOID ? "sigmoid" : "none");
    json_float(json, "threshold", rule->threshold);
    put_floats(json, "scale", rule->scale, 2);
    if (rule->head == MORSEL_HEAD_COORDINATES) {
        json_text(json, "order", rule->flags & MORSEL_ANSWER_Y_FIRST ? "yx" : "xy");
        return;
    }
    json_text(json, "layout", rule->flags & MORSEL_ANSWER_COLUMNS ? "chw" : "hwc");
    json_text(json, "offset", rule->flags & MORSEL_ANSWER_QUARTER ? "quarter" : "none");
    json_text(json, "cell", rule->flags & MORSEL_ANSWER_CENTRE ? "centre" : "corner");
}

/* As a rule file states it, with what was found in the network. */
static void put_answer(struct json *json, const struct inspect *inspect) {
    const struct morsel_blob_answer *rule = inspect_answer(inspect);
    if (!rule) {
        json_text(json, "answer", NULL);
        return;
    }
    json_open_flat(json, "answer");
    json_text(json, "kind", inspect_answer_name(rule->kind));
    json_integer(json, "output", rule->output);
    if (rule->kind == MORSEL_ANSWER_CLASSES) {
        json_bool(json, "softmax", rule->flags & MORSEL_ANSWER_SOFTMAX);
        json_text(json, "activation",
                  rule->flags & MORSEL_ANSWER_SOFTMAX   ? "softmax"
                  : rule->flags & MORSEL_ANSWER_SIGMOID ? "sigmoid"
                                                        : "none");
        json_integer(json, "top", rule->most);
        json_float(json, "threshold", rule->threshold);
    }
    if (rule->kind == MORSEL_ANSWER_EMBEDDING) json_bool(json, "normalize", rule->flags & MORSEL_ANSWER_NORMALIZE);
    if (rule->kind == MORSEL_ANSWER_SEGMENTATION) put_segmentation(json, rule);
    if (rule->kind == MORSEL_ANSWER_POINTS) put_points(json, rule);
    if (rule->kind == MORSEL_ANSWER_DETECTIONS) {
        json_text(json, "head", inspect_head_name(rule));
        json_integer(json, "scores", rule->scores);
        json_integer(json, "classes", rule->classes);
        json_integer(json, "anchors", rule->anchors);
        json_float(json, "threshold", rule->threshold);
        json_float(json, "iou", rule->iou);
        json_integer(json, "most", rule->most);
    }
    json_close(json);
}

static void put_sections(struct json *json, const struct inspect *inspect) {
    struct inspect_section sections[INSPECT_SECTIONS];
    inspect_sections(inspect, sections);
    json_open_flat(json, "sections");
    for (int i = 0; i < INSPECT_SECTIONS; i++) json_integer(json, sections[i].name, sections[i].bytes);
    json_close(json);
}

static void put_metadata(struct json *json, const struct inspect *inspect) {
    const char *key, *value;
    json_open(json, "metadata");
    for (uint32_t i = 0; (key = morsel_metadata_at(&inspect->network.model, i, &value)); i++) json_text(json, key, value);
    json_close(json);
}

static void put_labels(struct json *json, const struct inspect *inspect) {
    json_open_array(json, "labels");
    for (uint32_t i = 0; i < inspect->header->labels.count; i++) json_text(json, NULL, morsel_label(&inspect->network.model, i));
    json_close_array(json);
}

static void put_variants(struct json *json, const struct inspect *inspect) {
    json_integer(json, "variant", inspect->network.variant);
    json_open_array(json, "variants");
    for (uint32_t k = 0; k < inspect->variant_count; k++) {
        const struct inspect_variant *v = &inspect->variants[k];
        json_open_flat(json, NULL);
        json_dims(json, "input", v->dims, v->rank);
        json_integer(json, "steps", v->steps);
        json_integer(json, "macs", (int64_t)v->macs);
        json_integer(json, "arena_bytes", v->arena_bytes);
        json_close(json);
    }
    json_close_array(json);
}

void inspect_json(const struct inspect *inspect) {
    const struct morsel_blob_header *header = inspect->header;
    struct json json = {.file = stdout};
    uint64_t work = morsel_work(&inspect->network.model);
    json_open(&json, NULL);
    json_text(&json, "name", morsel_blob_string(&inspect->network.model, header->name));
    json_integer(&json, "format_version", header->format_version);
    put_io(&json, "inputs", header->inputs.count, inspect, morsel_input);
    put_io(&json, "outputs", header->outputs.count, inspect, morsel_output);
    put_steps(&json, inspect);
    put_groups(&json, inspect);
    put_tensors(&json, inspect);
    json_integer(&json, "arena_bytes", header->arena_bytes);
    json_integer(&json, "stack_bytes", MORSEL_STACK_BYTES);
    json_integer(&json, "work", work > INT64_MAX ? INT64_MAX : (int64_t)work);
    put_peak(&json, inspect);
    put_part(&json, "arena_fast", &inspect->memory.fast);
    put_part(&json, "arena_slow", &inspect->memory.slow);
    json_integer(&json, "blob_bytes", inspect->network.whole.blob_bytes);
    put_sections(&json, inspect);
    json_integer(&json, "macs", (int64_t)((uint64_t)header->macs_high << 32 | header->macs_low));
    json_integer(&json, "params", header->parameter_count);
    put_picture(&json, inspect);
    put_text(&json, inspect);
    put_answer(&json, inspect);
    put_labels(&json, inspect);
    put_metadata(&json, inspect);
    if (inspect->variant_count > 1) put_variants(&json, inspect);
    json_close(&json);
}
