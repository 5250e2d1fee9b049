/* SPDX-License-Identifier: MIT */
/* Hugging Face's tokenizer.json: what stands for BERT's tokenizer is taken, and all else refused by name. */
#include "tools/samples/rules/rule_json.h"
#include "tools/samples/rules/tokenizer_parts.h"
#include <string.h>

#define ID_MOST (INT32_MAX - 1)

/* The text of a key; "" where it has none. */
static const char *text_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static bool refuse(struct failure *failure, const char *what, const cJSON *part, const char *taken) {
    const char *type = text_of(part, "type");
    return failure_set(failure, STATUS_INPUT, "its %s is %s; morsel takes %s", what, *type ? type : "not there", taken);
}

/* true, false, or `absent` where it is null or not there. */
static bool flag(const cJSON *object, const char *key, bool absent, bool *out, struct failure *failure) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = item && !cJSON_IsNull(item) ? cJSON_IsTrue(item) : absent;
    return !item || cJSON_IsBool(item) || cJSON_IsNull(item) || failure_set(failure, STATUS_INPUT, "\"%s\" is neither true nor false", key);
}

static bool read_normalizer(struct tokenizer *t, const cJSON *root, struct failure *failure) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(root, "normalizer");
    if (strcmp(text_of(part, "type"), "BertNormalizer")) return refuse(failure, "normalizer", part, "a BertNormalizer");
    return flag(part, "clean_text", true, &t->normal.clean, failure) &&
           flag(part, "handle_chinese_chars", true, &t->normal.ideographs, failure) &&
           flag(part, "lowercase", true, &t->normal.lower, failure) &&
           flag(part, "strip_accents", t->normal.lower, &t->normal.strip, failure);
}

static bool read_pre_tokenizer(const cJSON *root, struct failure *failure) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(root, "pre_tokenizer");
    return !strcmp(text_of(part, "type"), "BertPreTokenizer") || refuse(failure, "pre-tokenizer", part, "a BertPreTokenizer");
}

static bool id_of(const cJSON *item, uint32_t *id) {
    return rule_whole(item, 0, ID_MOST, id);
}

static bool read_vocabulary(struct tokenizer *t, const cJSON *vocabulary, const char *unknown, struct failure *failure) {
    bool found = false;
    for (const cJSON *item = vocabulary->child; item; item = item->next) {
        uint32_t id;
        if (!id_of(item, &id)) return failure_set(failure, STATUS_INPUT, "token \"%s\" has no whole number as its id", item->string);
        if (!tokenizer_add(t, item->string, strlen(item->string), id, failure)) return false;
        if (strcmp(item->string, unknown)) continue;
        t->unknown = id;
        found = true;
    }
    return found || failure_set(failure, STATUS_INPUT, "the model's \"unk_token\", \"%s\", is no token of its vocabulary", unknown);
}

static bool read_model(struct tokenizer *t, const cJSON *root, struct failure *failure) {
    const cJSON *model = rule_member(root, "model", failure);
    if (!model) return false;
    const cJSON *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab");
    const char *type = text_of(model, "type"), *prefix = text_of(model, "continuing_subword_prefix");
    if ((*type && strcmp(type, "WordPiece")) || !cJSON_IsObject(vocabulary))
        return failure_set(failure, STATUS_INPUT,
                           "its model is %s; morsel takes WordPiece, with \"vocab\" as an object; without a text rule, an app puts the "
                           "ids of its own tokenizer into the inputs",
                           *type ? type : "of no type");
    if (strcmp(prefix, "##"))
        return failure_set(failure, STATUS_INPUT, "\"continuing_subword_prefix\" is \"%s\"; morsel takes \"##\"", prefix);
    if (!rule_whole(cJSON_GetObjectItemCaseSensitive(model, "max_input_chars_per_word"), 1, MORSEL_TEXT_WORD_MOST, &t->word_points))
        return rule_wrong(failure, "\"max_input_chars_per_word\" is no whole number from 1 to 100; BERT's is 100");
    return read_vocabulary(t, vocabulary, text_of(model, "unk_token"), failure);
}

static bool read_added_token(struct tokenizer *t, const cJSON *item, struct failure *failure) {
    const char *text = text_of(item, "content");
    bool normalized, single;
    uint32_t id;
    if (!*text || !id_of(cJSON_GetObjectItemCaseSensitive(item, "id"), &id))
        return rule_wrong(failure, "an element of \"added_tokens\" has no \"content\" or no \"id\"");
    if (strlen(text) > MORSEL_TEXT_TOKEN_MOST)
        return failure_set(failure, STATUS_INPUT, "added token \"%.60s...\" has %zu bytes; %u are the most", text, strlen(text),
                           MORSEL_TEXT_TOKEN_MOST);
    if (!flag(item, "normalized", false, &normalized, failure) || !flag(item, "single_word", false, &single, failure)) return false;
    if (normalized || single)
        return failure_set(failure, STATUS_INPUT,
                           "added token \"%s\" is \"%s\"; morsel takes added tokens that stand in the text as they are", text,
                           normalized ? "normalized" : "single_word");
    if (id >= t->id_count) t->id_count = id + 1;
    if (!strcmp(text, "[PAD]") || !strcmp(text, "<pad>")) t->padding = id;
    return tokens_add(&t->special, text, strlen(text), id, failure);
}

static bool read_added(struct tokenizer *t, const cJSON *root, struct failure *failure) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "added_tokens");
    if (list && !cJSON_IsArray(list)) return rule_wrong(failure, "\"added_tokens\" is no array");
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next)
        if (!read_added_token(t, item, failure)) return false;
    return true;
}

/* --- What stands around a text --- */

static bool too_many_around(struct failure *failure) {
    return rule_wrong(failure, "more than 8 special tokens stand around a text");
}

static bool put_around(struct tokenizer *t, const cJSON *id, bool behind, struct failure *failure) {
    if (t->front + t->back == MORSEL_TEXT_AROUND_MOST) return too_many_around(failure);
    if (!id_of(id, &t->around[t->front + t->back])) return rule_wrong(failure, "a special token around a text has no id");
    *(behind ? &t->back : &t->front) += 1;
    return true;
}

static bool put_special(struct tokenizer *t, const cJSON *specials, const char *name, bool behind, struct failure *failure) {
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(specials, name), "ids");
    if (!cJSON_IsArray(ids)) return failure_set(failure, STATUS_INPUT, "the template's special token \"%s\" has no ids", name);
    for (const cJSON *id = ids->child; id; id = id->next)
        if (!put_around(t, id, behind, failure)) return false;
    return true;
}

/* {"SpecialToken": {..}} .., {"Sequence": {"id": "A"}}, .. */
static bool read_template(struct tokenizer *t, const cJSON *part, struct failure *failure) {
    const cJSON *single = cJSON_GetObjectItemCaseSensitive(part, "single");
    const cJSON *specials = cJSON_GetObjectItemCaseSensitive(part, "special_tokens");
    bool behind = false;
    uint32_t count = 0; /* each is sought among all, also what has no ids */
    for (const cJSON *item = cJSON_IsArray(single) ? single->child : NULL; item; item = item->next) {
        const cJSON *special = cJSON_GetObjectItemCaseSensitive(item, "SpecialToken"),
                    *sequence = cJSON_GetObjectItemCaseSensitive(item, "Sequence");
        const cJSON *type = cJSON_GetObjectItemCaseSensitive(special ? special : sequence, "type_id");
        if (!cJSON_IsNumber(type) || type->valuedouble != 0)
            return rule_wrong(failure, "the template of a single text has a \"type_id\" that is not 0");
        if (special && ++count > MORSEL_TEXT_AROUND_MOST) return too_many_around(failure);
        if (special && !put_special(t, specials, text_of(special, "id"), behind, failure)) return false;
        if (sequence && behind) return rule_wrong(failure, "the template of a single text holds it twice");
        behind = behind || sequence;
    }
    return behind || rule_wrong(failure, "the template of a single text does not hold it");
}

/* "cls": ["[CLS]", 101] */
static bool read_pair(struct tokenizer *t, const cJSON *part, const char *key, bool behind, struct failure *failure) {
    const cJSON *pair = cJSON_GetObjectItemCaseSensitive(part, key);
    return put_around(t, cJSON_IsArray(pair) && pair->child ? pair->child->next : NULL, behind, failure);
}

static bool read_post_processor(struct tokenizer *t, const cJSON *root, struct failure *failure) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(root, "post_processor");
    const char *type = text_of(part, "type");
    if (!part || cJSON_IsNull(part)) return true;
    if (!strcmp(type, "TemplateProcessing")) return read_template(t, part, failure);
    if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        return read_pair(t, part, "cls", false, failure) && read_pair(t, part, "sep", true, failure);
    return refuse(failure, "post-processor", part, "TemplateProcessing, BertProcessing, RobertaProcessing");
}

/* --- Length --- */

static bool read_length(struct tokenizer *t, const cJSON *root, struct failure *failure) {
    const cJSON *cut = cJSON_GetObjectItemCaseSensitive(root, "truncation"), *pad = cJSON_GetObjectItemCaseSensitive(root, "padding");
    if (!strcmp(text_of(cut, "direction"), "Left") || !strcmp(text_of(pad, "direction"), "Left"))
        return rule_wrong(failure, "it cuts or pads on the left; morsel does so on the right alone");
    if (cJSON_IsObject(cut) && !rule_whole(cJSON_GetObjectItemCaseSensitive(cut, "max_length"), 1, MORSEL_TEXT_LENGTH_MOST, &t->max_length))
        return rule_wrong(failure, "\"max_length\" of \"truncation\" is no whole number from 1 to 65536");
    return !cJSON_IsObject(pad) || id_of(cJSON_GetObjectItemCaseSensitive(pad, "pad_id"), &t->padding) ||
           rule_wrong(failure, "\"pad_id\" of \"padding\" is no whole number");
}

static bool ids_fit(struct tokenizer *t, struct failure *failure) {
    for (uint32_t i = 0; i < t->front + t->back; i++)
        if (t->around[i] >= t->id_count) return failure_set(failure, STATUS_INPUT, "id %u around a text is no token's", t->around[i]);
    return t->padding < t->id_count || failure_set(failure, STATUS_INPUT, "\"pad_id\" %u is no token's", t->padding);
}

bool tokenizer_json(struct tokenizer *t, struct failure *failure) {
    static const char *const keys[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    const cJSON *root = t->root = rule_parse(&t->file, failure);
    return root && rule_keys(root, keys, failure) && read_model(t, root, failure) && read_normalizer(t, root, failure) &&
           read_pre_tokenizer(root, failure) && read_added(t, root, failure) && read_post_processor(t, root, failure) &&
           read_length(t, root, failure) && ids_fit(t, failure);
}
