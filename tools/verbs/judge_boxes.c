/* SPDX-License-Identifier: MIT */
/* Runs a detector over pictures, pairs what it finds with what is there, and counts. */
#include "tools/verbs/judge_boxes.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/message.h"
#include "tools/network/each.h"
#include "tools/network/found.h"
#include "tools/samples/box_labels.h"
#include "tools/verbs/answers.h"
#include "tools/verbs/judge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float least_p = 0.001F; /* from where on AP counts, as usual for detectors */

/* One network over all pictures: that which is judged, or that whose boxes are wanted. */
struct pass {
    const struct judge *judge;
    struct network network; /* with a rule of its own */
    struct network_run **runs;
    struct morsel_box **rooms; /* [workers] */
    uint32_t room, batch;
    bool wanted;
};

static bool put_image(const struct pass *pass, struct network_run *run, size_t index, uint32_t slot, struct found_in *in,
                      struct failure *failure) {
    struct image image;
    if (!dataset_image(&pass->judge->dataset, index, &image, failure)) return false;
    *in = (struct found_in){slot, image.width, image.height};
    const struct dataset_item *item = &pass->judge->dataset.items[index];
    bool good = network_picture(run, &image, slot, failure) || failure_prefix(failure, item->path ? item->path : item->binary);
    image_free(&image);
    return good;
}

/* Labels are shares of the sides until a picture tells how long these are. */
static void keep(const struct pass *pass, size_t index, const struct found_in *in, const struct morsel_box *boxes, uint32_t count) {
    struct judge_boxes_picture *picture = &pass->judge->boxes->pictures[index];
    struct morsel_box **to = pass->wanted ? &picture->wanted : &picture->found;
    uint32_t *kept = pass->wanted ? &picture->wanted_count : &picture->found_count;
    *to = must_calloc(count + 1, sizeof **to);
    for (uint32_t i = 0; i < count; i++)
        if (boxes[i].index < pass->judge->boxes->classes) (*to)[(*kept)++] = boxes[i]; /* some heads tell any number */
    if (pass->wanted || pass->judge->boxes->against) return;
    for (uint32_t i = 0; i < picture->wanted_count; i++) {
        struct morsel_box *box = &picture->wanted[i];
        box->x0 *= (float)in->width, box->x1 *= (float)in->width;
        box->y0 *= (float)in->height, box->y1 *= (float)in->height;
    }
}

/* One run; a last batch that is not full repeats its last picture. */
static bool pass_task(void *context, unsigned worker, size_t task, struct failure *failure) {
    const struct pass *pass = context;
    const size_t first = task * pass->batch, left = pass->judge->dataset.count - first;
    const uint32_t used = left < pass->batch ? (uint32_t)left : pass->batch;
    struct network_run *run = pass->runs[worker];
    struct found_in *in = must_calloc(pass->batch, sizeof *in);
    bool good = true;
    for (uint32_t i = 0; good && i < pass->batch; i++) good = put_image(pass, run, first + (i < used ? i : used - 1), i, &in[i], failure);
    good = good && network_compute(run, NULL, NULL, failure);
    for (uint32_t i = 0, count; good && i < used; i++) {
        good = found_boxes(run, &in[i], pass->rooms[worker], pass->room, &count, failure);
        if (good) keep(pass, first + i, &in[i], pass->rooms[worker], count);
    }
    free(in);
    return good;
}

/* The network's rule, for free(), whose anchors lie behind it. */
static struct morsel_blob_answer *own_rule(struct network *network, float threshold) {
    const struct morsel_blob_answer *from = network->answer;
    const size_t bytes = sizeof *from + (size_t)from->anchors * 4 * sizeof(float);
    struct morsel_blob_answer *rule = must_calloc(1, bytes);
    memcpy(rule, from, bytes);
    if (rule->threshold > threshold) rule->threshold = threshold;
    network->answer = rule;
    return rule;
}

static bool run_pass(struct judge *judge, const struct network *network, bool wanted, struct failure *failure) {
    struct pass pass = {.judge = judge, .network = *network, .batch = network_images(network), .wanted = wanted};
    struct morsel_blob_answer *rule = own_rule(&pass.network, wanted ? INFINITY : least_p);
    const size_t tasks = (judge->dataset.count + pass.batch - 1) / pass.batch;
    bool good = true;
    pass.room = answers_room(&pass.network);
    pass.runs = must_calloc(judge->worker_count, sizeof *pass.runs);
    pass.rooms = must_calloc(judge->worker_count, sizeof *pass.rooms);
    for (unsigned i = 0; good && i < judge->worker_count; i++) {
        pass.rooms[i] = must_calloc(pass.room, sizeof **pass.rooms);
        good = (pass.runs[i] = network_run_open(&pass.network, failure)) != NULL;
    }
    const double start = clock_seconds();
    good = good && each(tasks, judge->worker_count, wanted ? "pictures in float" : "pictures", pass_task, &pass, failure);
    judge->seconds = clock_seconds() - start;
    if (good) snprintf(judge->isa, sizeof judge->isa, "%s", network_isa(pass.runs[0]));
    for (unsigned i = 0; i < judge->worker_count; i++) {
        network_run_close(pass.runs[i]);
        free(pass.rooms[i]);
    }
    free(pass.runs);
    free(pass.rooms);
    free(rule);
    return good;
}

/* --- Data ----------------------------------------------------------------------------------------------------------- */

/* As evenly over all as can be. */
static void take_some(struct dataset *dataset, size_t limit) {
    if (!limit || limit >= dataset->count) return;
    size_t kept = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        const bool take = kept < limit && i == kept * dataset->count / limit;
        if (take) dataset->items[kept++] = dataset->items[i];
        else free(dataset->items[i].path);
    }
    dataset->count = kept;
}

/* Networks with a background count classes from 1 on, and data sets often from 0 on: no box would be right. */
static bool none_is_background(const struct judge *judge, const struct box_labels *labels, const char *path, struct failure *failure) {
    for (size_t i = 0; judge->network.answer->flags & MORSEL_ANSWER_BACKGROUND && i < labels->count; i++)
        if (!labels->list[i].class)
            return failure_set(failure, STATUS_INPUT, "%s: its labels have class 0, the background by the answer rule: classes begin at 1",
                               path);
    return true;
}

static bool read_labels(struct judge *judge, size_t index, struct failure *failure) {
    struct judge_boxes *boxes = judge->boxes;
    struct judge_boxes_picture *picture = &boxes->pictures[index];
    struct box_labels labels = {0};
    const char *path = judge->dataset.items[index].path;
    const bool good =
        !path || (box_labels_read(&labels, path, boxes->classes, failure) && none_is_background(judge, &labels, path, failure));
    picture->wanted = must_calloc(labels.count + 1, sizeof *picture->wanted);
    for (size_t i = 0; good && i < labels.count; i++) {
        const struct box_label *from = &labels.list[i];
        picture->wanted[i] = (struct morsel_box){(float)from->x0, (float)from->y0, (float)from->x1, (float)from->y1, 1, from->class, 0};
    }
    picture->wanted_count = (uint32_t)labels.count;
    boxes->unlabelled += !labels.there;
    box_labels_free(&labels);
    return good;
}

static bool open_labels(struct judge *judge, const char *data, struct failure *failure) {
    const size_t count = judge->dataset.count;
    for (size_t i = 0; i < count; i++)
        if (!read_labels(judge, i, failure)) return false;
    if (judge->boxes->unlabelled == count)
        return failure_set(failure, STATUS_INPUT,
                           "%s: no picture has boxes: NAME.txt beside NAME.jpg, in labels/ there, or in labels/ for images/, with lines "
                           "\"class x y width height\"; without any, --against FLOAT.onnx takes the boxes of that network",
                           data);
    if (judge->boxes->unlabelled)
        message_notice("%zu of %zu pictures have no file of labels: they count as showing nothing", judge->boxes->unlabelled, count);
    return true;
}

static bool open_against(struct judge *judge, const struct judge_call *call, struct failure *failure) {
    struct network_call against = {.path = call->against, .answer = call->against_answer, .rule = judge->network.picture};
    judge->boxes->against = call->against;
    struct network *network = &judge->against;
    if (!network_open(network, &against, failure)) return false;
    if (found_kind(network) != MORSEL_ANSWER_DETECTIONS)
        return failure_set(failure, STATUS_CALL, "--against %s: which of its outputs are boxes is told by --answer RULE.json",
                           call->against);
    if (network->input_count != 1)
        return failure_set(failure, STATUS_INPUT, "--against %s: it has %u inputs; boxes are counted of networks with one", call->against,
                           network->input_count);
    if (network->answer->classes != judge->boxes->classes)
        return failure_set(failure, STATUS_INPUT, "--against %s: it has %u classes, the network %u", call->against,
                           network->answer->classes, judge->boxes->classes);
    return true;
}

bool judge_boxes_open(struct judge *judge, const struct judge_call *call, struct failure *failure) {
    struct judge_boxes *boxes = judge->boxes = must_calloc(1, sizeof *judge->boxes);
    boxes->threshold = judge->network.answer->threshold;
    boxes->classes = judge->network.answer->classes;
    if (!dataset_add(&judge->dataset, call->data, failure)) return false;
    take_some(&judge->dataset, call->limit);
    if (!judge->dataset.count) return failure_set(failure, STATUS_INPUT, "%s holds no pictures", call->data);
    boxes->pictures = must_calloc(judge->dataset.count, sizeof *boxes->pictures);
    return call->against ? open_against(judge, call, failure) : open_labels(judge, call->data, failure);
}

void judge_boxes_free(struct judge *judge) {
    struct judge_boxes *boxes = judge->boxes;
    for (size_t i = 0; boxes && boxes->pictures && i < judge->dataset.count; i++) {
        free(boxes->pictures[i].wanted);
        free(boxes->pictures[i].found);
    }
    if (judge->against.kind) network_close(&judge->against);
    if (!boxes) return;
    free(boxes->pictures);
    free(boxes->of);
    free(boxes->worst);
    free(boxes);
}

/* --- Counting ------------------------------------------------------------------------------------------------------- */

/* What was found, with what AP asks of it. */
struct hit {
    float p;
    uint32_t class;
    size_t order;
    bool right;
};

/* The best one takes what it shares most with, of equal ones the last, as COCO's own program has it. */
static bool take(const struct judge_boxes_picture *picture, const struct morsel_box *box, bool *taken) {
    double most = JUDGE_IOU;
    uint32_t best = picture->wanted_count;
    for (uint32_t i = 0; i < picture->wanted_count; i++) {
        if (taken[i] || picture->wanted[i].index != box->index) continue;
        const double part = found_overlap(box, &picture->wanted[i]);
        if (part < most) continue;
        most = part;
        best = i;
    }
    if (best < picture->wanted_count) taken[best] = true;
    return best < picture->wanted_count;
}

static void count_picture(struct judge_boxes *boxes, struct judge_boxes_picture *picture, struct hit *hits) {
    bool *taken = must_calloc(picture->wanted_count + 1, sizeof *taken);
    for (uint32_t i = 0; i < picture->wanted_count; i++) {
        picture->counts.wanted++;
        boxes->of[picture->wanted[i].index].wanted++;
    }
    for (uint32_t i = 0; i < picture->found_count; i++) {
        const struct morsel_box *box = &picture->found[i];
        struct judge_counts *of = &boxes->of[box->index];
        const bool right = take(picture, box, taken), told = box->p >= boxes->threshold;
        hits[i] = (struct hit){box->p, box->index, 0, right};
        of->found += told;
        of->both += told && right;
        picture->counts.found += told;
        picture->counts.both += told && right;
    }
    free(taken);
}

static int by_class(const void *a, const void *b) {
    const struct hit *x = a, *y = b;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (x->p != y->p) return x->p > y->p ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

double judge_boxes_ap(const bool *right, size_t found, size_t wanted) {
    double *precision = must_calloc(found + 1, sizeof *precision), sum = 0;
    size_t *hits = must_calloc(found + 1, sizeof *hits), count = 0, at = 0;
    if (!wanted) sum = (double)NAN;
    for (size_t i = 0; i < found; i++) {
        hits[i] = count += right[i];
        precision[i] = (double)count / (double)(i + 1);
    }
    for (size_t i = found; i-- > 1;)
        if (precision[i - 1] < precision[i]) precision[i - 1] = precision[i];
    for (int k = 0; wanted && k <= 100; k++) {
        const double recall = k < 100 ? k * 0.01 : 1;
        while (at < found && (double)hits[at] / (double)wanted < recall) at++;
        if (at < found) sum += precision[at];
    }
    free(precision);
    free(hits);
    return sum / 101;
}

static void count_classes(struct judge_boxes *boxes, const struct hit *hits, size_t count) {
    bool *right = must_calloc(count + 1, sizeof *right);
    double sum = 0;
    size_t at = 0, classes = 0;
    for (uint32_t c = 0; c < boxes->classes; c++) {
        struct judge_counts *of = &boxes->of[c];
        size_t found = 0;
        for (; at < count && hits[at].class == c; at++) right[found++] = hits[at].right;
        of->ap = judge_boxes_ap(right, found, of->wanted);
        boxes->all.wanted += of->wanted;
        boxes->all.found += of->found;
        boxes->all.both += of->both;
        if (!of->wanted) continue;
        sum += of->ap;
        classes++;
    }
    boxes->all.ap = classes ? sum / (double)classes : (double)NAN;
    free(right);
}

static size_t wrong(const struct judge_counts *counts) {
    return counts->wanted + counts->found - 2 * counts->both;
}

static int by_wrong(const void *a, const void *b, void *context) {
    const struct judge_boxes *boxes = context;
    size_t i = *(const size_t *)a, k = *(const size_t *)b, x = wrong(&boxes->pictures[i].counts), y = wrong(&boxes->pictures[k].counts);
    return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

static void count_up(struct judge *judge) {
    struct judge_boxes *boxes = judge->boxes;
    size_t pictures = judge->dataset.count, count = 0;
    for (size_t i = 0; i < pictures; i++) count += boxes->pictures[i].found_count;
    struct hit *hits = must_calloc(count + 1, sizeof *hits);
    boxes->of = must_calloc(boxes->classes, sizeof *boxes->of);
    boxes->worst = must_calloc(pictures, sizeof *boxes->worst);
    count = 0;
    for (size_t i = 0; i < pictures; count += boxes->pictures[i++].found_count) {
        count_picture(boxes, &boxes->pictures[i], hits + count);
        if (wrong(&boxes->pictures[i].counts)) boxes->worst[boxes->worst_count++] = i;
    }
    for (size_t i = 0; i < count; i++) hits[i].order = i;
    qsort(hits, count, sizeof *hits, by_class);
    count_classes(boxes, hits, count);
    qsort_r(boxes->worst, boxes->worst_count, sizeof *boxes->worst, by_wrong, boxes);
    free(hits);
}

bool judge_boxes_run(struct judge *judge, struct failure *failure) {
    if (judge->boxes->against && !run_pass(judge, &judge->against, true, failure)) return false;
    if (!run_pass(judge, &judge->network, false, failure)) return false;
    count_up(judge);
    return true;
}
