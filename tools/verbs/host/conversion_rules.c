/* SPDX-License-Identifier: MIT */
/* How rules and labels go with a network, and with each of its sizes. */
#include "tools/verbs/host/conversion_rules.h"
#include "core/blob.h"
#include "tools/base/arena.h"
#include "tools/network/host/extras.h"
#include <stdlib.h>
#include <string.h>

/* --- Pictures --- */

/* Height and width of pictures, by the shape of the first input; false: it is not of pictures. */
static bool sides_in(uint32_t rank, const uint32_t *dims, const struct morsel_blob_picture *rule, uint32_t *sides) {
    uint32_t channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    if (rank != 3 && rank != 4) return false;
    dims += rank - 3;
    memcpy(sides, dims[0] == channels ? dims + 1 : dims, 2 * sizeof *sides);
    return true;
}

static bool sides_of(const struct net *net, const struct morsel_blob_picture *rule, uint32_t *sides) {
    return net->input_count && sides_in(net->inputs->onnx_rank, net->inputs->onnx_dims, rule, sides);
}

/* The rule is for the first variant. Where others take pictures of another size, its sizes change in proportion. */
static struct morsel_blob_picture rule_of(const struct conversion *c, uint32_t variant) {
    struct morsel_blob_picture rule = c->rule;
    uint32_t from[2], to[2];
    if (!variant || !sides_of(c->net, &rule, from) || !sides_of(c->nets[variant], &rule, to)) return rule;
    double down = (double)to[0] / from[0], across = (double)to[1] / from[1], more = down > across ? down : across;
    bool crops = rule.crop_height, short_side = morsel_resize_mode(&rule) == MORSEL_RESIZE_SHORT_SIDE;
    rule.resize_height = (uint32_t)(rule.resize_height * (short_side ? more : down) + 0.5);
    rule.resize_width = (uint32_t)(rule.resize_width * (short_side ? more : across) + 0.5);
    rule.crop_height = crops ? to[0] : 0;
    rule.crop_width = crops ? to[1] : 0;
    return rule;
}

/* --- Answers --- */

static struct answer_output stated(const char *name, const struct onnx_shape *shape) {
    struct answer_output output = {.name = name};
    if (shape->rank < 0 || shape->rank > MORSEL_MAX_RANK) return output;
    output.rank = (uint32_t)shape->rank;
    for (uint32_t k = 0; k < output.rank; k++) output.dims[k] = shape->dims[k] > 0 ? (uint32_t)shape->dims[k] : 0;
    return output;
}

bool rules_fit(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    const struct onnx_graph *graph = c->graph;
    bool detects = call->answer && c->answer.record.kind == MORSEL_ANSWER_DETECTIONS;
    if (call->labels && !detects && !extras_check_labels(call->labels, c->labels, c->label_count, graph, &c->report, failure)) return false;
    if (!call->answer) return true;
    struct answer_output *outputs = must_calloc(graph->output_count, sizeof *outputs), input;
    struct answer_network network = {.outputs = outputs, .output_count = (uint32_t)graph->output_count};
    uint32_t sides[2] = {0, 0}, *words = NULL;
    size_t count;
    for (size_t i = 0; i < graph->output_count; i++) outputs[i] = stated(graph->outputs[i]->name, &graph->outputs[i]->shape);
    if (graph->input_count) {
        input = stated("", &graph->inputs[0]->shape);
        if (call->picture) sides_in(input.rank, input.dims, &c->rule, sides);
    }
    network.height = sides[0];
    network.width = sides[1];
    network.label_count = (uint32_t)c->label_count;
    bool good = answer_rule_fit(&c->answer, &network, &words, &count, failure);
    if (!good) failure_prefix(failure, call->answer);
    if (!good) failure_prefix(failure, "answer rule");
    free(words);
    free(outputs);
    return good;
}

/* The answer rule for a net. */
static bool put_answer(const struct conversion *c, const struct net *net, uint32_t **words, size_t *count, struct failure *failure) {
    struct answer_output *outputs = must_calloc(net->output_count, sizeof *outputs);
    uint32_t sides[2] = {0, 0};
    for (uint32_t i = 0; i < net->output_count; i++) {
        outputs[i] = (struct answer_output){.name = net->outputs[i].name, .rank = net->outputs[i].onnx_rank};
        memcpy(outputs[i].dims, net->outputs[i].onnx_dims, sizeof outputs[i].dims);
    }
    if (c->extras.picture) sides_of(net, &c->rule, sides);
    const struct answer_network network = {outputs, net->output_count, sides[0], sides[1], (uint32_t)c->label_count};
    bool good = answer_rule_fit(&c->answer, &network, words, count, failure);
    free(outputs);
    return good;
}

/* --- The blob --- */

bool rules_write(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    uint32_t count = c->sizes.count;
    struct blob_extras *extras = must_calloc(count, sizeof *extras);
    struct morsel_blob_picture *rules = must_calloc(count, sizeof *rules);
    uint32_t **answers = must_calloc(count, sizeof *answers);
    bool good = true;
    for (uint32_t k = 0; k < count && good; k++) {
        rules[k] = rule_of(c, k);
        extras[k] = c->extras;
        if (extras[k].picture) extras[k].picture = &rules[k];
        if (call->answer) good = put_answer(c, c->nets[k], &answers[k], &extras[k].answer_words, failure);
        extras[k].answer = answers[k];
    }
    if (good) c->blob = blob_write_variants((const struct net *const *)c->nets, count, extras, &c->blob_bytes);
    if (good && !c->blob) failure_set(failure, STATUS_SYSTEM, "the blob would take more than 2^31 bytes");
    for (uint32_t k = 0; k < count; k++) free(answers[k]);
    free(answers);
    free(extras);
    free(rules);
    return c->blob != NULL;
}
