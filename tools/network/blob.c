/* SPDX-License-Identifier: MIT */
/* The kind of network that a blob is, from a file or built in. */
#include "core/answer.h"
#include "core/blob.h"
#include "core/plan.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/options.h"
#include "tools/base/text.h"
#include "tools/net/blob/blob.h"
#include "tools/net/memory.h"
#include "tools/net/nets.h"
#include "tools/network/each.h"
#include "tools/network/scores.h"
#include "tools/network/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct blob_run {
    struct morsel_view *inputs, *outputs;
    uint8_t *arena, *fast; /* what the plan has in fast memory is a block of its own */
    struct pool *pool;
    void *scratch; /* of pictures, kept from one to the next */
    size_t scratch_bytes;
};

/* --- The blob --- */

const char *network_part_at_fault(const struct morsel_model *model, char *text, size_t size) {
    static const char *const names[] = {"", "tensor", "step", "group", "input", "output", "label", "metadata"};
    uint32_t index;
    enum morsel_part part = morsel_open_part(model, &index);
    *text = 0;
    if (part != MORSEL_PART_BLOB) snprintf(text, size, "%s %u: ", names[part], index);
    return text;
}

static bool open_failed(const struct network *network, enum morsel_error error, struct failure *failure) {
    char part[32];
    const char *advice = "; write it anew with 'morsel convert'";
    if (error == MORSEL_ERR_MAGIC || error == MORSEL_ERR_TRUNCATED)
        advice = network_is_onnx(network->call.path) ? "; of an ONNX file a blob is made first: by morsel convert if it is quantized, by "
                                                       "morsel quantize if it is float"
                                                     : "; a blob is what 'morsel convert' writes";
    return failure_set(failure, STATUS_INPUT, "%s: %s%s%s", network->call.path, network_part_at_fault(&network->model, part, sizeof part),
                       morsel_error_text(error), advice);
}

/* Else a small one might be told at great length. */
static bool strings_fit(const struct network *network, struct failure *failure) {
    return blob_strings_fit(&network->model, network_variants(network)) ||
           failure_set(failure, STATUS_INPUT,
                       "%s: its names or labels lie as morsel does not write them: they share bytes, or a label has over %d bytes",
                       network->call.path, (int)TEXT_LABEL_MOST);
}

static bool open_model(struct network *network, const void *blob, size_t bytes, struct failure *failure) {
    double start = clock_seconds();
    enum morsel_error error = morsel_open(&network->model, blob, bytes, 0);
    network->open_seconds = clock_seconds() - start;
    network->whole = network->model;
    return error ? open_failed(network, error, failure) : strings_fit(network, failure);
}

static bool no_such_network(const struct network_call *call, struct failure *failure) {
    return failure_set(failure, STATUS_INPUT, "there is no file '%s', and no network is built in under that name; these are: %s",
                       call->path, nets_names());
}

/* Of what is no blob its front says so, however large it is. */
static bool read_blob(struct network *network, struct failure *failure) {
    const char *path = network->call.path;
    uint8_t front[MORSEL_FORMAT_HEADER_1];
    size_t got;
    struct failure none;
    if (file_read_part(path, 0, front, sizeof front, &got, NULL, &none) && got == sizeof front && memcmp(front, MORSEL_MAGIC, 8) != 0)
        return open_failed(network, MORSEL_ERR_MAGIC, failure);
    return file_read(path, INT32_MAX, &network->blob, failure);
}

/* A path that is no file's may be a built-in network's name. */
static bool get_bytes(struct network *network, struct failure *failure) {
    const struct network_call *call = &network->call;
    bool is_file = !access(call->path, F_OK) || strpbrk(call->path, "./");
    if (call->picture || call->labels || call->answer)
        return failure_set(failure, STATUS_CALL, "%s is for ONNX files; a blob has its own, from morsel convert or quantize",
                           call->picture  ? "--picture"
                           : call->answer ? "--answer"
                                          : "--labels");
    if (!memory_call_fits(call->arena, call->no_streaming, failure)) return false;
    if (is_file && (call->arena || call->arena_fast || call->no_streaming))
        return failure_set(failure, STATUS_CALL,
                           "%s is for networks that are built in: the arena of %s was chosen when it was made; for "
                           "another use 'morsel convert %s'",
                           call->arena        ? "--arena"
                           : call->arena_fast ? "--arena-fast"
                                              : "--no-streaming",
                           call->path,
                           call->arena        ? "--arena BYTES"
                           : call->arena_fast ? "--arena-fast BYTES"
                                              : "--no-streaming");
    if (is_file) return read_blob(network, failure);
    if (!nets_has(call->path)) return no_such_network(call, failure);
    return nets_blob_parted(call->path, call->no_streaming, (uint32_t)call->arena, (uint32_t)call->arena_fast, &network->blob, failure);
}

static struct network_tensor *tensors_of(const struct morsel_model *model, const struct morsel_blob_section *section) {
    const struct morsel_blob_io *io = morsel_blob_at(model, section->offset);
    struct network_tensor *tensors = must_calloc(section->count, sizeof *tensors);
    for (uint32_t i = 0; i < section->count; i++) {
        const struct morsel_blob_tensor *in_memory = morsel_blob_tensor(model, io[i].tensor);
        tensors[i].name = morsel_blob_string(model, io[i].name);
        tensors[i].type = tensor_npy_type((enum morsel_type)io[i].onnx_type);
        tensors[i].rank = io[i].onnx_rank;
        for (uint32_t k = 0; k < io[i].onnx_rank; k++) tensors[i].dims[k] = io[i].onnx_dims[k];
        tensors[i].count = in_memory->bytes / npy_type_bytes(tensor_npy_type((enum morsel_type)in_memory->type));
    }
    return tensors;
}

static void make_tensors(struct network *network) {
    const struct morsel_blob_header *header = morsel_blob_header(&network->model);
    network->input_count = header->inputs.count;
    network->output_count = header->outputs.count;
    network->inputs = tensors_of(&network->model, &header->inputs);
    network->outputs = tensors_of(&network->model, &header->outputs);
    network->has_rule = header->picture.count != 0;
    network->has_text = morsel_text_length(&network->model) != 0;
    network->answer = morsel_answer_rule(&network->model);
    network->picture = morsel_picture_rule(&network->model);
    network->probabilities = network->output_count && scores_are_probabilities(&network->model, 0);
    if (network->answer && network->answer->kind == MORSEL_ANSWER_CLASSES)
        network->probabilities = !(network->answer->flags & MORSEL_ANSWER_SOFTMAX);
}

/* --- Variants --- */

uint32_t network_variants(const struct network *network) {
    return network->kind == &network_of_blobs ? morsel_variant_count(&network->whole) : 1;
}

static bool open_variant(struct network *network, uint32_t variant, struct failure *failure) {
    uint32_t count = network_variants(network);
    if (variant >= count)
        return failure_set(failure, STATUS_CALL, "%s has %u variant%s: there is no number %u, as they count from 0", network->call.path,
                           count, count > 1 ? "s" : "", variant);
    double start = clock_seconds();
    enum morsel_error error = morsel_open_variant(&network->model, &network->whole, variant, 0);
    if (error) return open_failed(network, error, failure);
    network->open_seconds += clock_seconds() - start;
    network->variant = variant;
    return strings_fit(network, failure);
}

bool network_choose(struct network *network, uint32_t variant, struct failure *failure) {
    if (variant == network->variant) return true;
    if (!open_variant(network, variant, failure)) return false;
    free(network->inputs);
    free(network->outputs);
    make_tensors(network);
    return true;
}

bool network_variant(struct network *variant, const struct network *network, uint32_t index, struct failure *failure) {
    *variant = *network;
    variant->blob = (struct file_bytes){0};
    variant->inputs = variant->outputs = NULL;
    variant->open_seconds = 0;
    if (!open_variant(variant, index, failure)) return false;
    make_tensors(variant);
    return true;
}

/* Whether each input takes its array. */
static bool arrays_fit(const struct network *network, const struct npy *arrays) {
    struct failure failure;
    uint32_t runs;
    for (uint32_t i = 0; i < network->input_count; i++)
        if (!tensor_fits(&arrays[i], &network->inputs[i], &runs, &failure)) return false;
    return true;
}

/* Where arrays fit none, the largest stays, and it is told what it takes. */
static bool blob_start(struct network *network, const struct npy *arrays, struct failure *failure) {
    if (!arrays || network->call.variant != NETWORK_FITTING) return true;
    for (uint32_t k = 0; k < network_variants(network); k++) {
        if (!network_choose(network, k, failure)) return false;
        if (arrays_fit(network, arrays)) return true;
    }
    return network_choose(network, 0, failure);
}

static bool blob_read(struct network *network, struct failure *failure) {
    if (!get_bytes(network, failure) || !open_model(network, network->blob.data, network->blob.size, failure)) return false;
    memory_notice(network->call.arena, morsel_arena_bytes(&network->model));
    memory_notice_fast(network->call.arena_fast, morsel_arena_fast_bytes(&network->model));
    if (network->call.variant > 0 && !open_variant(network, (uint32_t)network->call.variant, failure)) return false;
    make_tensors(network);
    return true;
}

static void blob_close(struct network *network) {
    file_free(&network->blob);
}

/* What has no --cpu goes by MORSEL_CPU. */
static struct network_call call_of(const char *path) {
    struct network_call call = {.path = path};
    options_cpu_default(&call.cpu);
    return call;
}

struct network network_of_model(const struct morsel_model *model) {
    return (struct network){.kind = &network_of_blobs, .call = call_of("the model"), .model = *model, .whole = *model};
}

bool network_of_blob(struct network *network, const void *blob, size_t bytes, struct failure *failure) {
    *network = (struct network){.kind = &network_of_blobs, .call = call_of("the blob that was made")};
    if (!open_model(network, blob, bytes, failure)) return false;
    make_tensors(network);
    return true;
}

static const char *blob_label(const struct network *network, uint32_t index) {
    return morsel_label(&network->model, index);
}

/* --- A run --- */

static size_t aligned(size_t bytes) {
    return (bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
}

static bool open_session(struct network_run *run, unsigned threads, struct failure *failure) {
    struct blob_run *own = run->own;
    size_t fast = morsel_arena_fast_bytes(&run->network->model);
    struct morsel_options options = {.size = sizeof options,
                                     .cpu_mask = run->network->call.cpu,
                                     .fast = own->fast,
                                     .fast_bytes = own->fast ? fast : 0};
    if (threads > 1) {
        if (!(own->pool = each_pool(threads, failure))) return false;
        options.parallel_for = pool_run;
        options.parallel_ctx = own->pool;
        options.tasks = threads;
        if (pool_processors() >= threads) options.barrier = pool_barrier;
    }
    double start = clock_seconds();
    enum morsel_error error =
        morsel_session_open(&run->session, &run->network->model, own->arena, run->arena_bytes - fast + run->lent_bytes, &options);
    run->open_seconds = clock_seconds() - start;
    return !error ||
           failure_set(failure, STATUS_INPUT, "%s: no session can be opened: %s", run->network->call.path, morsel_error_text(error));
}

static void get_views(struct network_run *run) {
    const struct network *network = run->network;
    struct blob_run *own = run->own;
    own->inputs = must_calloc(network->input_count, sizeof *own->inputs);
    own->outputs = must_calloc(network->output_count, sizeof *own->outputs);
    for (uint32_t i = 0; i < network->input_count; i++) morsel_input(&run->session, i, &own->inputs[i]);
    for (uint32_t i = 0; i < network->output_count; i++) morsel_output(&run->session, i, &own->outputs[i]);
}

static bool blob_run_open(struct network_run *run, struct failure *failure) {
    const struct network *network = run->network;
    unsigned threads = network->call.threads > 1 ? network->call.threads : 1;
    struct blob_run *own = run->own = must_calloc(1, sizeof *own);
    run->arena_bytes = morsel_arena_bytes_for(&network->model, threads);
    if (!run->arena_bytes)
        return failure_set(failure, STATUS_CALL, "%s: the arena for %u threads would take more than 2^31 bytes", network->call.path,
                           threads);
    size_t fast = morsel_arena_fast_bytes(&network->model);
    run->lent_bytes = threads * (size_t)MORSEL_LENT_MOST;
    own->arena = aligned_alloc(MORSEL_ALIGNMENT, aligned(run->arena_bytes - fast + run->lent_bytes));
    own->fast = fast ? aligned_alloc(MORSEL_ALIGNMENT, aligned(fast)) : NULL;
    if (!own->arena || (fast && !own->fast)) return failure_memory(failure, run->arena_bytes);
    if (!open_session(run, threads, failure)) return false;
    get_views(run);
    return true;
}

static void blob_run_close(struct network_run *run) {
    struct blob_run *own = run->own;
    if (!own) return;
    pool_close(own->pool);
    free(own->arena);
    free(own->fast);
    free(own->scratch);
    free(own->inputs);
    free(own->outputs);
    free(own);
}

static bool blob_put(struct network_run *run, uint32_t input, const void *values, struct failure *failure) {
    const struct blob_run *own = run->own;
    return tensor_store(&own->inputs[input], values, failure);
}

static bool compute_failed(enum morsel_error error, struct failure *failure) {
    return !error || failure_set(failure, STATUS_INPUT, "the run failed: %s", morsel_error_text(error));
}

struct watching {
    network_watch *watch;
    void *context;
};

static void watch_step(void *context, const struct morsel_step *step) {
    const struct watching *w = context;
    w->watch(w->context, &(struct network_value){.step = step});
}

static bool blob_compute(struct network_run *run, network_watch *watch, void *context, struct failure *failure) {
    struct watching watching = {watch, context};
    if (!watch) return compute_failed(morsel_run(&run->session), failure);
    enum morsel_error error = morsel_session_watch(&run->session, watch_step, &watching);
    if (!error) error = morsel_run(&run->session);
    morsel_session_watch(&run->session, NULL, NULL);
    return compute_failed(error, failure);
}

static bool blob_get(const struct network_run *run, uint32_t output, void *values, struct failure *failure) {
    const struct blob_run *own = run->own;
    return tensor_load(&own->outputs[output], values, failure);
}

static bool blob_scores(const struct network_run *run, float *scores, struct failure *failure) {
    const struct blob_run *own = run->own;
    return !morsel_dequantize(&own->outputs[0], scores, run->network->outputs[0].count) ||
           failure_set(failure, STATUS_INPUT, "output 0 cannot be read");
}

static void blob_view(const struct network_run *run, uint32_t output, struct morsel_view *view) {
    const struct blob_run *own = run->own;
    *view = own->outputs[output];
}

/* --- Pictures --- */

/* A picture whose size the rule leaves alone, or not enough alone: what it is and what is wanted. */
static bool picture_misfits(const struct network_run *run, const struct image *image, struct failure *failure) {
    const struct morsel_model *model = &run->network->model;
    const struct blob_run *own = run->own;
    const struct morsel_view *view = &own->inputs[0];
    const struct morsel_blob_picture *rule = morsel_blob_at(model, morsel_blob_header(model)->picture.offset);
    const uint32_t *sides = view->dims + (view->rank - 3), channels = rule->channels == MORSEL_CHANNELS_GRAY ? 1 : 3;
    if (view->layout == MORSEL_ROW_MAJOR && sides[0] == channels) sides++; /* C H W; else H W C */
    const char *does = morsel_resize_mode(rule) == MORSEL_RESIZE_NONE ? "does not resize" : "resizes the short side and does not crop";
    return failure_set(failure, STATUS_INPUT, "the picture is %u x %u (height x width); the blob's rule %s, so %u x %u is wanted",
                       image->height, image->width, does, sides[0], sides[1]);
}

static bool blob_picture(struct network_run *run, const struct image *image, uint32_t index, struct failure *failure) {
    struct blob_run *own = run->own;
    const struct morsel_model *model = &run->network->model;
    size_t bytes = morsel_picture_bytes(model, image->width, image->height);
    if (!bytes) return failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(MORSEL_ERR_PICTURE));
    if (bytes > own->scratch_bytes) {
        free(own->scratch);
        own->scratch = aligned_alloc(MORSEL_ALIGNMENT, aligned(bytes));
        own->scratch_bytes = own->scratch ? bytes : 0;
    }
    if (!own->scratch) return failure_memory(failure, bytes);
    enum morsel_error error = morsel_picture(model, image->rgb, (size_t)image->width * image->height * 3, image->width, image->height, 0,
                                             own->scratch, bytes, &own->inputs[0], index);
    if (error == MORSEL_ERR_PICTURE && own->inputs[0].rank >= 3) return picture_misfits(run, image, failure);
    return !error || failure_set(failure, STATUS_INPUT, "%s", morsel_error_text(error));
}

const struct network_kind network_of_blobs = {
    .read = blob_read,
    .start = blob_start,
    .close = blob_close,
    .label = blob_label,
    .run_open = blob_run_open,
    .run_close = blob_run_close,
    .put = blob_put,
    .picture = blob_picture,
    .compute = blob_compute,
    .get = blob_get,
    .scores = blob_scores,
    .view = blob_view,
};
