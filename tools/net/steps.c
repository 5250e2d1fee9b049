/* SPDX-License-Identifier: MIT */
#include "tools/net/steps.h"
#include "core/call.h"
#include "tools/base/options.h"
#include <stdlib.h>
#include <string.h>

const char *steps_kind_name(uint32_t kind) {
    static const char *const names[MORSEL_STEP_KIND_COUNT] = {
        [MORSEL_STEP_CONV] = "conv",
        [MORSEL_STEP_DEPTHWISE] = "depthwise",
        [MORSEL_STEP_FC] = "fc",
        [MORSEL_STEP_MATMUL] = "matmul",
        [MORSEL_STEP_BINARY] = "binary",
        [MORSEL_STEP_UNARY] = "unary",
        [MORSEL_STEP_LUT] = "lut",
        [MORSEL_STEP_AVERAGE_POOL] = "average_pool",
        [MORSEL_STEP_MAX_POOL] = "max_pool",
        [MORSEL_STEP_MEAN] = "mean",
        [MORSEL_STEP_SOFTMAX] = "softmax",
        [MORSEL_STEP_CONCAT] = "concat",
        [MORSEL_STEP_GATHER] = "gather",
        [MORSEL_STEP_FLOAT_CONV] = "real_conv",
    };
    return kind < MORSEL_STEP_KIND_COUNT && names[kind] ? names[kind] : "?";
}

/* Names the steps whose kernel a session capped at `name` gets too, and that no simpler cap had. */
static bool name_steps(const struct model *model, const char *name, uint8_t *arena, const char **isa) {
    struct morsel_session capped;
    struct morsel_options options = model->options;
    if (!options_cpu_mask(name, &options.cpu_mask)) return false;
    if (morsel_session_open(&capped, &model->network, arena, model->arena_bytes, &options)) return false;
    for (uint32_t i = 0; i < capped.step_count; i++) {
        const union morsel_kernel *theirs = &morsel_call_at(&capped, i)->kernel, *ours = &morsel_call_at(&model->session, i)->kernel;
        if (!isa[i] && !memcmp(theirs, ours, sizeof *ours)) isa[i] = name;
    }
    return true;
}

const char **steps_isa(const struct model *model, struct failure *failure) {
    static const char *const rising[] = {"c", "neon", "dotprod", "i8mm", "avx2", "avxvnni", "avx512vnni"};
    size_t bytes = ((size_t)model->arena_bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
    const char **isa = calloc((size_t)model->session.step_count + 1, sizeof *isa);
    uint8_t *arena = aligned_alloc(MORSEL_ALIGNMENT, bytes);
    bool good = isa && arena ? true : failure_memory(failure, bytes);
    for (size_t i = 0; good && i < sizeof rising / sizeof rising[0]; i++)
        good = name_steps(model, rising[i], arena, isa) || failure_set(failure, STATUS_SYSTEM, "no session can be opened");
    for (uint32_t i = 0; good && i < model->session.step_count; i++)
        if (!isa[i]) isa[i] = options_cpu_name(model->session.cpu);
    free(arena);
    if (!good) {
        free(isa);
        isa = NULL;
    }
    return isa;
}
