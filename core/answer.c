/* SPDX-License-Identifier: MIT */
/* What an app may ask of the answer rule, which open has checked; and where a function that goes by it finds the output. */
#include "answer.h"

enum morsel_answer morsel_answer_kind(const struct morsel_model *model, uint32_t *output) {
    const struct morsel_blob_answer *rule = morsel_answer_rule(model);
    if (output) *output = rule ? rule->output : 0;
    return rule ? (enum morsel_answer)rule->kind : MORSEL_ANSWER_NONE;
}

enum morsel_error morsel_answer_of(const struct morsel_session *session, enum morsel_answer kind, const struct morsel_blob_answer **rule,
                                   struct morsel_view *view) {
    *rule = session ? morsel_answer_rule(session->model) : NULL;
    enum morsel_error error = morsel_output(session, *rule ? (*rule)->output : 0, view);
    if (error) return error;
    return *rule && (*rule)->kind == (uint32_t)kind ? MORSEL_OK : MORSEL_ERR_ANSWER;
}
