/* SPDX-License-Identifier: MIT */
/* Opens a network by its path, and hands calls on to the kind that it is of. */
#include "tools/network/network.h"
#include "tools/base/arena.h"
#include "tools/base/options.h"
#include <stdlib.h>
#include <string.h>

static const struct network_kind *kind_of_onnx; /* NULL: this tool has none */

void network_take_onnx(const struct network_kind *kind) {
    kind_of_onnx = kind;
}

bool network_is_onnx(const char *path) {
    size_t length = strlen(path);
    return length > 5 && !strcmp(path + length - 5, ".onnx");
}

bool network_read(struct network *network, const struct network_call *call, struct failure *failure) {
    bool onnx = kind_of_onnx && !call->blob_only && network_is_onnx(call->path);
    *network = (struct network){.kind = onnx ? kind_of_onnx : &network_of_blobs, .call = *call};
    return network->kind->read(network, failure);
}

bool network_start(struct network *network, const struct npy *arrays, struct failure *failure) {
    return !network->kind->start || network->kind->start(network, arrays, failure);
}

bool network_open(struct network *network, const struct network_call *call, struct failure *failure) {
    return network_read(network, call, failure) && network_start(network, NULL, failure);
}

void network_close(struct network *network) {
    if (network->kind) network->kind->close(network);
    free(network->inputs);
    free(network->outputs);
    *network = (struct network){0};
}

bool network_reads(const struct network *network, const char *path) {
    const struct network_call *call = &network->call;
    return file_same(path, call->path) || file_same(path, call->picture) || file_same(path, call->labels) ||
           file_same(path, call->answer) || (network->kind->reads && network->kind->reads(network, path));
}

const char *network_label(const void *network, uint32_t index) {
    const struct network *n = network;
    return n->kind->label(n, index);
}

bool network_takes_pictures(const struct network *network, struct failure *failure) {
    if (network->has_rule) return true;
    if (network->kind != &network_of_blobs)
        return failure_set(failure, STATUS_CALL, "an ONNX file has no picture rule: give one by --picture RULE.json");
    return failure_set(failure, STATUS_INPUT,
                       "the blob has no picture rule: morsel edit --picture RULE.json gives it one, as convert and quantize do; morsel run "
                       "takes tensors, too, "
                       "with --input X.npy");
}

uint32_t network_images(const struct network *network) {
    const struct network_tensor *in = network->inputs, *out = network->outputs;
    bool alike = network->input_count && network->output_count && in->rank > 1 && out->rank > 0 && out->dims[0] == in->dims[0];
    return alike ? (uint32_t)in->dims[0] : 1;
}

struct network_run *network_run_open(const struct network *network, struct failure *failure) {
    struct network_run *run = must_calloc(1, sizeof *run);
    run->network = network;
    if (network->kind->run_open(run, failure)) return run;
    network_run_close(run);
    return NULL;
}

void network_run_close(struct network_run *run) {
    if (!run) return;
    run->network->kind->run_close(run);
    free(run);
}

bool network_put(struct network_run *run, uint32_t input, const void *values, struct failure *failure) {
    return run->network->kind->put(run, input, values, failure);
}

bool network_picture(struct network_run *run, const struct image *image, uint32_t index, struct failure *failure) {
    return run->network->kind->picture(run, image, index, failure);
}

bool network_compute(struct network_run *run, network_watch *watch, void *context, struct failure *failure) {
    return run->network->kind->compute(run, watch, context, failure);
}

bool network_get(const struct network_run *run, uint32_t output, void *values, struct failure *failure) {
    return run->network->kind->get(run, output, values, failure);
}

bool network_scores(const struct network_run *run, float *scores, struct failure *failure) {
    return run->network->kind->scores(run, scores, failure);
}

const char *network_isa(const struct network_run *run) {
    return run->network->executor ? "float" : options_cpu_name(run->session.cpu);
}
