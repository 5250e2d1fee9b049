/* SPDX-License-Identifier: MIT */
/* morsel edit: another blob with the same network, whose labels, rules or metadata are others. */
#include "core/answer.h"
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include "tools/network/network.h"
#include "tools/optimize/sentence.h"
#include "tools/verbs/host/conversion.h"
#include "tools/verbs/host/conversion_rules.h"
#include "tools/verbs/verbs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 4096 }; /* of a blob that is edited */

/* Which parts are taken out: those whose file is "". */
struct without {
    bool picture, text, answer, labels;
};

struct edit {
    struct conversion_call call;
    struct without without;
    struct network network;
    uint32_t count; /* of variants */
    struct morsel_model *models;
    struct blob_extras *kept;
    struct onnx_graph ends; /* inputs and outputs, and nothing between */
    struct conversion c;
};

/* --- What there is --- */

static struct net_io io_of(struct net *net, const struct morsel_model *m, const struct morsel_blob_io *io) {
    const struct morsel_blob_tensor *t = morsel_blob_tensor(m, io->tensor);
    const char *name = morsel_blob_string(m, io->name);
    struct net_io end = {.onnx_type = (enum morsel_type)io->onnx_type, .onnx_rank = io->onnx_rank, .name = name};
    end.buffer = net_add_buffer(net, (enum morsel_type)t->type, (enum morsel_layout)t->layout, t->rank, t->dims, name);
    memcpy(end.onnx_dims, io->onnx_dims, sizeof end.onnx_dims);
    return end;
}

/* Inputs and outputs of a variant, by which rules are told whether they fit. */
static struct net *ends_of(const struct morsel_model *m) {
    const struct morsel_blob_header *h = morsel_blob_header(m);
    struct net *net = net_new(morsel_network_name(m));
    for (int output = 0; output < 2; output++) {
        const struct morsel_blob_section *section = output ? &h->outputs : &h->inputs;
        const struct morsel_blob_io *list = morsel_blob_at(m, section->offset);
        for (uint32_t i = 0; i < section->count; i++) net_add_io(net, output, io_of(net, m, &list[i]));
    }
    return net;
}

/* The same as values of a graph. */
static struct onnx_value **values_of(struct net *net, const struct net_io *list, uint32_t count) {
    struct onnx_value **values = net_alloc(net, (count + 1) * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = net_alloc(net, sizeof **values);
        values[i]->name = list[i].name;
        values[i]->shape.rank = (int)list[i].onnx_rank;
        for (uint32_t k = 0; k < list[i].onnx_rank; k++) values[i]->shape.dims[k] = list[i].onnx_dims[k];
    }
    return values;
}

static void free_strings(struct blob_extras *kept) {
    free((void *)(uintptr_t)kept->labels);
    free((void *)(uintptr_t)kept->metadata);
    kept->labels = NULL;
    kept->metadata = NULL;
}

static bool open_variants(struct edit *e, struct failure *failure) {
    e->count = network_variants(&e->network);
    e->models = must_calloc(e->count, sizeof *e->models);
    e->kept = must_calloc(e->count, sizeof *e->kept);
    e->c.sizes.count = e->count;
    e->c.nets = must_calloc(e->count, sizeof *e->c.nets);
    for (uint32_t k = 0; k < e->count; k++) {
        struct network network;
        if (!network_variant(&network, &e->network, k, failure)) return false;
        e->models[k] = network.model;
        network_close(&network);
        e->c.nets[k] = ends_of(&e->models[k]);
        if (!blob_extras_of(&e->models[k], e->count, &e->kept[k]) || e->kept[k].metadata_count > PAIRS_MOST)
            return failure_set(failure, STATUS_INPUT, "%s: its names, labels or rules lie as morsel does not write them", e->call.input);
        if (k) free_strings(&e->kept[k]); /* they are those of the first */
    }
    return true;
}

static bool open_blob(struct edit *e, struct failure *failure) {
    struct conversion *c = &e->c;
    struct network_call call = {.path = e->call.input, .blob_only = true};
    if (!network_open(&e->network, &call, failure) || !open_variants(e, failure)) return false;
    const struct blob_extras *kept = e->kept;
    struct net *net = c->net = c->nets[0];
    e->ends.inputs = values_of(net, net->inputs, net->input_count);
    e->ends.input_count = net->input_count;
    e->ends.outputs = values_of(net, net->outputs, net->output_count);
    e->ends.output_count = net->output_count;
    c->graph = &e->ends;
    c->extras = *kept;
    if (kept->picture) c->rule = *kept->picture;
    if (kept->picture) c->extras.picture = &c->rule;
    for (uint32_t i = kept->metadata_count; i--;) metadata_put(&c->metadata, kept->metadata[i].key, kept->metadata[i].value);
    return true;
}

/* --- What changes --- */

static void take_out(struct edit *e) {
    struct blob_extras *extras = &e->c.extras;
    if (e->without.picture) extras->picture = NULL;
    if (e->without.text) extras->text = NULL;
    if (e->without.labels) extras->label_count = 0;
    for (uint32_t k = 0; k < e->count; k++) {
        if (e->without.picture) e->kept[k].picture = NULL;
        if (e->without.answer) e->kept[k].answer = NULL;
    }
}

/* What stands behind the network for a text is a part of the network. */
static bool text_fits(struct edit *e, struct failure *failure) {
    struct conversion *c = &e->c;
    if (!e->call.text) return true;
    if (e->kept->text_words >= sizeof(struct morsel_blob_text) / 4)
        memcpy(c->text.words, e->kept->text, sizeof((struct morsel_blob_text *)0)->inputs);
    else if (c->text.pooling != TEXT_POOLING_NONE)
        return failure_set(failure, STATUS_INPUT,
                           "%s: pooling is a part of the network, which %s was made without: convert the ONNX file with --text",
                           e->call.text, e->call.input);
    return rules_text_inputs(&e->call, c, failure);
}

/* A rule's pooling brings the answer rule of a vector where the network has the pooling, and unless that rule is taken out. */
static void keep_answer(struct edit *e) {
    const struct net *net = e->c.net;
    const bool pooled = net->output_count && !strcmp(net->outputs[0].name, SENTENCE_OUTPUT);
    if (!e->call.answer && (e->without.answer || !pooled)) e->c.answer.record.kind = 0;
}

/* Labels and answer rule; where the blob's stays, labels are for its scores. */
static bool labels_fit(struct edit *e, struct failure *failure) {
    struct conversion_call call = e->call;
    struct conversion *c = &e->c;
    const struct morsel_blob_answer *kept = e->call.answer ? NULL : (const struct morsel_blob_answer *)(const void *)e->kept->answer;
    bool detects = kept && kept->kind == MORSEL_ANSWER_DETECTIONS;
    if (detects && call.labels && c->label_count > kept->classes)
        return failure_set(failure, STATUS_INPUT, "there are %zu labels, and output %u has scores of %u", c->label_count, kept->scores,
                           kept->classes);
    if (detects) call.labels = NULL;
    c->label_count = c->extras.label_count;
    return rules_fit(&call, c, failure);
}

static bool dress(struct edit *e, struct failure *failure) {
    struct rules_sizes sizes = {0};
    struct conversion *c = &e->c;
    bool good = rules_of_sizes(c, &sizes, failure);
    for (uint32_t k = 0; good && k < e->count; k++) {
        struct blob_extras *extras = &sizes.extras[k];
        if (!e->call.picture) extras->picture = e->kept[k].picture;
        if (e->call.answer || !e->kept[k].answer) continue; /* or that of a pooling */
        extras->answer = e->kept[k].answer;
        extras->answer_words = e->kept[k].answer_words;
    }
    if (good) c->blob = blob_dress(e->network.blob.data, e->models->blob_bytes, e->count, sizes.extras, &c->blob_bytes);
    rules_sizes_free(c, &sizes);
    return !good || c->blob ||
           failure_set(failure, STATUS_INPUT, "%s: it lies as morsel does not write it, or would take more than 2^31 bytes", e->call.input);
}

static bool edit(struct edit *e, const char *input, struct failure *failure) {
    struct file_new files[CONVERSION_FILES];
    struct conversion *c = &e->c;
    e->call.input = input;
    e->call.in_place = true;
    if (!conversion_check_files(&e->call, c, NULL, failure) || !open_blob(e, failure)) return false;
    take_out(e);
    if (!rules_read(&e->call, c, failure)) return false;
    keep_answer(e);
    return conversion_sources_stay(&e->call, c, failure) && text_fits(e, failure) && labels_fit(e, failure) && dress(e, failure) &&
           c->blob && conversion_finish(&e->call, c, failure) && file_write_all(files, conversion_files(&e->call, c, files), failure);
}

/* --- What came of it --- */

static void print_json(const struct conversion *c, const struct morsel_model *model) {
    struct json json = {.file = stdout};
    const struct morsel_blob_header *h = morsel_blob_header(model);
    json_open(&json, NULL);
    json_integer(&json, "blob_bytes", (int64_t)c->blob_bytes);
    json_integer(&json, "format_version", h->format_version);
    json_integer(&json, "labels", h->labels.count);
    json_bool(&json, "picture", h->picture.count);
    json_bool(&json, "text", c->extras.text);
    json_bool(&json, "answer", morsel_has_answer(h));
    json_open(&json, "metadata");
    for (uint32_t i = 0; i < c->metadata.count; i++) json_text(&json, c->metadata.list[i].key, c->metadata.list[i].value);
    json_close(&json);
    json_open_array(&json, "notices");
    message_notices_json(&json);
    json_close_array(&json);
    json_close(&json);
}

static void print_text(const struct edit *e, const struct morsel_model *model) {
    const struct conversion *c = &e->c;
    const struct morsel_blob_header *h = morsel_blob_header(model);
    message_print("%s\n", e->call.output);
    message_print("  blob bytes   %zu\n", c->blob_bytes);
    message_print("  labels       %u\n", h->labels.count);
    message_print("  rules       %s%s%s%s\n", h->picture.count ? " picture" : "", c->extras.text ? " text" : "",
                  morsel_has_answer(h) ? " answer" : "", h->picture.count || c->extras.text || morsel_has_answer(h) ? "" : " none");
    for (uint32_t i = 0; i < c->metadata.count; i++) message_print("  %s = %s\n", c->metadata.list[i].key, c->metadata.list[i].value);
    conversion_summary_c(&e->call, c);
}

static int run(struct edit *e, const char *input) {
    struct failure failure = {0};
    if (!edit(e, input, &failure)) return message_failure(&failure);
    struct morsel_model model = {.blob = e->c.blob};
    conversion_notices(&e->c);
    if (e->call.json) print_json(&e->c, &model);
    else print_text(e, &model);
    return message_flush();
}

static void edit_free(struct edit *e) {
    for (uint32_t k = 0; e->kept && k < e->count; k++) free_strings(&e->kept[k]);
    e->c.graph = NULL; /* it is no graph of its own */
    if (e->network.kind) network_close(&e->network);
    free(e->kept);
    free(e->models);
    conversion_free(&e->c);
}

/* "" takes a part out. */
static void read_without(const char **path, bool *without, bool *any) {
    *without = *path && !**path;
    if (*path) *any = true;
    if (*without) *path = NULL;
}

int verb_edit(int argc, char **argv) {
    static struct edit e;
    struct conversion_call *call = &e.call;
    const struct option list[] = {
        {"-o", "OUT.morsel", OPTION_TEXT, &call->output, 0, 0, "where the blob goes (required); it may be MODEL itself"},
        {"--set", "KEY=VALUE", OPTION_TEXTS, &call->set, 0, 0,
         "what the blob says of itself, as version=3; KEY= takes the pair out; may be given several times"},
        {"--labels", "FILE", OPTION_TEXT, &call->labels, 0, 0, "class names: one a line, or a JSON array"},
        {"--picture", "RULE.json", OPTION_TEXT, &call->picture, 0, 0, "how a picture (image) becomes the input: preprocessing"},
        {"--text", "RULE.json", OPTION_TEXT, &call->text, 0, 0, "how a text becomes the input; pooling stays as the network has it"},
        {"--answer", "RULE.json", OPTION_TEXT, &call->answer, 0, 0, "what the outputs mean: postprocessing"},
        {"--c", "FILE.c", OPTION_TEXT, &call->c_source, 0, 0, "also write the files that convert --c writes"},
        {"--json", NULL, OPTION_FLAG, &call->json, 0, 0, "one JSON object on stdout"},
    };
    const struct options options = {
        .usage = "MODEL.morsel -o OUT.morsel [options]",
        .summary = "the same network with other labels, rules or metadata",
        .about =
            "Changes what a blob has beside its network: labels, rules, and pairs of a key and a value that say what it is. The network "
            "stays, and its answers. The bytes are those that convert gives with the same options. \"\" in the place of a file takes "
            "labels or a rule out.",
        .list = list,
        .count = sizeof list / sizeof *list,
        .examples = {{"morsel edit food.morsel -o food.morsel --set version=3 --set licence=MIT", "read by morsel_metadata()"},
                     {"morsel edit food.morsel -o essen.morsel --labels german.txt", "the same classes in other words"},
                     {"morsel edit food.morsel -o bare.morsel --picture \"\"", "without its picture rule"}},
    };
    int count = options_parse(&options, argc, argv);
    if (count < 0) return count == OPTIONS_HELP ? STATUS_DONE : STATUS_CALL;
    bool any = call->set.count || call->c_source;
    read_without(&call->labels, &e.without.labels, &any);
    read_without(&call->picture, &e.without.picture, &any);
    read_without(&call->text, &e.without.text, &any);
    read_without(&call->answer, &e.without.answer, &any);
    if (count != 1 || !call->output || !any) {
        message_error("edit: %s: morsel edit MODEL.morsel -o OUT.morsel --set version=3; see morsel edit --help",
                      count < 1       ? "the blob is missing"
                      : count > 1     ? "one blob at a time"
                      : !call->output ? "-o OUT.morsel is missing"
                                      : "nothing is to change");
        return STATUS_CALL;
    }
    int status = run(&e, argv[0]);
    edit_free(&e);
    return status;
}
