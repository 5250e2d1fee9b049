/* SPDX-License-Identifier: MIT */
/* Watching a session step by step: which kernel each step got, and where its result lies. */
#include "plan.h"
#include "run.h"

#include <string.h>

/* In rising order: each has the kernels of those before it, too. */
static const struct {
    uint32_t cpu;
    char name[12];
} isas[] = {{0, "c"},
            {MORSEL_HAS_NEON, "neon"},
            {MORSEL_HAS_DOTPROD, "dotprod"},
            {MORSEL_HAS_I8MM, "i8mm"},
            {MORSEL_HAS_AVX2, "avx2"},
            {MORSEL_HAS_AVXVNNI, "avxvnni"},
            {MORSEL_HAS_AVX512VNNI | MORSEL_HAS_AVX512VBMI, "avx512vnni"}};

#define ISA_COUNT (sizeof isas / sizeof isas[0])

static int is_among(const struct morsel_kernels *kernels, const union morsel_kernel *kernel) {
    const uint8_t *slots = (const uint8_t *)kernels;
    for (size_t at = 0; at < offsetof(struct morsel_kernels, refusals); at += sizeof *kernel)
        if (!memcmp(slots + at, kernel, sizeof *kernel)) return 1;
    return 0;
}

/* The first instruction set with whose kernels a session would have chosen this one. */
static uint16_t isa_of(const struct morsel_session *session, const struct morsel_call *call) {
    uint32_t cpu = 0;
    for (uint16_t k = 0; k < ISA_COUNT - 1; k++) {
        struct morsel_kernels kernels;
        if (isas[k].cpu && !(session->cpu & isas[k].cpu)) continue;
        morsel_kinds_kernels(&kernels, cpu |= isas[k].cpu);
        if (is_among(&kernels, &call->kernel)) return k;
    }
    return ISA_COUNT - 1;
}

static morsel_refusal_fn *refusal_of(const struct morsel_refusals *refusals, const struct morsel_call *call) {
    if (morsel_kinds[call->kind]->run == morsel_run_matmul) return refusals->matmul;
    switch (morsel_kind_base(call->kind)) {
    case MORSEL_STEP_CONV: return refusals->conv;
    case MORSEL_STEP_DEPTHWISE: return refusals->depthwise;
    case MORSEL_STEP_MAX_POOL: return refusals->max_pool;
    case MORSEL_STEP_FC: return refusals->fc;
    case MORSEL_STEP_BINARY:
        if (call->args.binary.op == MORSEL_BINARY_QADD) return refusals->qadd;
        return call->args.binary.op == MORSEL_BINARY_QMUL ? refusals->qmul : refusals->binary;
    case MORSEL_STEP_LUT: return refusals->lut;
    case MORSEL_STEP_MEAN: return refusals->mean;
    case MORSEL_STEP_GATHER: return refusals->gather;
    case MORSEL_STEP_SOFTMAX: return refusals->softmax;
    default: return NULL;
    }
}

/* The shape as ONNX has it: CHANNELS_LAST is N C H W. */
static void find_onnx_shape(struct morsel_view *view) {
    view->onnx_type = view->type;
    view->onnx_rank = view->rank;
    memcpy(view->onnx_dims, view->dims, sizeof view->dims);
    if (view->layout != MORSEL_CHANNELS_LAST || view->rank < 3) return;
    view->onnx_dims[1] = view->dims[view->rank - 1];
    memcpy(view->onnx_dims + 2, view->dims + 1, (view->rank - 2) * sizeof *view->dims);
}

static void fill_step(struct morsel_step *step, const struct morsel_session *session, uint32_t index, uint16_t isa) {
    const struct morsel_model *model = session->model;
    const struct morsel_blob_step *s = morsel_blob_step(model, index);
    const struct morsel_blob_tensor *y = morsel_blob_output(model, s);
    const struct morsel_call *call = morsel_call_at(session, index);
    struct morsel_kernels kernels;
    morsel_kinds_kernels(&kernels, session->cpu);
    morsel_refusal_fn *refusal = refusal_of(&kernels.refusals, call);
    step->index = index;
    step->name = morsel_blob_string(model, s->name);
    step->kind = morsel_kinds[s->kind]->name;
    step->isa = isas[isa].name;
    step->why_c = refusal ? refusal(&call->args) : NULL;
    step->group = s->group;
    step->done = 0;
    morsel_view_tensor(&step->result, session, y);
    find_onnx_shape(&step->result);
    step->result.name = morsel_blob_string(model, y->name);
    if (morsel_is_byte(y)) step->result.sign_flip = morsel_stored_flip(model, y, kernels.store_flip) ^ (y->type == MORSEL_INT8 ? 0x80 : 0);
}

static void tell(const struct morsel_session *session, uint32_t index, int done) {
    struct morsel_step step;
    fill_step(&step, session, index, morsel_call_at(session, index)->isa);
    step.done = (uint32_t)done;
    if (!done || morsel_blob_output(session->model, morsel_blob_step(session->model, index))->ring_rows) step.result.data = NULL;
    session->watch(session->watch_ctx, &step);
}

enum morsel_error morsel_session_step(const struct morsel_session *session, uint32_t index, struct morsel_step *step) {
    if (!session || !session->model || !session->steps || !step || index >= session->step_count) return MORSEL_ERR_ARGUMENT;
    fill_step(step, session, index, isa_of(session, morsel_call_at(session, index)));
    step->result.data = NULL;
    return MORSEL_OK;
}

enum morsel_error morsel_session_watch(struct morsel_session *session, morsel_watch *watch, void *ctx) {
    if (!session || !session->model || !session->steps) return MORSEL_ERR_ARGUMENT;
    session->watch = watch;
    session->tell = tell;
    session->watch_ctx = ctx;
    morsel_plan(session);
    for (uint32_t i = 0; watch && i < session->step_count; i++)
        morsel_call_at(session, i)->isa = isa_of(session, morsel_call_at(session, i));
    return MORSEL_OK;
}
