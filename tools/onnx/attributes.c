/* SPDX-License-Identifier: MIT */
/* The attributes that any room reads, and of which type each is: one of another type is refused, so that all who read it see the same. */
#include "tools/onnx/operator.h"
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 1, INT, STRING, TENSOR, FLOATS = 6, INTS, STRINGS };

struct known {
    const char *name;
    int type;
};

/* In the order of strcmp(). */
static const struct known known[] = {
    {"activation", STRING},
    {"activation_alpha", FLOAT},
    {"activation_beta", FLOAT},
    {"activation_params", FLOATS},
    {"activations", STRINGS},
    {"align_corners", INT},
    {"allowzero", INT},
    {"alpha", FLOAT},
    {"antialias", INT},
    {"approximate", STRING},
    {"auto_pad", STRING},
    {"axes", INTS},
    {"axis", INT},
    {"batch_axis", INT},
    {"batch_dims", INT},
    {"beta", FLOAT},
    {"bias", FLOAT},
    {"block_size", INT},
    {"blocksize", INT},
    {"ceil_mode", INT},
    {"center_point_box", INT},
    {"channels_last", INT},
    {"clip", FLOAT},
    {"coordinate_transformation_mode", STRING},
    {"count_include_pad", INT},
    {"cubic_coeff_a", FLOAT},
    {"dilations", INTS},
    {"direction", STRING},
    {"do_rotary", INT},
    {"dtype", INT},
    {"end", INT},
    {"ends", INTS},
    {"epsilon", FLOAT},
    {"equation", STRING},
    {"exclude_outside", INT},
    {"exclusive", INT},
    {"extrapolation_value", FLOAT},
    {"fmod", INT},
    {"gamma", FLOAT},
    {"group", INT},
    {"hidden_size", INT},
    {"input_forget", INT},
    {"interleaved", INT},
    {"is_causal", INT},
    {"is_packed_batching", INT},
    {"k", INT},
    {"keep_aspect_ratio_policy", STRING},
    {"keepdims", INT},
    {"kernel_shape", INTS},
    {"kv_num_heads", INT},
    {"lambd", FLOAT},
    {"largest", INT},
    {"layout", INT},
    {"left_window_size", INT},
    {"linear_before_reset", INT},
    {"mask_filter_value", FLOAT},
    {"max", FLOAT},
    {"min", FLOAT},
    {"mode", STRING},
    {"momentum", FLOAT},
    {"morsel_by_line", INT},
    {ONNX_DYNAMIC_MARK, INT},
    {ONNX_EXACT_MARK, INT},
    {"nearest_mode", STRING},
    {"noop_with_empty_axes", INT},
    {"num_groups", INT},
    {"num_heads", INT},
    {"num_outputs", INT},
    {"opset", INT},
    {"output_dtype", INT},
    {"output_padding", INTS},
    {"output_shape", INTS},
    {"p", INT},
    {"padding_mode", STRING},
    {"pads", INTS},
    {"perm", INTS},
    {"q_num_heads", INT},
    {"qkv_hidden_sizes", INTS},
    {"reduction", STRING},
    {"repeats", INTS},
    {"reverse", INT},
    {"right_window_size", INT},
    {"rotary_embedding_dim", INT},
    {"saturate", INT},
    {"scale", FLOAT},
    {"scales", FLOATS},
    {"select_last_index", INT},
    {"shape", INTS},
    {"size", INT},
    {"softcap", FLOAT},
    {"spatial", INT},
    {"split", INTS},
    {"start", INT},
    {"starts", INTS},
    {"stash_type", INT},
    {"steps", INTS},
    {"storage_order", INT},
    {"strides", INTS},
    {"time_axis", INT},
    {"to", INT},
    {"training_mode", INT},
    {"transA", INT},
    {"transB", INT},
    {"transBatchA", INT},
    {"transBatchB", INT},
    {"unidirectional", INT},
    {"upper", INT},
    {"value", TENSOR},
    {"value_float", FLOAT},
    {"value_floats", FLOATS},
    {"value_int", INT},
    {"value_ints", INTS},
};

static int compare(const void *name, const void *row) {
    return strcmp(name, ((const struct known *)row)->name);
}

int onnx_attribute_type(const struct onnx_node *node, const char *name) {
    const struct known *row = bsearch(name, known, sizeof known / sizeof *known, sizeof *known, compare);
    if (!row) return 0;
    return row->type == TENSOR && !strcmp(node->op, "Pad") ? FLOAT : row->type; /* what Pad fills with is a number before opset 11 */
}

static const char *type_name(int type) {
    static const char *const names[] = {"no type", "a float",          "an integer",         "a text",         "a tensor",
                                        "a graph", "a list of floats", "a list of integers", "a list of texts"};
    return type > 0 && type < (int)(sizeof names / sizeof *names) ? names[type] : "of another type";
}

bool onnx_check_attributes(struct onnx_context *c) {
    for (size_t i = 0; i < c->node->attribute_count; i++) {
        const struct onnx_attribute *a = &c->node->attributes[i];
        int wanted = onnx_attribute_type(c->node, a->name);
        if (wanted && a->type != wanted)
            return onnx_bad(c, "attribute '%.80s' is %s, and must be %s", a->name, type_name(a->type), type_name(wanted));
    }
    return true;
}
