/* SPDX-License-Identifier: MIT */
/* Why an operator has no step. Some have one in other forms: saying that the operator is not supported would be wrong. */
#include "tools/lower/lower.h"

#define COMPARED "are floats, int32 and int64: put a Cast to float before it"
#define REDUCED "are floats over constant axes: without axes, by noop_with_empty_axes, it does nothing, and can be left out"

static const struct {
    const char *op, *what;
} taken[] = {
    {"TopK", "is a constant number of floats along an axis, whose indices go out of the network, to a Cast to float or to a Gather"},
    {"ArgMax", "are floats, whose index goes out of the network or to a Cast to float"},
    {"ArgMin", "are floats, whose index goes out of the network or to a Cast to float"},
    {"Hardmax", "is one axis of floats, which before opset 13 is the last: export it with opset_version=13"},
    {"CumSum", "are floats along a constant axis"},
    {"ReduceProd", "are floats along axes of up to 64 in all: reshape a longer one, and multiply along one axis after the other"},
    {"GatherElements", "are floats, by indices that are constant or of an ArgMax, ArgMin or TopK"},
    {"GatherND", "are constant or computed indices of floats, without batch_dims"},
    {"IsNaN", "is one behind a Softmax: leave it out elsewhere, with the Where that reads it"},
    {"Equal", COMPARED},
    {"Greater", COMPARED},
    {"GreaterOrEqual", COMPARED},
    {"Less", COMPARED},
    {"LessOrEqual", COMPARED},
    {"ReduceMax", REDUCED},
    {"ReduceMin", REDUCED},
    {"ReduceSum", REDUCED},
    {"ReduceL2", REDUCED},
};

bool refuse_operator(struct lowering *l, struct onnx_node *node) {
    const struct onnx_operator *known = onnx_operator_of(node);
    bool constant = known && known->fold && node->input_count > 0;
    for (int i = 0; i < node->input_count; i++) constant = constant && (!node->inputs[i] || node->inputs[i]->constant);
    if (constant && onnx_elements(&node->outputs[0]->shape) >= 0)
        return refuse(l, node, "its result of %lld numbers is too large to be computed for a file of this size",
                      (long long)onnx_elements(&node->outputs[0]->shape));
    if (known && node->unchecked) return refuse(l, node, "the shapes of its inputs are not known, by what comes before it");
    for (size_t i = 0; !node->domain[0] && i < sizeof taken / sizeof taken[0]; i++)
        if (node_is(node, taken[i].op)) return refuse(l, node, "this %s is not supported: taken %s", node->op, taken[i].what);
    return refuse(l, node, "operator %s%s%s is not supported%s", node->domain, node->domain[0] ? "." : "", node->op, onnx_advice(node));
}
