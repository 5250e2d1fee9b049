/* SPDX-License-Identifier: MIT */
/* Finds rule and labels for an ONNX file, and checks that they fit it. */
#include "tools/network/host/extras.h"
#include "core/blob.h"
#include "tools/base/file.h"
#include "tools/optimize/levels.h"
#include "tools/optimize/selection.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct onnx_graph *extras_load(const char *path, struct failure *failure) {
    char start[sizeof MORSEL_MAGIC] = "";
    struct stat status = {0};
    size_t got;
    struct onnx_graph *graph = onnx_load(path, failure);
    if (graph) return graph;
    bool look = stat(path, &status) || S_ISREG(status.st_mode); /* opening a pipe would wait */
    if (look && !file_read_part(path, 0, start, sizeof start - 1, &got, NULL, failure)) return NULL;
    if (!strcmp(start, MORSEL_MAGIC))
        failure_set(failure, STATUS_INPUT, "%s is a blob already; what is wanted here is the ONNX file that it was made from", path);
    else failure_prefix(failure, path);
    return NULL;
}

/* "[1, 3, 32, 32]" */
static const char *dims_text(const struct onnx_shape *shape, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < shape->rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "", shape->dims[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

/* What the rule makes of any picture. */
static const char *rule_text(const struct morsel_blob_picture *rule, char *text, size_t size) {
    const char *channels = rule->channels == MORSEL_CHANNELS_GRAY ? "1 channel" : "3 channels";
    uint32_t mode = morsel_resize_mode(rule);
    if (rule->crop_height || rule->crop_width) snprintf(text, size, "crops to %u x %u", rule->crop_height, rule->crop_width);
    else if (mode == MORSEL_RESIZE_EXACT || mode == MORSEL_RESIZE_LETTERBOX)
        snprintf(text, size, "resizes to %u x %u", rule->resize_height, rule->resize_width);
    else if (mode == MORSEL_RESIZE_SHORT_SIDE) snprintf(text, size, "resizes the short side to %u and does not crop", rule->resize_height);
    else snprintf(text, size, "leaves the size as it is");
    size_t at = strlen(text);
    snprintf(text + at, size - at, " (height x width), %s", channels);
    return text;
}

bool extras_rule_misfits(const struct morsel_blob_picture *rule, const struct onnx_graph *graph, struct failure *failure) {
    char makes[128], dims[128];
    if (!graph->input_count) return failure_set(failure, STATUS_INPUT, "a picture rule is given, and the network has no input");
    const struct onnx_value *input = graph->inputs[0];
    return failure_set(failure, STATUS_INPUT, "the picture rule %s; the network's first input '%.200s' is %s: the two do not fit",
                       rule_text(rule, makes, sizeof makes), input->name, dims_text(&input->shape, dims, sizeof dims));
}

/* "1,3,32,32": the shape with a batch of 1, as --shape takes it. */
static const char *one_text(const struct onnx_shape *shape, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "1");
    for (int i = 1; i < shape->rank && at < size; i++) at += (size_t)snprintf(text + at, size - at, ",%" PRId64, shape->dims[i]);
    return text;
}

void extras_check_batch(const struct onnx_graph *graph, struct onnx_report *report) {
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct onnx_value *input = graph->inputs[i];
        char dims[128];
        if (input->shape.rank < 2 || input->shape.dims[0] < 2) continue;
        onnx_notice(report, "input '%s': the file fixes its first dimension at %" PRId64 "; if that is a batch, --shape %s=%s makes it one",
                    input->name, input->shape.dims[0], input->name, one_text(&input->shape, dims, sizeof dims));
    }
}

/* [N, classes] or [classes], other dimensions being 1; 0 where the output is no list of classes. */
static int64_t class_count(const struct onnx_shape *shape) {
    for (int i = 2; i < shape->rank; i++)
        if (shape->dims[i] != 1) return 0;
    return shape->rank < 1 ? 0 : shape->dims[shape->rank > 1];
}

static bool any_dimension_is(const struct onnx_graph *graph, size_t count) {
    for (size_t i = 0; i < graph->output_count; i++)
        for (int k = 0; k < graph->outputs[i]->shape.rank; k++)
            if ((size_t)graph->outputs[i]->shape.dims[k] == count) return true;
    return false;
}

static bool is_blank(const char *label) {
    return !label[strspn(label, " \t")];
}

static void notice_blank(const char *path, char *const *labels, size_t count, struct onnx_report *report) {
    size_t blank = 0, first = 0;
    for (size_t i = count; i-- > 0;) {
        if (is_blank(labels[i])) {
            blank++;
            first = i;
        }
    }
    if (blank)
        onnx_notice(report, "%s: label %zu of %zu is blank%s (an empty line counts as a label)", path, first + 1, count,
                    blank > 1 ? ", and others after it" : "");
}

/* Classes at the end may be without a name: outputs are rounded up to what hardware likes. A label without a class is one of another
 * network, or an empty line; but one number, of a sigmoid, decides between two. */
bool extras_check_labels(const char *path, char *const *labels, size_t count, const struct onnx_graph *graph, struct onnx_report *report,
                         struct failure *failure) {
    int64_t classes = graph->output_count ? class_count(&graph->outputs[0]->shape) : 0;
    notice_blank(path, labels, count, report);
    if (classes <= 0 || (size_t)classes == count) return true;
    if ((size_t)classes < count && !(classes == 1 && count == 2) && !any_dimension_is(graph, count))
        return failure_set(failure, STATUS_INPUT, "%s holds %zu labels, and output '%s' has %" PRId64 " class%s: %s", path, count,
                           graph->outputs[0]->name, classes, classes == 1 ? "" : "es",
                           is_blank(labels[count - 1]) ? "its last line is blank, and counts as a label: take it out"
                                                       : "the labels are another network's, or have a line too many");
    onnx_notice(report, "%s holds %zu label%s, and output '%s' has %" PRId64 " class%s: label 1 is taken for class 0, and so on%s", path,
                count, count == 1 ? "" : "s", graph->outputs[0]->name, classes, classes == 1 ? "" : "es",
                (size_t)classes == count + 1 ? "; if class 0 is the background, the file wants a first line for it" : "");
    return true;
}

/* What sorts boxes out may be refused: where it goes, its refusals do. */
static bool shape_candidates(struct onnx_graph *graph, const struct answer_rule *rule, struct onnx_report *report,
                             struct failure *failure) {
    enum selection cut = SELECTION_NONE;
    bool split = false;
    if (rule->output || rule->scores) return true;
    if (rule->record.head == MORSEL_HEAD_YOLOV10) cut = selection_cut(graph);
    if (rule->record.head == MORSEL_HEAD_YOLOV8) split = selection_split(graph, rule->record.classes);
    if (cut == SELECTION_SUPPRESSED && !(rule->record.iou < 1))
        return failure_set(failure, STATUS_INPUT,
                           "the network suppresses boxes that overlap, which is left to the answer rule: say how far, as \"iou\": 0.45");
    if (cut == SELECTION_NONE && !split) return true;
    onnx_report_anew(report);
    return onnx_infer(graph, report, failure);
}

bool extras_shape_answer(struct onnx_graph *graph, const struct answer_rule *rule, struct onnx_report *report, struct failure *failure) {
    const struct levels_head head = {rule->bins, rule->product};
    if (rule->record.kind != MORSEL_ANSWER_DETECTIONS) return true;
    if (!rule->levels) return shape_candidates(graph, rule, report, failure);
    return report->refusal_count || !levels_join(graph, &head) || onnx_infer(graph, report, failure);
}
