/* SPDX-License-Identifier: MIT */
/* From an ONNX file to a blob on the disk, as two verbs do it. */
#include "tools/verbs/host/conversion.h"
#include "core/blob.h"
#include "tools/network/host/extras.h"
#include "tools/network/network.h"
#include "tools/verbs/host/convert_report.h"
#include "tools/verbs/host/conversion_rules.h"
#include "tools/float/executor.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"
#include "tools/optimize/sentence.h"
#include "tools/lower/half.h"
#include "tools/lower/rows.h"
#include "tools/lower/lower.h"
#include "tools/net/memory.h"
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include "tools/samples/rules/picture_rule.h"
#include "tools/net/plan/plan.h"

#include "core/morsel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void drop_blob(struct conversion *c) {
    for (uint32_t k = 0; c->nets && k < c->sizes.count; k++) net_free(c->nets[k]);
    for (uint32_t k = 0; c->graphs && k < c->sizes.count; k++) onnx_free(c->graphs[k]);
    free(c->nets);
    free(c->graphs);
    c->nets = NULL;
    c->graphs = NULL;
    free(c->blob);
    for (int k = 0; k < BLOB_C_COUNT; k++) {
        free(c->c_files[k].text);
        c->c_files[k].text = NULL;
    }
    c->net = NULL;
    c->blob = NULL;
}

void conversion_free(struct conversion *c) {
    drop_blob(c);
    onnx_free(c->graph);
    onnx_report_free(&c->report);
    labels_free(c->labels, c->label_count);
    text_rule_free(&c->text);
    answer_rule_free(&c->answer);
    metadata_free(&c->metadata);
    sizes_free(&c->sizes);
    for (int k = 0; k < BLOB_C_COUNT; k++) free(c->c_files[k].path);
    free(c->ends);
}

const char *conversion_label(const void *conversion, uint32_t index) {
    const struct conversion *c = conversion;
    return index < c->label_count ? c->labels[index] : NULL;
}

/* What only the executor computes of constants may be a shape, too. */
static bool infer(struct onnx_graph *graph, struct onnx_report *report, struct failure *failure) {
    if (!onnx_infer(graph, report, failure)) return false;
    if (report->refusal_count || !executor_fold(graph)) return true;
    edit_clean(graph);
    return onnx_infer(graph, report, failure);
}

static bool bind(const struct conversion_call *call, const struct conversion *c, uint32_t variant, struct onnx_graph *graph,
                 struct onnx_report *report, struct failure *failure) {
    const struct sizes *sizes = &c->sizes;
    const struct onnx_binding *bindings = sizes->bindings + variant * sizes->binding_count;
    return (onnx_bind(graph, bindings, sizes->binding_count, call->batch, report, failure) && infer(graph, report, failure) &&
            extras_shape_answer(graph, &c->answer, report, failure)) ||
           failure_prefix(failure, call->input);
}

struct onnx_graph *conversion_open(const struct conversion_call *call, struct onnx_report *report, struct failure *failure) {
    const struct onnx_names_given inputs = {call->input_nodes.values, (size_t)call->input_nodes.count},
                                  outputs = {call->output_nodes.values, (size_t)call->output_nodes.count};
    struct onnx_graph *graph = extras_load(call->input, failure);
    if (!graph || onnx_cut(graph, &inputs, &outputs, report, failure)) return graph;
    failure_prefix(failure, call->input);
    onnx_free(graph);
    return NULL;
}

struct onnx_graph *conversion_load(const struct conversion_call *call, const struct conversion *c, uint32_t variant,
                                   struct onnx_report *report, struct failure *failure) {
    struct onnx_graph *graph = conversion_open(call, report, failure);
    if (graph && bind(call, c, variant, graph, report, failure)) return graph;
    onnx_free(graph);
    return NULL;
}

/* Whether a batch of 1, which was asked for, is that of any input. */
static bool batch_is_one(const struct onnx_graph *graph, struct failure *failure) {
    const struct onnx_value *fixed = NULL;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct onnx_value *input = graph->inputs[i];
        if (input->shape.rank > 0 && input->shape.dims[0] == 1) return true;
        if (!fixed && input->shape.rank > 1) fixed = input;
    }
    return !fixed || failure_set(failure, STATUS_CALL,
                                 "--batch 1: the file fixes the first dimension of input '%.200s' at %lld; --shape %.200s=1,... changes it",
                                 fixed->name, (long long)fixed->shape.dims[0], fixed->name);
}

static bool bind_first(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    if (!bind(call, c, 0, c->graph, &c->report, failure)) return false;
    if (call->batch == 1 && !c->sizes.binding_count) extras_check_batch(c->graph, &c->report);
    return !call->one_said || batch_is_one(c->graph, failure);
}

static bool read_sizes(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    char text[256];
    if (!sizes_read(&call->shapes, &call->dims, &c->sizes, failure)) return false;
    return !call->one_size || c->sizes.count == 1 ||
           failure_set(failure, STATUS_CALL, "--dim with several numbers is for convert and quantize; here one is wanted, as --dim %s",
                       sizes_text(&c->sizes, 0, text, sizeof text));
}

/* A file that stands there already is written over only where it was made by --c. */
static bool is_ours(const char *path, struct failure *failure) {
    char start[sizeof BLOB_C_MARK] = "";
    FILE *file = fopen(path, "rb");
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return true;
    if (!file) return failure_set(failure, failure_status(errno), "cannot read %s: %s", path, strerror(errno));
    size_t got = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    return !got || !strcmp(start, BLOB_C_MARK) ||
           failure_set(failure, STATUS_CALL, "%s stands beside the file of --c and was not written by it; name another FILE.c", path);
}

/* The others go beside the source, unless that is a device. */
static bool name_c_files(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    struct stat status = {0};
    bool device = call->c_source && !stat(call->c_source, &status) && !S_ISREG(status.st_mode);
    for (int k = 0; call->c_source && k < (device ? 1 : BLOB_C_COUNT); k++) {
        c->c_files[k].path = blob_c_path((enum blob_c)k, call->c_source);
        if (!c->c_files[k].path) return failure_memory(failure, strlen(call->c_source));
        if (k != BLOB_C_SOURCE && !is_ours(c->c_files[k].path, failure)) return false;
    }
    return true;
}

const char *conversion_written(const struct conversion_call *call, const struct conversion *c, size_t index) {
    if (index < BLOB_C_COUNT) return c->c_files[index].path;
    return index == BLOB_C_COUNT ? call->output : c->more;
}

/* What is written is none of what is read, and each is a file of its own. */
static bool files_differ(const struct conversion_call *call, const struct conversion *c, struct failure *failure) {
    const char *read[] = {call->input, call->picture, call->text, call->answer, call->labels};
    for (size_t i = 0; i < CONVERSION_WRITTEN; i++) {
        const char *written = conversion_written(call, c, i);
        for (int r = call->in_place && written == call->output; r < 5; r++)
            if (file_same(written, read[r]))
                return failure_set(failure, STATUS_CALL, "%s would be written over: it is read as well; name another output", read[r]);
        for (size_t k = 0; k < i; k++)
            if (file_same(conversion_written(call, c, k), written))
                return failure_set(failure, STATUS_CALL, "%s name the same file: %s",
                                   k < BLOB_C_COUNT && written == call->output ? "-o and --c" : "two outputs", written);
    }
    return true;
}

static bool ends_in(const char *text, const char *ending) {
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && !strcmp(text + a - b, ending);
}

/* A file whose name says that it is something else. */
static bool names_fit(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    const char *output = call->output, *slash = output ? strrchr(output, '/') : NULL, *source = call->c_source;
    const char *dot = output ? strrchr(slash ? slash : output, '.') : NULL;
    if (output && ends_in(output, ".onnx"))
        return failure_set(failure, STATUS_CALL, "-o %s: what is written is a blob, not ONNX; name it %.*s.morsel", output,
                           (int)(strlen(output) - 5), output);
    if (dot && strcmp(dot, ".morsel"))
        onnx_notice(&c->report, "%s gets a blob, whatever its name says; blobs' names end in .morsel", output);
    static const char *const other[] = {".h", ".hpp", ".cpp", ".cc", ".cxx"};
    for (size_t i = 0; source && i < sizeof other / sizeof *other; i++)
        if (ends_in(source, other[i]))
            return failure_set(failure, STATUS_CALL, "--c %s: name the C file, FILE.c; FILE.h is written beside it", source);
    return true;
}

static bool can_write(const struct conversion_call *call, const struct conversion *c, struct failure *failure) {
    for (size_t i = 0; i < CONVERSION_WRITTEN; i++)
        if (!file_can_write(conversion_written(call, c, i), failure)) return false;
    return true;
}

bool conversion_check_files(const struct conversion_call *call, struct conversion *c, const char *more, struct failure *failure) {
    c->more = more;
    return memory_call_fits(call->arena, call->no_streaming, failure) && names_fit(call, c, failure) && name_c_files(call, c, failure) &&
           files_differ(call, c, failure) && can_write(call, c, failure);
}

/* The library itself has the last word on what was written; and what the tool would not tell, it does not write. */
static bool check_blob(struct conversion *c, struct failure *failure) {
    struct morsel_model models[2]; /* of the blob, and of one of its sizes */
    const struct morsel_model *last = models;
    char part[32];
    enum morsel_error error = morsel_open(&models[0], c->blob, c->blob_bytes, 0);
    bool fits = error || blob_strings_fit(last, c->sizes.count);
    for (uint32_t k = 1; !error && fits && k < c->sizes.count; k++) {
        error = morsel_open_variant(&models[1], &models[0], k, 0), last = &models[1];
        fits = error || blob_strings_fit(last, c->sizes.count);
    }
    if (!fits) return failure_set(failure, STATUS_INPUT, "the names of nodes are too long for a blob that small: --strip leaves them out");
    if (error == MORSEL_ERR_PICTURE) return extras_rule_misfits(&c->rule, c->graph, failure);
    if (error == MORSEL_ERR_ANSWER)
        return failure_set(failure, STATUS_INPUT,
                           "the answer rule does not go with the outputs as they lie in memory: their order is another");
    if (error)
        return failure_set(failure, STATUS_SYSTEM,
                           "the blob that was made does not open (%s%s): this is a fault of morsel, please report it",
                           network_part_at_fault(last, part, sizeof part), morsel_error_text(error));
    return rules_text_table(models, c, failure);
}

bool conversion_reads(const struct conversion *c, const char *path) {
    for (size_t i = 0; c->graph && i < c->graph->file_count; i++)
        if (file_same(path, c->graph->files[i])) return true;
    return file_same(path, c->answer.anchors_path) || file_same(path, c->text.tokenizer);
}

bool conversion_sources_stay(const struct conversion_call *call, const struct conversion *c, struct failure *failure) {
    for (size_t i = 0; i < CONVERSION_WRITTEN; i++) {
        const char *written = conversion_written(call, c, i), *what = "weights";
        if (!conversion_reads(c, written)) continue;
        if (file_same(written, c->answer.anchors_path)) what = "anchors";
        if (file_same(written, c->text.tokenizer)) what = "the tokenizer";
        return failure_set(failure, STATUS_CALL, "%s would be written over: it holds %s of %s; name another output", written, what,
                           call->input);
    }
    return true;
}

bool conversion_read(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    if (!read_sizes(call, c, failure)) return false;
    c->graph = conversion_open(call, &c->report, failure);
    return c->graph && rules_read(call, c, failure) && conversion_sources_stay(call, c, failure) && bind_first(call, c, failure) &&
           rules_fit(call, c, failure);
}

bool conversion_fits(const struct conversion_call *call, struct net *net, struct failure *failure) {
    uint32_t tensors = 0;
    plan_drop_dead_steps(net);
    for (uint32_t i = 0; i < net->buffer_count; i++) tensors += net->buffers[i]->used;
    const struct {
        const char *what;
        uint32_t count, most;
    } limits[] = {{"steps", net->step_count, MORSEL_FORMAT_MAX_STEPS},
                  {"tensors", tensors, MORSEL_FORMAT_MAX_TENSORS},
                  {"inputs", net->input_count, MORSEL_FORMAT_MAX_IO},
                  {"outputs", net->output_count, MORSEL_FORMAT_MAX_IO}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].count > limits[i].most)
            return failure_set(failure, STATUS_INPUT, "%s: the network comes to %u %s, and a blob holds %u: cut it into several networks",
                               call->input, limits[i].count, limits[i].what, limits[i].most);
    return true;
}

/* The arena; before that the one that was not asked for, to tell what streaming saves. */
static bool plan(const struct conversion_call *call, struct net *net, uint32_t *other_arena, struct failure *failure) {
    net->arena_room = (uint32_t)call->arena;
    net->fast_room = (uint32_t)call->arena_fast;
    net->no_streaming = !call->no_streaming;
    if (other_arena) *other_arena = plan_arena(net) ? net->arena_bytes : 0;
    net->no_streaming = call->no_streaming;
    return plan_arena(net) || failure_set(failure, STATUS_INPUT, "%s: its arena would take more than 2^31 bytes", call->input);
}

/* The vectors of tokens become one, where the text rule says so. */
static bool pool(const struct conversion_call *call, const struct conversion *c, struct onnx_graph *graph, struct failure *failure) {
    if (!call->text || c->text.pooling == TEXT_POOLING_NONE) return true;
    enum sentence_pooling pooling = c->text.pooling == TEXT_POOLING_MEAN ? SENTENCE_MEAN : SENTENCE_FIRST;
    return sentence_pool(graph, pooling, c->text.normalize, failure) || failure_prefix(failure, call->text);
}

/* Steps of a variant. */
static bool make_net(const struct conversion_call *call, struct conversion *c, uint32_t variant, struct onnx_graph *graph,
                     struct onnx_report *report, struct failure *failure) {
    if (!pool(call, c, graph, failure)) return false;
    graph_decompose(graph, report);
    if (graph_outgrown(graph)) return false;
    struct net *net = c->nets[variant] = lower(graph, report);
    if (!net || report->refusal_count) return false;
    if (call->half) half_net(net, report);
    return true;
}

/* Arenas of all variants. One that is to be small has no room for the floats that rows between bytes want. */
static bool plan_nets(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    if (!call->arena) rows_change(c->nets, (uint32_t)c->sizes.count);
    for (uint32_t k = 0; k < c->sizes.count; k++)
        if (!conversion_fits(call, c->nets[k], failure) || !plan(call, c->nets[k], k ? NULL : &c->other_arena, failure)) return false;
    return true;
}

/* Apps find inputs and outputs by their numbers. */
static bool same_ends(const struct conversion_call *call, const struct conversion *c, uint32_t variant, struct failure *failure) {
    const struct net *a = c->net, *b = c->nets[variant];
    bool same = a->input_count == b->input_count && a->output_count == b->output_count;
    for (uint32_t i = 0; same && i < a->input_count; i++) same = !strcmp(a->inputs[i].name, b->inputs[i].name);
    char text[256];
    return same || failure_set(failure, STATUS_INPUT, "%s: with %s it has other inputs or outputs: convert it by itself", call->input,
                               sizes_text(&c->sizes, variant, text, sizeof text));
}

/* What there is to notice was told of the first; refusals take its place. */
static bool make_variant(const struct conversion_call *call, struct conversion *c, uint32_t variant, struct failure *failure) {
    struct onnx_report report = {0};
    char text[256];
    struct onnx_graph *graph = c->graph_of ? c->graph_of(c->graph_context, call, c, variant, &report, failure)
                                           : conversion_load(call, c, variant, &report, failure);
    c->graphs[variant] = graph;
    bool good = graph && make_net(call, c, variant, graph, &report, failure) && same_ends(call, c, variant, failure);
    if (report.refusal_count) {
        onnx_report_free(&c->report);
        c->report = report;
        onnx_notice(&c->report, "it is the network with %s that is not taken", sizes_text(&c->sizes, variant, text, sizeof text));
        c->kept_notices = 0;
        return false;
    }
    onnx_report_free(&report);
    return good;
}

bool conversion_make(const struct conversion_call *call, struct conversion *c, struct onnx_graph *graph, struct failure *failure) {
    drop_blob(c);
    while (c->made && c->report.notice_count > c->kept_notices) free(c->report.notices[--c->report.notice_count]);
    c->kept_notices = c->report.notice_count;
    c->made = true;
    c->nets = must_calloc(c->sizes.count, sizeof *c->nets);
    c->graphs = must_calloc(c->sizes.count, sizeof *c->graphs);
    bool good = make_net(call, c, 0, graph, &c->report, failure);
    c->net = c->nets[0];
    if (!good || !rules_text_inputs(call, c, failure)) return false;
    for (uint32_t k = 1; k < c->sizes.count; k++)
        if (!make_variant(call, c, k, failure)) return false;
    return plan_nets(call, c, failure) && rules_write(c, failure) && conversion_finish(call, c, failure);
}

bool conversion_finish(const struct conversion_call *call, struct conversion *c, struct failure *failure) {
    if (!check_blob(c, failure)) return false;
    for (int k = 0; k < BLOB_C_COUNT; k++) {
        struct c_file *file = &c->c_files[k];
        if (!file->path) continue;
        file->text = blob_c_text((enum blob_c)k, c->blob, c->blob_bytes, call->c_source, call->output, &file->length);
        if (!file->text) return failure_memory(failure, c->blob_bytes * 5);
    }
    return true;
}

size_t conversion_files(const struct conversion_call *call, const struct conversion *c, struct file_new *files) {
    size_t count = 1;
    files[0] = (struct file_new){call->output, c->blob, c->blob_bytes};
    for (int k = 0; k < BLOB_C_COUNT; k++)
        if (c->c_files[k].text) files[count++] = (struct file_new){c->c_files[k].path, c->c_files[k].text, c->c_files[k].length};
    return count;
}

/* Steps that stand in groups. */
static uint32_t streaming_steps(const struct net *net) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < net->group_count; g++) count += net->groups[g].step_count;
    return count;
}

/* What of the arena is in fast memory. */
static uint32_t fast_most(const struct conversion *c) {
    uint32_t most = 0;
    for (uint32_t k = 0; k < c->sizes.count; k++)
        if (c->nets[k]->fast_bytes > most) most = c->nets[k]->fast_bytes;
    return most;
}

uint32_t conversion_arena(const struct conversion *c) {
    uint32_t slow = 0;
    for (uint32_t k = 0; k < c->sizes.count; k++)
        if (c->nets[k]->arena_bytes - c->nets[k]->fast_bytes > slow) slow = c->nets[k]->arena_bytes - c->nets[k]->fast_bytes;
    return slow + fast_most(c);
}

/* Each by what is particular to it. */
static void variants_json(struct json *json, const struct conversion *c) {
    const struct sizes *sizes = &c->sizes;
    json_open_array(json, "variants");
    for (uint32_t k = 0; k < sizes->count; k++) {
        json_open_flat(json, NULL);
        for (size_t i = 0; i < sizes->binding_count; i++) {
            const struct onnx_binding *b = &sizes->bindings[k * sizes->binding_count + i];
            if (sizes->listed[i]) json_integer(json, b->name, b->shape.dims[0]);
        }
        json_integer(json, "layers", c->nets[k]->step_count);
        json_integer(json, "macs", (int64_t)net_macs(c->nets[k]));
        json_integer(json, "arena_bytes", c->nets[k]->arena_bytes);
        json_close(json);
    }
    json_close_array(json);
}

void conversion_json(struct json *json, const struct conversion *c) {
    bool done = c->net && !c->report.refusal_count;
    if (done) {
        json_integer(json, "layers", c->net->step_count);
        json_integer(json, "macs", (int64_t)net_macs(c->net));
        json_integer(json, "params", (int64_t)c->net->parameter_count);
        json_integer(json, "blob_bytes", (int64_t)c->blob_bytes);
        json_integer(json, "arena_bytes", conversion_arena(c));
        json_integer(json, "arena_fast_bytes", fast_most(c));
        json_integer(json, c->net->no_streaming ? "arena_bytes_streaming" : "arena_bytes_no_streaming", c->other_arena);
        json_integer(json, "groups", c->net->group_count);
        json_integer(json, "streaming_steps", streaming_steps(c->net));
        if (c->sizes.count > 1) variants_json(json, c);
    }
    json_open_array(json, "notices");
    message_notices_json(json);
    for (size_t i = 0; !c->told && i < c->report.notice_count; i++) json_text(json, NULL, c->report.notices[i]);
    json_close_array(json);
    json_open_array(json, "refused");
    for (size_t i = 0; i < c->report.refusal_count; i++) {
        const struct onnx_refusal *r = &c->report.refusals[i];
        json_open(json, NULL);
        json_text(json, "node", r->node);
        json_text(json, "op", r->op);
        json_integer(json, "opset", r->opset);
        json_text(json, "shape", r->shapes);
        json_text(json, "why", r->why);
        json_close(json);
    }
    json_close_array(json);
    if (c->ends) json_text(json, "cut_off", c->ends);
}

void conversion_notices(struct conversion *c) {
    c->told = true;
    report_notices(&c->report);
    if (!c->net) return;
    memory_notice(c->net->arena_room, conversion_arena(c));
    memory_notice_fast(c->net->fast_room, fast_most(c));
}

/* What streams, and what the arena is without that, or with it. */
static void print_streaming(const struct conversion *c) {
    const struct net *net = c->net;
    if (net->group_count)
        message_print("  streaming    %u of the layers, in %u group%s", streaming_steps(net), net->group_count,
                      net->group_count > 1 ? "s" : "");
    else message_print("  streaming    none%s", net->no_streaming ? ", as asked" : "");
    if (c->other_arena && (net->group_count || net->no_streaming))
        message_print("; with%s it the arena takes %u bytes", net->no_streaming ? "" : "out", c->other_arena);
    message_print("%s\n", c->other_arena ? "" : "; without it the arena takes more than 2^31 bytes");
}

static void print_variants(const struct conversion *c) {
    char text[256];
    for (uint32_t k = 0; k < c->sizes.count; k++)
        message_print("  variant %-4u %s: %u layers, %.2f M MACs, arena %u bytes\n", k, sizes_text(&c->sizes, k, text, sizeof text),
                      c->nets[k]->step_count, (double)net_macs(c->nets[k]) / 1e6, c->nets[k]->arena_bytes);
}

void conversion_summary(const struct conversion_call *call, const struct conversion *c) {
    uint32_t live, peak = plan_peak(c->net, &live);
    message_print("%s\n", call->output);
    message_print("  layers       %u\n", c->net->step_count);
    message_print("  MACs         %.2f M\n", (double)net_macs(c->net) / 1e6);
    message_print("  parameters   %.3f M\n", (double)c->net->parameter_count / 1e6);
    message_print("  blob bytes   %zu\n", c->blob_bytes);
    message_print("  arena bytes  %u", c->net->arena_bytes);
    if (c->net->step_count) message_print("  (%u live at step %u, %s)", live, peak, c->net->steps[peak]->name);
    message_print("\n");
    if (fast_most(c)) message_print("  fast memory  %u of these bytes; %u beside it\n", fast_most(c), conversion_arena(c) - fast_most(c));
    print_streaming(c);
    if (c->sizes.count > 1) print_variants(c);
    conversion_summary_c(call, c);
}

void conversion_summary_c(const struct conversion_call *call, const struct conversion *c) {
    const struct c_file *files = c->c_files;
    if (!files[BLOB_C_HEADER].path) return;
    message_print("%s, %s\n  the blob as %s, and what declares it and the size of its arena\n", call->c_source, files[BLOB_C_HEADER].path,
                  blob_c_assembly(call->c_source) ? "assembly" : "a C array");
    message_print("%s, %s\n  the kinds of its steps, for apps that link no others\n", files[BLOB_C_USE_SOURCE].path,
                  files[BLOB_C_USE_HEADER].path);
}
