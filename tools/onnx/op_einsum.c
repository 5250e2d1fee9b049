/* SPDX-License-Identifier: MIT */
/* Einsum of one or two operands. */
#include "tools/onnx/einsum.h"
#include "tools/onnx/operator.h"

#include <ctype.h>
#include <string.h>

enum { DOTS_MOST = 8 };

/* Letters up to `,`, the arrow or the end, each once; three dots are `dots` digits, the last of them always 7. NULL: something else stands
 * there. */
static const char *read_term(const char *at, char *out, int most, int dots) {
    int n = 0;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (*at == ' ') continue;
        if (!strncmp(at, "...", 3) && dots >= 0 && dots <= DOTS_MOST && n + dots <= most) {
            for (int i = DOTS_MOST - dots; i < DOTS_MOST; i++) out[n++] = (char)('0' + i);
            at += 2;
            dots = -1;
            continue;
        }
        if (!isalpha((unsigned char)*at) || n == most || memchr(out, *at, (size_t)n)) return NULL;
        out[n++] = *at;
    }
    out[n] = 0;
    return at;
}

/* How many dimensions of an operand the three dots stand for: all that no letter names. */
static int dots_of(const struct onnx_node *node, int operand, const char *at) {
    const struct onnx_value *x = onnx_input(node, operand);
    int letters = 0;
    for (; *at && *at != ',' && *at != '-'; at++) letters += isalpha((unsigned char)*at) != 0;
    return x ? x->shape.rank - letters : -1;
}

/* Without an arrow: what the dots stand for, and the letters that stand once, by alphabet. */
static void implied(struct onnx_einsum *e, int dots) {
    int n = 0;
    for (int i = DOTS_MOST - dots; i < DOTS_MOST; i++) e->out[n++] = (char)('0' + i);
    for (char letter = 'A'; letter <= 'z'; letter++) {
        int times = 0;
        for (int i = 0; i < e->operands && isalpha((unsigned char)letter); i++) times += strchr(e->in[i], letter) != NULL;
        if (times == 1) e->out[n++] = letter;
    }
    e->out[n] = 0;
}

static bool read_equation(const struct onnx_node *node, struct onnx_einsum *e, const char **why) {
    const char *at = onnx_attribute_string(node, "equation", "");
    int most_dots = 0;
    e->operands = 0;
    *why = "its equation has a letter twice in an operand, or is malformed";
    for (;; at++) {
        if (e->operands == 2) {
            *why = "more than two operands are not supported";
            return false;
        }
        const int dots = dots_of(node, e->operands, at);
        const char *start = at;
        at = read_term(at, e->in[e->operands], ONNX_MAX_RANK, dots);
        if (!at) return false;
        if (memchr(start, '.', (size_t)(at - start)) && dots > most_dots) most_dots = dots;
        e->operands++;
        if (*at != ',') break;
    }
    if (!*at) {
        implied(e, most_dots);
        return true;
    }
    if (at[1] != '>') return false;
    at = read_term(at + 2, e->out, 2 * ONNX_MAX_RANK, most_dots);
    if (at && most_dots && !strpbrk(e->out, "01234567")) return false; /* what they stand for is not summed */
    for (const char *o = e->out; at && *o; o++)
        if (!strchr(e->in[0], *o) && (e->operands < 2 || !strchr(e->in[1], *o))) return false;
    return at && !*at;
}

bool onnx_einsum_read(const struct onnx_node *node, struct onnx_einsum *e, const char **why) {
    if (!read_equation(node, e, why)) return false;
    *why = e->operands == 1 ? "its equation is of 1 operand" : "its equation is of 2 operands";
    return node->input_count == e->operands && onnx_input(node, 0) && onnx_input(node, e->operands - 1);
}

bool onnx_infer_einsum(struct onnx_context *c) {
    struct onnx_einsum e;
    struct onnx_shape y = {.rank = 0};
    int64_t dims[128];
    const char *why;
    if (!onnx_takes_numbers(c)) return false;
    if (!onnx_einsum_read(c->node, &e, &why)) return onnx_bad(c, "%s", why);
    for (int i = 0; i < 128; i++) dims[i] = -1;
    for (int i = 0; i < e.operands; i++) {
        const struct onnx_shape *x = onnx_in(c, i);
        if (c->node->inputs[i]->type != c->node->inputs[0]->type) return onnx_bad(c, "its inputs have different types");
        if ((int)strlen(e.in[i]) != x->rank) return onnx_bad(c, "'%s' does not name the %d dimensions of input %d", e.in[i], x->rank, i);
        for (int d = 0; d < x->rank; d++) {
            int64_t *dim = &dims[(int)e.in[i][d]];
            if (*dim >= 0 && *dim != x->dims[d])
                return onnx_bad(c, "dimension %c is %lld and %lld", e.in[i][d], (long long)*dim, (long long)x->dims[d]);
            *dim = x->dims[d];
        }
    }
    if (strlen(e.out) > ONNX_MAX_RANK) return onnx_bad(c, "its output would have more than %d dimensions", ONNX_MAX_RANK);
    for (const char *o = e.out; *o; o++) y.dims[y.rank++] = dims[(int)*o];
    return onnx_out(c, 0, &y);
}
