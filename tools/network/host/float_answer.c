/* SPDX-License-Identifier: MIT */
/* The answer rule beside a network in float; its outputs as the library sees those of a blob. */
#include "tools/network/host/float_answer.h"
#include "core/answer.h"
#include "tools/base/arena.h"
#include <stdlib.h>
#include <string.h>

/* Height and width of the pictures that go in. */
static void find_sides(const struct network *network, const struct morsel_blob_picture *picture, struct answer_network *out) {
    const struct network_tensor *input = network->inputs;
    const uint32_t channels = picture && picture->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    if (!picture || !network->input_count || (input->rank != 3 && input->rank != 4)) return;
    const uint64_t *dims = input->dims + (input->rank - 3);
    if (dims[0] == channels) dims++;
    out->height = (uint32_t)dims[0];
    out->width = (uint32_t)dims[1];
}

bool float_answer_fit(struct float_answer *answer, struct network *network, const struct morsel_blob_picture *picture, size_t labels,
                      struct failure *failure) {
    struct answer_output *outputs = must_calloc(network->output_count, sizeof *outputs);
    struct answer_network asked = {.outputs = outputs, .output_count = network->output_count, .label_count = (uint32_t)labels};
    size_t count;
    for (uint32_t i = 0; i < network->output_count; i++) {
        const struct network_tensor *t = &network->outputs[i];
        outputs[i].name = t->name;
        outputs[i].rank = t->rank <= MORSEL_MAX_RANK ? t->rank : 0;
        for (uint32_t k = 0; k < outputs[i].rank; k++) outputs[i].dims[k] = (uint32_t)t->dims[k];
    }
    find_sides(network, picture, &asked);
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
