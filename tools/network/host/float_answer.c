/* SPDX-License-Identifier: MIT */
/* The answer rule beside a network in float; its outputs as the library sees those of a blob. */
#include "tools/network/host/float_answer.h"
#include "core/answer.h"
#include "tools/base/arena.h"
#include <stdlib.h>
#include <string.h>

static struct answer_output stated(const struct network_tensor *t) {
    struct answer_output output = {.name = t->name, .rank = t->rank <= MORSEL_MAX_RANK ? t->rank : 0};
    for (uint32_t k = 0; k < output.rank; k++) output.dims[k] = (uint32_t)t->dims[k];
    return output;
}

bool float_answer_fit(struct float_answer *answer, struct network *network, const struct morsel_blob_picture *picture, size_t labels,
                      struct failure *failure) {
    struct answer_output *outputs = must_calloc(network->output_count, sizeof *outputs);
    struct answer_network asked = {.outputs = outputs, .output_count = network->output_count, .label_count = (uint32_t)labels};
    size_t count;
    for (uint32_t i = 0; i < network->output_count; i++) outputs[i] = stated(&network->outputs[i]);
    if (network->input_count) {
        const struct answer_output input = stated(&network->inputs[0]);
        answer_rule_sides(&asked, &input, picture);
    }
    bool good = answer_rule_fit(&answer->rule, &asked, &answer->words, &count, failure);
    free(outputs);
    network->answer = good ? (const struct morsel_blob_answer *)(const void *)answer->words : NULL;
    return good || failure_prefix(failure, network->call.answer);
}

struct morsel_view float_answer_view(const struct network_tensor *tensor, const float *values, size_t count) {
    struct morsel_view view = {.bytes = (uint32_t)(count * sizeof *values), .type = MORSEL_FLOAT32, .rank = tensor->rank, .scale = 1};
    memcpy(&view.data, &values, sizeof view.data); /* it is read alone */
    for (uint32_t k = 0; k < tensor->rank; k++) view.dims[k] = (uint32_t)tensor->dims[k];
    view.onnx_rank = view.rank;
    memcpy(view.onnx_dims, view.dims, sizeof view.dims);
    return view;
}

void float_answer_free(struct float_answer *answer) {
    answer_rule_free(&answer->rule);
    free(answer->words);
}
