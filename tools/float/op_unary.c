/* SPDX-License-Identifier: MIT */
/* Operators of one number each: activations and elementary functions, Clip, Cast. */
#include "tools/float/activate.h"
#include "tools/float/exp.h"
#include "tools/onnx/operator.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- the functions ---- */

typedef float one_number(float x, float alpha, float beta);

INLINE void each(one_number *f, const struct function *p, const float *x, float *y, size_t count) {
    const float alpha = p->alpha, beta = p->beta;
    for (size_t i = 0; i < count; i++) y[i] = f(x[i], alpha, beta);
}

INLINE float relu(float x, float a, float b) {
    return (void)a, (void)b, x < 0 ? 0 : x;
}
INLINE float leaky_relu(float x, float a, float b) {
    return (void)b, x < 0 ? a * x : x;
}
INLINE float thresholded(float x, float a, float b) {
    return (void)b, x > a ? x : 0;
}
INLINE float clip(float x, float a, float b) {
    return x < a ? a : x > b ? b : x;
}
INLINE float elu(float x, float a, float b) {
    return (void)b, x < 0 ? a * expm1f(x) : x;
}
INLINE float selu(float x, float a, float b) {
    return x > 0 ? b * x : b * a * expm1f(x);
}
INLINE float celu(float x, float a, float b) {
    return (void)b, x > 0 ? x : a * expm1f(x / a);
}
INLINE float sigmoid(float x, float a, float b) {
    return (void)a, (void)b, 1 / (1 + exp_float(-x));
}
INLINE float hard_sigmoid(float x, float a, float b) {
    return clip(a * x + b, 0, 1);
}
INLINE float hard_swish(float x, float a, float b) {
    return x * clip(a * x + b, 0, 1);
}
INLINE float swish(float x, float a, float b) {
    return (void)b, x / (1 + exp_float(-a * x));
}
INLINE float softplus(float x, float a, float b) {
    return (void)a, (void)b, (x > 0 ? x : 0) + log1pf(exp_float(-fabsf(x)));
}
INLINE float softsign(float x, float a, float b) {
    return (void)a, (void)b, x / (1 + fabsf(x));
}
INLINE float mish(float x, float a, float b) {
    return x * tanhf(softplus(x, a, b));
}
INLINE float hyperbolic(float x, float a, float b) {
    return (void)a, (void)b, tanhf(x);
}
INLINE float error_function(float x, float a, float b) {
    return (void)a, (void)b, erff(x);
}
INLINE float gelu(float x, float a, float b) {
    return (void)a, (void)b, 0.5F * x * (1 + erff(x * 0.70710678F));
}
INLINE float gelu_tanh(float x, float a, float b) {
    return (void)a, (void)b, 0.5F * x * (1 + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
}
INLINE float exponential(float x, float a, float b) {
    return (void)a, (void)b, exp_float(x);
}
INLINE float logarithm(float x, float a, float b) {
    return (void)a, (void)b, logf(x);
}
INLINE float root(float x, float a, float b) {
    return (void)a, (void)b, sqrtf(x);
}
INLINE float magnitude(float x, float a, float b) {
    return (void)a, (void)b, fabsf(x);
}
INLINE float negative(float x, float a, float b) {
    return (void)a, (void)b, -x;
}
INLINE float sign(float x, float a, float b) {
    return (void)a, (void)b, x > 0 ? 1 : x < 0 ? -1 : x;
}
INLINE float reciprocal(float x, float a, float b) {
    return (void)a, (void)b, 1 / x;
}
INLINE float floor_of(float x, float a, float b) {
    return (void)a, (void)b, floorf(x);
}
INLINE float ceiling(float x, float a, float b) {
    return (void)a, (void)b, ceilf(x);
}
INLINE float half_to_even(float x, float a, float b) {
    return (void)a, (void)b, nearbyintf(x);
}
INLINE float is_zero(float x, float a, float b) {
    return (void)a, (void)b, x == 0;
}

/* ---- loops over them ---- */

#define ARGUMENTS const struct function *f, const float *x, float *y, size_t count
static void run_relu(ARGUMENTS) {
    each(relu, f, x, y, count);
}
static void run_leaky_relu(ARGUMENTS) {
    each(leaky_relu, f, x, y, count);
}
static void run_thresholded(ARGUMENTS) {
    each(thresholded, f, x, y, count);
}
static void run_elu(ARGUMENTS) {
    each(elu, f, x, y, count);
}
static void run_selu(ARGUMENTS) {
    each(selu, f, x, y, count);
}
static void run_celu(ARGUMENTS) {
    each(celu, f, x, y, count);
}
static void run_sigmoid(ARGUMENTS) {
    each(sigmoid, f, x, y, count);
}
static void run_hard_sigmoid(ARGUMENTS) {
    each(hard_sigmoid, f, x, y, count);
}
static void run_hard_swish(ARGUMENTS) {
    each(hard_swish, f, x, y, count);
}
static void run_swish(ARGUMENTS) {
    each(swish, f, x, y, count);
}
static void run_softplus(ARGUMENTS) {
    each(softplus, f, x, y, count);
}
static void run_softsign(ARGUMENTS) {
    each(softsign, f, x, y, count);
}
static void run_mish(ARGUMENTS) {
    each(mish, f, x, y, count);
}
static void run_tanh(ARGUMENTS) {
    each(hyperbolic, f, x, y, count);
}
static void run_erf(ARGUMENTS) {
    each(error_function, f, x, y, count);
}
static void run_gelu(ARGUMENTS) {
    each(gelu, f, x, y, count);
}
static void run_gelu_tanh(ARGUMENTS) {
    each(gelu_tanh, f, x, y, count);
}
static void run_exp(ARGUMENTS) {
    each(exponential, f, x, y, count);
}
static void run_log(ARGUMENTS) {
    each(logarithm, f, x, y, count);
}
static void run_sqrt(ARGUMENTS) {
    each(root, f, x, y, count);
}
static void run_abs(ARGUMENTS) {
    each(magnitude, f, x, y, count);
}
static void run_neg(ARGUMENTS) {
    each(negative, f, x, y, count);
}
static void run_sign(ARGUMENTS) {
    each(sign, f, x, y, count);
}
static void run_reciprocal(ARGUMENTS) {
    each(reciprocal, f, x, y, count);
}
static void run_floor(ARGUMENTS) {
    each(floor_of, f, x, y, count);
}
static void run_ceil(ARGUMENTS) {
    each(ceiling, f, x, y, count);
}
static void run_round(ARGUMENTS) {
    each(half_to_even, f, x, y, count);
}
static void run_not(ARGUMENTS) {
    each(is_zero, f, x, y, count);
}
void function_clip(ARGUMENTS) {
    each(clip, f, x, y, count);
}

/* alpha and beta: the operator's defaults; beta of Selu is its gamma */
static const struct {
    const char *name;
    function_run *run;
    float alpha, beta;
} functions[] = {
    {"Relu", run_relu, 0, 0},
    {"LeakyRelu", run_leaky_relu, 0.01F, 0},
    {"ThresholdedRelu", run_thresholded, 1, 0},
    {"Elu", run_elu, 1, 0},
    {"Selu", run_selu, 1.67326319F, 1.05070102F},
    {"Celu", run_celu, 1, 0},
    {"Sigmoid", run_sigmoid, 0, 0},
    {"HardSigmoid", run_hard_sigmoid, 0.2F, 0.5F},
    {"HardSwish", run_hard_swish, 1 / 6.0F, 0.5F},
    {"Swish", run_swish, 1, 0},
    {"QuickGelu", run_swish, 1.702F, 0},
    {"Mish", run_mish, 0, 0},
    {"Softplus", run_softplus, 0, 0},
    {"Softsign", run_softsign, 0, 0},
    {"Tanh", run_tanh, 0, 0},
    {"Erf", run_erf, 0, 0},
    {"Gelu", run_gelu, 0, 0},
    {"Exp", run_exp, 0, 0},
    {"Log", run_log, 0, 0},
    {"Sqrt", run_sqrt, 0, 0},
    {"Abs", run_abs, 0, 0},
    {"Neg", run_neg, 0, 0},
    {"Sign", run_sign, 0, 0},
    {"Reciprocal", run_reciprocal, 0, 0},
    {"Floor", run_floor, 0, 0},
    {"Ceil", run_ceil, 0, 0},
    {"Round", run_round, 0, 0},
    {"Not", run_not, 0, 0},
};

function_run *function_find(const char *name, struct function *defaults) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) {
            *defaults = (struct function){functions[i].alpha, functions[i].beta};
            return functions[i].run;
        }
    return NULL;
}

/* ---- operators ---- */

struct unary {
    function_run *run;
    struct function function;
    size_t count;
    int inputs;
};

static void run_unary(const void *plan, const struct call *call) {
    const struct unary *u = plan;
    u->run(&u->function, call->in[0], call->out[0], u->count);
}

static bool use(struct preparation *p, function_run *run, struct function function) {
    struct unary *u = prepare_alloc(p, sizeof *u);
    *u = (struct unary){run, function, (size_t)onnx_elements(shape_out(p, 0)), p->node->input_count};
    p->step->plan = u;
    p->step->run = run_unary;
    p->step->in_place = true;
    p->reads = 1;
    return true;
}

bool prepare_unary(struct preparation *p) {
    struct function f;
    function_run *run = function_find(p->node->op, &f);
    if (!run) return cannot(p, "the float executor does not have this function");
    bool fixed = run == run_hard_swish; /* its numbers are no attributes */
    f.alpha = fixed ? f.alpha : onnx_attribute_float(p->node, "alpha", f.alpha);
    f.beta = fixed ? f.beta : onnx_attribute_float(p->node, run == run_selu ? "gamma" : "beta", f.beta);
    if (run == run_gelu && !strcmp(onnx_attribute_string(p->node, "approximate", "none"), "tanh")) run = run_gelu_tanh;
    return use(p, run, f);
}

/* Bounds that are computed; where both contradict each other, the upper one counts. */
static void run_clip_between(const void *plan, const struct call *call) {
    struct unary u = *(const struct unary *)plan;
    u.function.alpha = u.inputs > 1 && call->in[1] ? call->in[1][0] : u.function.alpha;
    u.function.beta = u.inputs > 2 && call->in[2] ? call->in[2][0] : u.function.beta;
    u.function.alpha = u.function.alpha > u.function.beta ? u.function.beta : u.function.alpha;
    run_unary(&u, call);
}

static bool use_clip_between(struct preparation *p) {
    use(p, function_clip, (struct function){-INFINITY, INFINITY});
    p->step->run = run_clip_between;
    p->reads = p->node->input_count;
    for (int i = 1; i < 3; i++)
        if (onnx_input(p->node, i) && onnx_elements(shape_in(p, i)) != 1) return cannot(p, "its %s is no number", i == 1 ? "min" : "max");
    return true;
}

/* Bounds are attributes up to opset 10, then inputs. */
bool prepare_clip(struct preparation *p) {
    struct function f = {-INFINITY, INFINITY};
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
    return use(p, function_clip, f);
}

static bool integer_range(enum onnx_type type, struct function *range) {
    switch (type) {
    case ONNX_UINT8: *range = (struct function){0, 255}; return true;
    case ONNX_INT8: *range = (struct function){-128, 127}; return true;
    case ONNX_UINT16: *range = (struct function){0, 65535}; return true;
    case ONNX_INT16: *range = (struct function){-32768, 32767}; return true;
    case ONNX_UINT32: *range = (struct function){0, 4294967295.0F}; return true;
    case ONNX_INT32: *range = (struct function){-2147483648.0F, 2147483647.0F}; return true;
    case ONNX_UINT64: *range = (struct function){0, 18446744073709551615.0F}; return true;
    case ONNX_INT64: *range = (struct function){-9223372036854775808.0F, 9223372036854775807.0F}; return true;
    default: return false;
    }
}

static void run_to_integer(ARGUMENTS) {
    for (size_t i = 0; i < count; i++) y[i] = clip(truncf(x[i]), f->alpha, f->beta);
}

static void run_to_bool(ARGUMENTS) {
    (void)f;
    for (size_t i = 0; i < count; i++) y[i] = x[i] != 0;
}

/* Real numbers lose their fraction, and keep to the range of the type; integers become real as they are. */
bool prepare_cast(struct preparation *p) {
    enum onnx_type to = p->node->outputs[0]->type;
    struct function range = {0, 0};
    p->reads = 1;
    if (to == ONNX_BOOL) return use(p, run_to_bool, range);
    if (integer_range(to, &range)) return use(p, run_to_integer, range);
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
    a->run = strcmp(name, "Clip") ? function_find(name, &a->function) : function_clip;
    if (!a->run || (a->run == function_clip && (!given || given->count != 2)))
        return cannot(p, "its activation '%.40s' is not supported", name);
    if (given && given->type == 6 && given->count > 0) a->function.alpha = given->floats[0];
    if (given && given->type == 6 && given->count > 1) a->function.beta = given->floats[1];
    return true;
}

void activate(const struct activation *a, const float *addend, float *y, size_t count) {
    for (size_t i = 0; i < count && a->adds; i++) y[i] += addend[i];
    if (a->run) a->run(&a->function, y, y, count);
}
