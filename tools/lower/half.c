/* SPDX-License-Identifier: MIT */
/* Turns the weights of float layers into binary16, to the nearest. */
#include "tools/lower/half.h"

#include <math.h>
#include <string.h>

#define MOST 65504.0f          /* of binary16 */
#define LEAST 6.103515625e-05f /* 2^-14: below it numbers stand 2^-24 apart */

uint16_t half_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size >= 0x477ff000) /* 65520, halfway to 2^16 */
        return (uint16_t)(sign | 0x7c00);
    if (fabsf(v) < LEAST)
        return (uint16_t)(sign | (uint32_t)lrintf(fabsf(v) * 16777216.0f)); /* exact, then to even; 1024 of them are 2^-14 */
    size += 0xfff + (size >> 13 & 1); /* thirteen bits are rounded away; a carry goes into the exponent, as it should */
    return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

/* The weights of a step, or NULL where it is no float layer. */
static struct net_constant *weights_of(struct net_step *step) {
    for (uint32_t i = 0; step->kind == MORSEL_STEP_FLOAT_CONV && i < step->constant_count; i++)
        if (step->constants[i].field == offsetof(struct morsel_blob_float_conv, weights)) return &step->constants[i];
    return NULL;
}

/* Why a layer's weights had better stay; NULL: they need not. Zeros alone need nothing. */
static const char *unfit(struct net *net, const float *weights, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabsf(weights[i]) > most) most = fabsf(weights[i]);
    if (half_of(most) >= 0x7c00) return net_text(net, "a weight of %.9g is too large (%.9g is the most)", (double)most, (double)MOST);
    if (most > 0 && most < LEAST)
        return net_text(net, "its largest weight, %.9g, is too small (below %.9g numbers lose bits)", (double)most, (double)LEAST);
    return NULL;
}

void half_net(struct net *net, struct onnx_report *report) {
    bool any = false;
    for (uint32_t s = 0; s < net->step_count; s++) {
        struct net_constant *c = weights_of(net->steps[s]);
        if (!c) continue;
        any = true;
        size_t count = c->bytes / sizeof(float);
        const float *from = c->data;
        const char *why = unfit(net, from, count);
        if (why) {
            onnx_notice(report, "%s keeps weights of 32 bits: %s", net->steps[s]->name, why);
            continue;
        }
        uint16_t *to = net_alloc(net, count * sizeof *to);
        for (size_t i = 0; i < count; i++) to[i] = half_of(from[i]);
        *c = (struct net_constant){to, count * sizeof *to, c->field};
        net->steps[s]->parameters.float_conv.weights_half = 1;
    }
    if (!any) onnx_notice(report, "--half changes nothing: no layer has float weights");
}
