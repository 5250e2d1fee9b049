/* SPDX-License-Identifier: MIT */
/* Operators of one number each: activations and elementary functions, Clip, Cast. */
#include "tools/float/activate.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

struct unary {
    const struct onnx_function *f;
    struct onnx_parameters p;
    size_t count;
    int inputs;
};

static void run_unary(const void *plan, const struct call *call) {
    const struct unary *u = plan;
    onnx_function_many(u->f, &u->p, call->in[0], call->out[0], u->count);
}

static bool use(struct preparation *p, const struct onnx_function *f, struct onnx_parameters parameters) {
    struct unary *u = prepare_alloc(p, sizeof *u);
    *u = (struct unary){f, parameters, (size_t)onnx_elements(shape_out(p, 0)), p->node->input_count};
    p->step->plan = u;
    p->step->run = run_unary;
    p->step->in_place = true;
    p->reads = 1;
    return true;
}

bool prepare_unary(struct preparation *p) {
    struct onnx_parameters parameters;
    const struct onnx_function *f = onnx_function_of(p->node, &parameters);
    return use(p, f, parameters);
}

static void run_is_nan(const void *plan, const struct call *call) {
    const struct unary *u = plan;
    for (size_t i = 0; i < u->count; i++) call->out[0][i] = isnan(call->in[0][i]) ? 1 : 0;
}

bool prepare_is_nan(struct preparation *p) {
    use(p, NULL, (struct onnx_parameters){0});
    p->step->run = run_is_nan;
    return true;
}

/* Bounds that are computed; where both contradict each other, the upper one counts. */
static void run_clip_between(const void *plan, const struct call *call) {
    struct unary u = *(const struct unary *)plan;
    u.p.alpha = u.inputs > 1 && call->in[1] ? call->in[1][0] : u.p.alpha;
    u.p.beta = u.inputs > 2 && call->in[2] ? call->in[2][0] : u.p.beta;
    u.p.alpha = u.p.alpha > u.p.beta ? u.p.beta : u.p.alpha;
    run_unary(&u, call);
}

static bool use_clip_between(struct preparation *p) {
    use(p, &onnx_clip, (struct onnx_parameters){-INFINITY, INFINITY});
    p->step->run = run_clip_between;
    p->reads = p->node->input_count;
    for (int i = 1; i < 3; i++)
        if (onnx_input(p->node, i) && onnx_elements(shape_in(p, i)) != 1) return cannot(p, "its %s is no number", i == 1 ? "min" : "max");
    return true;
}

/* Bounds are attributes up to opset 10, then inputs. */
bool prepare_clip(struct preparation *p) {
    struct onnx_parameters f = {-INFINITY, INFINITY};
    float *bounds[] = {&f.alpha, &f.beta};
    static const char *const names[] = {"min", "max"};
    for (int i = 0; i < 2; i++) {
        const float *given = prepare_constant(p, 1 + i);
        if (p->node->opset < 11) *bounds[i] = onnx_attribute_float(p->node, names[i], *bounds[i]);
        else if (onnx_input(p->node, 1 + i) && (!given || onnx_elements(shape_in(p, 1 + i)) != 1)) return use_clip_between(p);
        else if (given) *bounds[i] = *given;
    }
    /* Where both contradict each other, the upper one counts. */
    if (f.alpha > f.beta) f.alpha = f.beta;
    return use(p, &onnx_clip, f);
}

static bool integer_range(enum onnx_type type, struct onnx_parameters *range) {
    switch (type) {
    case ONNX_UINT8: *range = (struct onnx_parameters){0, 255}; return true;
    case ONNX_INT8: *range = (struct onnx_parameters){-128, 127}; return true;
    case ONNX_UINT16: *range = (struct onnx_parameters){0, 65535}; return true;
    case ONNX_INT16: *range = (struct onnx_parameters){-32768, 32767}; return true;
    case ONNX_UINT32: *range = (struct onnx_parameters){0, 4294967295.0F}; return true;
    case ONNX_INT32: *range = (struct onnx_parameters){-2147483648.0F, 2147483647.0F}; return true;
    case ONNX_UINT64: *range = (struct onnx_parameters){0, 18446744073709551615.0F}; return true;
    case ONNX_INT64: *range = (struct onnx_parameters){-9223372036854775808.0F, 9223372036854775807.0F}; return true;
    default: return false;
    }
}

static void to_integer(const struct onnx_parameters *p, const float *x, float *y, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = truncf(x[i]);
    onnx_clip.many(p, y, y, count);
}

static void to_bool(const struct onnx_parameters *p, const float *x, float *y, size_t count) {
    (void)p;
    for (size_t i = 0; i < count; i++) y[i] = x[i] != 0;
}

/* Real numbers lose their fraction, and keep to the range of the type; integers become real as they are. */
bool prepare_cast(struct preparation *p) {
    enum onnx_type to = p->node->outputs[0]->type;
    static const struct onnx_function into_integer = {.many = to_integer}, into_bool = {.many = to_bool};
    struct onnx_parameters range = {0, 0};
    p->reads = 1;
    if (to == ONNX_BOOL) return use(p, &into_bool, range);
    if (integer_range(to, &range)) return use(p, &into_integer, range);
    p->step->run = NULL;
    return true;
}

/* ---- after a convolution ---- */

bool activation_read(struct preparation *p, struct activation *a) {
    const char *name = onnx_attribute_string(p->node, "activation", "");
    const struct onnx_attribute *given = onnx_attribute(p->node, "activation_params");
    a->adds = onnx_input(p->node, 3) != NULL;
    if (a->adds && !onnx_same_shape(shape_in(p, 3), shape_out(p, 0))) return cannot(p, "what it adds is not shaped as its output");
    if (!*name) return true;
    const struct onnx_operator *op = onnx_operator_find("", name);
    if (!op) op = onnx_operator_find("com.microsoft", name);
    a->f = op ? op->function : NULL;
    if (!a->f || (a->f == &onnx_clip && (!given || given->count != 2))) return cannot(p, "its activation '%.40s' is not supported", name);
    a->p = (struct onnx_parameters){a->f->parameters[0].otherwise, a->f->parameters[1].otherwise};
    if (given && given->type == 6 && given->count > 0) a->p.alpha = given->floats[0];
    if (given && given->type == 6 && given->count > 1) a->p.beta = given->floats[1];
    return true;
}

void activate(const struct activation *a, const float *addend, float *y, size_t count) {
    for (size_t i = 0; i < count && a->adds; i++) y[i] += addend[i];
    if (a->f) onnx_function_many(a->f, &a->p, y, y, count);
}
