/* SPDX-License-Identifier: MIT */
/* How rules and labels go with a network, and with each of its sizes. */
#include "tools/verbs/host/conversion_rules.h"
#include "core/blob.h"
#include "tools/base/arena.h"
#include "tools/network/host/extras.h"
#include "tools/samples/rules/picture_rule.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rules_read(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    c->extras.strip = call->strip;
    if (!metadata_set(&c->metadata, &call->set, failure)) return false;
    c->extras.metadata = c->metadata.list;
    c->extras.metadata_count = c->metadata.count;
    if (call->picture && !picture_rule_read(call->picture, &c->rule, failure)) return false;
    if (call->picture) c->extras.picture = &c->rule;
    if (call->text && !text_rule_read(call->text, &c->text, failure)) return false;
    if (call->text) c->extras.text = c->text.words;
    if (call->text) c->extras.text_words = c->text.word_count;
    if (call->answer && !answer_rule_read(call->answer, &c->answer, failure)) return false;
    if (!call->answer && c->text.pooling != TEXT_POOLING_NONE) answer_rule_embedding(&c->answer);
    if (call->text && !c->text.pooling_said)
        onnx_notice(&c->report,
                    "%s: without \"pooling\" the outputs stay what they are, as of a network that has a pooling or a classifier",
                    call->text);
    if (!call->labels) return true;
    if (!labels_read(call->labels, &c->labels, &c->label_count, failure)) return false;
    c->extras.labels = c->labels;
    c->extras.label_count = (uint32_t)c->label_count;
    return true;
}

/* --- Text --- */

bool rules_text_inputs(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    static const char *const names[] = {"input_ids", "attention_mask", "token_type_ids"};
    struct morsel_blob_text *record = (struct morsel_blob_text *)(void *)c->text.words;
    for (uint32_t k = 0; call->text && k < 3; k++) {
        for (uint32_t i = 0; i < c->net->input_count; i++)
            if (!strcmp(c->net->inputs[i].name, names[k]) && c->net->inputs[i].buffer->type == MORSEL_INT32) record->inputs[k] = i;
    }
    return !call->text || record->inputs[0] != MORSEL_TEXT_NO_INPUT ||
           failure_set(failure, STATUS_INPUT, "%s: a text rule is given, and the network has no input 'input_ids' of integers",
                       call->input);
}

/* Lines of the shortest table that reads an input; 0: none does. */
static uint32_t lines_of(const struct morsel_model *model, uint32_t input) {
    uint32_t least = 0;
    for (uint32_t i = 0; i < morsel_blob_header(model)->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        if (step->kind != MORSEL_STEP_LOOKUP || morsel_blob_operand(model, step, 0) != input) continue;
        const struct morsel_blob_lookup *lookup = morsel_blob_at(model, step->parameters);
        least = !least || lookup->rows < least ? lookup->rows : least;
    }
    return least;
}

bool rules_text_table(const struct morsel_model *model, struct conversion *c, struct failure *failure) {
    const struct morsel_blob_text *record = (const struct morsel_blob_text *)(const void *)c->text.words;
    const struct morsel_blob_header *h = morsel_blob_header(model);
    const struct morsel_blob_io *in = morsel_blob_at(model, h->inputs.offset);
    const uint32_t lines = record && record->inputs[0] < h->inputs.count ? lines_of(model, in[record->inputs[0]].tensor) : 0;
    if (!lines) return true;
    if (record->id_count > lines)
        return failure_set(failure, STATUS_INPUT,
                           "%s: it has %u tokens, and the network a table of %u: it is another network's, which read texts as other ids",
                           c->text.tokenizer, record->id_count, lines);
    if (record->id_count < lines / 8 * 7)
        onnx_notice(&c->report, "%s: it has %u tokens, and the network a table of %u: is it another network's?", c->text.tokenizer,
                    record->id_count, lines);
    return true;
}

/* --- Pictures --- */

static struct answer_output held(const struct net_io *io) {
    struct answer_output output = {.name = io->name, .rank = io->onnx_rank};
    memcpy(output.dims, io->onnx_dims, sizeof output.dims);
    return output;
}

/* What it takes, by its first input. */
static struct answer_network taken_by(const struct net *net, const struct morsel_blob_picture *rule) {
    struct answer_network network = {.output_count = net->output_count};
    if (!net->input_count) return network;
    const struct answer_output input = held(&net->inputs[0]);
    answer_rule_sides(&network, &input, rule);
    return network;
}

/* The rule is for the first variant. Where others take pictures of another size, its sizes change in proportion. */
static struct morsel_blob_picture rule_of(const struct conversion *c, uint32_t variant) {
    struct morsel_blob_picture rule = c->rule;
    if (!variant) return rule;
    const struct answer_network from = taken_by(c->net, &rule), to = taken_by(c->nets[variant], &rule);
    if (!from.height || !from.width || !to.height || !to.width) return rule;
    double down = (double)to.height / from.height, across = (double)to.width / from.width, more = down > across ? down : across;
    bool crops = rule.crop_height, short_side = morsel_resize_mode(&rule) == MORSEL_RESIZE_SHORT_SIDE;
    rule.resize_height = (uint32_t)(rule.resize_height * (short_side ? more : down) + 0.5);
    rule.resize_width = (uint32_t)(rule.resize_width * (short_side ? more : across) + 0.5);
    rule.crop_height = crops ? to.height : 0;
    rule.crop_width = crops ? to.width : 0;
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

/* Numbers that networks with such a mean and std hardly take: mostly a scale of 1 where 1/255 is meant. Bytes as they are have no mean, and
 * means of bytes are large. */
static void notice_large(const struct conversion_call *call, struct conversion *c) {
    enum { USUAL_MOST = 20 };
    const struct morsel_blob_picture *r = &c->rule;
    const uint32_t channels = r->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    const enum onnx_type type = c->graph->input_count ? c->graph->inputs[0]->type : ONNX_UINT8;
    bool of_one = false;
    double low = 0, high = 0;
    for (uint32_t i = 0; i < channels; i++) {
        double black = -(double)r->mean[i] / r->std[i], white = (255 * (double)r->scale - r->mean[i]) / r->std[i];
        of_one = of_one || (r->mean[i] > 0 && r->mean[i] <= 1) || fabsf(r->std[i]) < 1;
        low = fmin(low, fmin(black, white));
        high = fmax(high, fmax(black, white));
    }
    if (of_one && type != ONNX_UINT8 && type != ONNX_INT8 && fmax(-low, high) > USUAL_MOST)
        onnx_notice(&c->report, "%s: the rule makes values of about %.0f to %.0f%s", call->picture, low, high,
                    r->scale == 1 ? ": is a \"scale\" of 1/255, 0.00392156862745098, meant?"
                                  : ": do \"scale\", \"mean\" and \"std\" go together?");
}

uint32_t *rules_answer(const struct conversion_call *call, const struct conversion *c, size_t *count, struct failure *failure) {
    const struct onnx_graph *graph = c->graph;
    struct answer_output *outputs = must_calloc(graph->output_count, sizeof *outputs), input;
    struct answer_network network = {.outputs = outputs, .output_count = (uint32_t)graph->output_count};
    uint32_t *words = NULL;
    for (size_t i = 0; i < graph->output_count; i++) outputs[i] = stated(graph->outputs[i]->name, &graph->outputs[i]->shape);
    if (graph->input_count) {
        input = stated("", &graph->inputs[0]->shape);
        answer_rule_sides(&network, &input, c->extras.picture);
    }
    network.label_count = (uint32_t)c->label_count;
    bool good = answer_rule_fit(&c->answer, &network, &words, count, failure);
    if (!good) failure_prefix(failure, call->answer);
    if (!good) failure_prefix(failure, "answer rule");
    free(outputs);
    return words;
}

bool rules_fit(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    const struct onnx_graph *graph = c->graph;
    bool own = call->answer && answer_rule_has_labels(&c->answer);
    if (call->labels && !own && !extras_check_labels(call->labels, c->labels, c->label_count, graph, &c->report, failure)) return false;
    if (call->picture) notice_large(call, c);
    if (!call->answer) return true;
    size_t count;
    uint32_t *words = rules_answer(call, c, &count, failure);
    free(words);
    return words != NULL;
}

/* The answer rule for a net. */
static bool put_answer(const struct conversion *c, const struct net *net, uint32_t **words, size_t *count, struct failure *failure) {
    struct answer_output *outputs = must_calloc(net->output_count, sizeof *outputs);
    struct answer_network network = taken_by(net, c->extras.picture);
    for (uint32_t i = 0; i < net->output_count; i++) outputs[i] = held(&net->outputs[i]);
    network.outputs = outputs;
    network.label_count = (uint32_t)c->label_count;
    bool good = answer_rule_fit(&c->answer, &network, words, count, failure);
    free(outputs);
    return good;
}

/* --- The blob --- */

bool rules_of_sizes(const struct conversion *c, struct rules_sizes *sizes, struct failure *failure) {
    uint32_t count = c->sizes.count;
    bool good = true;
    sizes->extras = must_calloc(count, sizeof *sizes->extras);
    sizes->pictures = must_calloc(count, sizeof *sizes->pictures);
    sizes->answers = must_calloc(count, sizeof *sizes->answers);
    for (uint32_t k = 0; k < count && good; k++) {
        struct blob_extras *extras = &sizes->extras[k];
        *extras = c->extras;
        sizes->pictures[k] = rule_of(c, k);
        if (extras->picture) extras->picture = &sizes->pictures[k];
        if (c->answer.record.kind) good = put_answer(c, c->nets[k], &sizes->answers[k], &extras->answer_words, failure);
        extras->answer = sizes->answers[k];
    }
    return good;
}

void rules_sizes_free(const struct conversion *c, struct rules_sizes *sizes) {
    for (uint32_t k = 0; sizes->answers && k < c->sizes.count; k++) free(sizes->answers[k]);
    free(sizes->answers);
    free(sizes->pictures);
    free(sizes->extras);
}

bool rules_write(struct conversion *c, struct failure *failure) {
    struct rules_sizes sizes = {0};
    bool good = rules_of_sizes(c, &sizes, failure);
    if (good) c->blob = blob_write_variants((const struct net *const *)c->nets, c->sizes.count, sizes.extras, &c->blob_bytes);
    if (good && !c->blob) failure_set(failure, STATUS_SYSTEM, "the blob would take more than 2^31 bytes");
    rules_sizes_free(c, &sizes);
    return c->blob != NULL;
}
