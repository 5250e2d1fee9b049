/* SPDX-License-Identifier: MIT */
/* The networks that are built in, by name: published shapes with random weights. */
#include "tools/net/nets.h"

#include "tools/net/blob/blob.h"
#include "tools/net/nets_build.h"
#include "tools/net/plan/plan.h"
#include <string.h>

static struct net_buffer *point(struct maker *m, struct net_buffer *x, uint32_t outputs, enum activation activation) {
    return make_conv(m, x, outputs, 1, 1, 1, activation);
}

static struct net_buffer *bottleneck(struct maker *m, struct net_buffer *x, uint32_t factor, uint32_t outputs, uint32_t stride) {
    struct net_buffer *wide = factor > 1 ? point(m, x, x->dims[3] * factor, RELU) : x;
    struct net_buffer *y = point(m, make_depthwise(m, wide, 3, stride, RELU), outputs, PLAIN);
    return stride == 1 && x->dims[3] == outputs ? make_sum(m, x, y, PLAIN) : y;
}

static void mobilenetv2(struct maker *m) {
    static const uint32_t blocks[7][4] = {
        {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}; /* factor, outputs, how many, stride of the first */
    struct net_buffer *x = make_conv(m, make_picture(m, 224, 224, 3), 32, 3, 3, 2, RELU);
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t k = 0; k < blocks[i][2]; k++) x = bottleneck(m, x, blocks[i][0], blocks[i][1], k ? 1 : blocks[i][3]);
    make_end(m, make_fc(m, make_mean(m, point(m, x, 1280, RELU)), 1000, PLAIN));
}

static void mobilenetv1(struct maker *m) {
    static const uint32_t outputs[13] = {64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024};
    struct net_buffer *x = make_conv(m, make_picture(m, 224, 224, 3), 32, 3, 3, 2, RELU);
    for (uint32_t i = 0; i < 13; i++)
        x = point(m, make_depthwise(m, x, 3, i == 1 || i == 3 || i == 5 || i == 11 ? 2 : 1, RELU), outputs[i], RELU);
    make_end(m, make_fc(m, make_mean(m, x), 1000, PLAIN));
}

/* Two convolutions and a way around them. */
static struct net_buffer *residual(struct maker *m, struct net_buffer *x, uint32_t outputs, uint32_t stride) {
    struct net_buffer *y = make_conv(m, make_conv(m, x, outputs, 3, 3, stride, RELU), outputs, 3, 3, 1, PLAIN);
    struct net_buffer *around = stride > 1 || x->dims[3] != outputs ? make_conv(m, x, outputs, 1, 1, stride, PLAIN) : x;
    return make_sum(m, y, around, RELU);
}

static void resnet18(struct maker *m) {
    struct net_buffer *x = make_max_pool(m, make_conv(m, make_picture(m, 224, 224, 3), 64, 7, 7, 2, RELU), 3, 2);
    for (uint32_t i = 0; i < 8; i++) x = residual(m, x, 64u << i / 2, i % 2 == 0 && i > 0 ? 2 : 1);
    make_end(m, make_fc(m, make_mean(m, x), 1000, PLAIN));
}

static void resnet8(struct maker *m) {
    struct net_buffer *x = make_conv(m, make_picture(m, 32, 32, 3), 16, 3, 3, 1, RELU);
    for (uint32_t i = 0; i < 3; i++) x = residual(m, x, 16u << i, i ? 2 : 1);
    make_end(m, make_softmax(m, make_fc(m, make_mean(m, x), 10, PLAIN)));
}

/* A unit of stride 2 takes all channels down two ways; the others take half of them, and leave the rest as it is. */
static struct net_buffer *shuffle_unit(struct maker *m, struct net_buffer *x, uint32_t outputs, bool first) {
    uint32_t half = outputs / 2;
    struct net_buffer *left, *right = x;
    if (first) {
        left = point(m, make_depthwise(m, x, 3, 2, PLAIN), half, RELU);
    } else {
        left = make_part(m, x, 0, half, true);
        right = make_part(m, x, half, half, true);
    }
    right = make_depthwise(m, point(m, right, half, RELU), 3, first ? 2 : 1, PLAIN);
    return make_concat(m, left, point(m, right, half, RELU));
}

static void shufflenetv2(struct maker *m) {
    static const uint32_t outputs[3] = {116, 232, 464}, units[3] = {4, 8, 4};
    struct net_buffer *x = make_max_pool(m, make_conv(m, make_picture(m, 224, 224, 3), 24, 3, 3, 2, RELU), 3, 2);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < units[i]; k++) x = shuffle_unit(m, k || !i ? x : make_part(m, x, 0, x->dims[3], true), outputs[i], k == 0);
    }
    x = point(m, make_part(m, x, 0, x->dims[3], true), 1024, RELU);
    make_end(m, make_fc(m, make_mean(m, x), 1000, PLAIN));
}

static void ds_cnn(struct maker *m) {
    struct net_buffer *x = make_conv(m, make_picture(m, 49, 10, 1), 64, 10, 4, 2, RELU);
    for (uint32_t i = 0; i < 4; i++) x = point(m, make_depthwise(m, x, 3, 1, RELU), 64, RELU);
    make_end(m, make_softmax(m, make_fc(m, make_mean(m, x), 12, PLAIN)));
}

static void autoencoder(struct maker *m) {
    struct net_buffer *x = make_vector(m, 640);
    for (uint32_t i = 0; i < 9; i++) x = make_fc(m, x, i == 4 ? 8 : 128, RELU);
    make_end(m, make_fc(m, x, 640, PLAIN));
}

static const struct builtin {
    const char *name;
    void (*make)(struct maker *m);
} builtins[] = {
    {"mobilenetv2-224", mobilenetv2}, {"mobilenetv1-224", mobilenetv1}, {"resnet18-224", resnet18},      {"shufflenetv2-224", shufflenetv2},
    {"resnet8-32", resnet8},          {"ds-cnn-kws", ds_cnn},           {"autoencoder-ad", autoencoder},
};

static const struct builtin *find(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name)) return &builtins[i];
    return NULL;
}

const char *nets_names(void) {
    return "mobilenetv2-224 mobilenetv1-224 resnet18-224 shufflenetv2-224 resnet8-32 ds-cnn-kws autoencoder-ad";
}

bool nets_has(const char *name) {
    return find(name) != NULL;
}

bool nets_blob(const char *name, bool no_streaming, uint32_t arena_room, struct file_bytes *blob, struct failure *failure) {
    return nets_blob_parted(name, no_streaming, arena_room, 0, blob, failure);
}

bool nets_blob_parted(const char *name, bool no_streaming, uint32_t arena_room, uint32_t fast_room, struct file_bytes *blob,
                      struct failure *failure) {
    struct blob_extras none = {0};
    struct maker m;
    make_start(&m, name);
    find(name)->make(&m);
    m.net->no_streaming = no_streaming;
    m.net->arena_room = arena_room;
    m.net->fast_room = fast_room;
    blob->data = plan_arena(m.net) ? blob_write(m.net, &none, &blob->size) : NULL;
    uint64_t bytes = m.net->arena_bytes;
    net_free(m.net);
    return blob->data ? true : failure_memory(failure, bytes);
}
