/* SPDX-License-Identifier: MIT */
/* What an app may ask of the answer rule, which open has checked. */
#include "answer.h"

enum morsel_answer morsel_answer_kind(const struct morsel_model *model, uint32_t *output) {
    const struct morsel_blob_answer *rule = morsel_answer_rule(model);
    if (output) *output = rule ? rule->output : 0;
    return rule ? (enum morsel_answer)rule->kind : MORSEL_ANSWER_NONE;
}
