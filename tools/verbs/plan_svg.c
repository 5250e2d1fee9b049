/* SPDX-License-Identifier: MIT */
/*
 * The arena as a picture: steps from left to right, bytes from the bottom up. Each slice is a rectangle from its birth to its death. Below
 * it, how many bytes are in use at each step; beside it, what fills the arena where it is fullest.
 *
 * A rectangle of a slice has a line of its own. Its data- attributes say what it stands for: kind, tensor or step, first and last step,
 * offset, bytes, and the tensor that it lies over.
 */
#include "core/kind.h"
#include "tools/verbs/inspect.h"
#include "tools/base/text.h"
#include <stdlib.h>
#include <string.h>

enum { LEFT = 74, TOP = 118, HEIGHT = 540, AXIS = 88, LOWER = 96, BOTTOM = 24, ASIDE = 430, LINE = 17, WIDTH = 1240 };
enum { NARROWEST = 8, WIDEST = 48, MOST_HOLDERS = 36, LETTER_SIZE = 10 };
#define LETTER 6.0 /* columns of pixels that a letter of that size takes */

static const char *const whole_fills[] = {"#7fb2e5", "#97c3ee", "#6aa3dc", "#a9cdf0"};

struct drawing {
    FILE *file;
    const struct inspect *inspect;
    const struct memory *memory;
    const struct morsel_model *network;
    uint32_t steps, bytes, first, last; /* first, last: where the arena is fullest */
    double column, width, height;       /* of a step, of all of them, of the picture */
    bool in_page;
};

/* --- Numbers and letters --- */

static double x_of(const struct drawing *d, uint32_t step) {
    return LEFT + step * d->column;
}

static double y_of(const struct drawing *d, uint32_t offset) {
    return TOP + HEIGHT * (1 - (double)offset / d->bytes);
}

static double lower_y(const struct drawing *d, uint32_t bytes) {
    return TOP + HEIGHT + AXIS + LOWER * (1 - (double)bytes / d->bytes);
}

/* "1,234,567" */
static const char *grouped(uint32_t number, char text[16]) {
    char digits[12];
    int count = snprintf(digits, sizeof digits, "%u", number), at = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

/* `more`: further attributes. */
static void put_text(const struct drawing *d, double x, double y, const char *more, const char *text) {
    fprintf(d->file, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *more ? " " : "", more);
    text_put_xml(d->file, text, true);
    fputs("</text>\n", d->file);
}

static void put_line(const struct drawing *d, double x0, double y0, double x1, double y1, const char *class) {
    fprintf(d->file, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x0, y0, x1, y1);
}

/* A text of at most `most` letters: the end of a longer one. */
static const char *clipped(const char *text, size_t most, char *room, size_t size) {
    size_t length = strlen(text);
    if (length <= most) return text;
    const char *rest = text + length - most + 3;
    while ((*rest & 0xC0) == 0x80) rest++;
    snprintf(room, size, "...%s", rest);
    return room;
}

/* --- Slices --- */

static bool is_tensor(const struct memory_slice *slice) {
    return slice->kind == MEMORY_WHOLE || slice->kind == MEMORY_RING;
}

static bool is_io(const struct drawing *d, uint32_t tensor) {
    const struct morsel_blob_header *header = d->inspect->header;
    const struct morsel_blob_io *in = morsel_blob_at(d->network, header->inputs.offset);
    const struct morsel_blob_io *out = morsel_blob_at(d->network, header->outputs.offset);
    for (uint32_t i = 0; i < header->inputs.count; i++)
        if (in[i].tensor == tensor) return true;
    for (uint32_t i = 0; i < header->outputs.count; i++)
        if (out[i].tensor == tensor) return true;
    return false;
}

static const char *fill_of(const struct drawing *d, const struct memory_slice *slice) {
    if (slice->kind == MEMORY_CALLS) return "#aeb4bd";
    if (slice->kind == MEMORY_SCRATCH) return "#d9dce0";
    if (slice->kind == MEMORY_RING) return slice->index % 2 ? "url(#ring)" : "url(#ring2)";
    return is_io(d, slice->index) ? "#f2b366" : whole_fills[slice->index % 4];
}

/* "32 x 32 x 96", the batch only where there is one. */
static const char *shape_of(const struct morsel_blob_tensor *tensor, char *text, size_t size) {
    uint32_t from = tensor->rank > 1 && tensor->dims[0] == 1 ? 1 : 0;
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = from; i < tensor->rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", i > from ? " x " : "", tensor->dims[i]);
    return text;
}

/* "ring of 5 of 32 rows" */
static const char *kind_of(const struct drawing *d, const struct memory_slice *slice, char *text, size_t size) {
    snprintf(text, size, "%s", memory_kind_name(slice->kind));
    if (slice->kind == MEMORY_RING) {
        const struct morsel_blob_tensor *tensor = morsel_blob_tensor(d->network, slice->index);
        snprintf(text, size, "ring of %u of %u rows", tensor->ring_rows, tensor->dims[1]);
    }
    return text;
}

/* What a pointer that rests on the slice is told. */
static void put_title(const struct drawing *d, const struct memory_slice *slice) {
    char name[512], text[1024], dims[128], kind[64], bytes[16], offset[16], number[16];
    size_t at = 0;
    inspect_slice_name(d->inspect, slice, name, sizeof name);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", name);
    if (is_tensor(slice)) {
        const struct morsel_blob_tensor *tensor = morsel_blob_tensor(d->network, slice->index);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %s, %s\n", tensor_type_name((enum morsel_type)tensor->type),
                               tensor_dims(tensor->dims, tensor->rank, dims, sizeof dims), kind_of(d, slice, kind, sizeof kind));
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "%s bytes at %s, steps %u to %u", grouped(slice->bytes, bytes),
                           grouped(slice->offset, offset), slice->first, slice->last);
    if (slice->over != MEMORY_NONE && at < sizeof text)
        snprintf(text + at, sizeof text - at, "\nlies over its input %s", inspect_tensor_name(d->inspect, slice->over, number));
    fputs("<title>", d->file);
    text_put_xml(d->file, text, true);
    fputs("</title>", d->file);
}

/* The part of a slice's life that its rectangle shows alone: after the input that it lies over, before the output that lies over it. All
 * of it where it lies over an input as long as that lives; false: there is none. */
static bool find_alone(const struct drawing *d, const struct memory_slice *slice, uint32_t *first, uint32_t *last) {
    *first = slice->first;
    *last = slice->last;
    for (uint32_t i = 0; i < d->memory->count && is_tensor(slice); i++)
        if (d->memory->slices[i].over == slice->index && d->memory->slices[i].first <= *last) {
            if (d->memory->slices[i].first == slice->first) return false;
            *last = d->memory->slices[i].first - 1;
        }
    if (slice->over != MEMORY_NONE && slice->over_last < *last) *first = slice->over_last + 1;
    return true;
}

/* Shape and bytes, or one of them, inside a rectangle that has room; along its longer side. */
static void put_label(const struct drawing *d, const struct memory_slice *slice) {
    uint32_t first, last;
    if (!find_alone(d, slice, &first, &last)) return;
    double x = x_of(d, first), w = (last - first + 1) * d->column;
    double y = y_of(d, slice->offset + slice->bytes), h = y_of(d, slice->offset) - y;
    char shape[96] = "", bytes[16], text[3][128];
    bool up = h > w && w >= LETTER_SIZE + 1;
    double room = (up ? h : w) - 4, across = up ? w : h;
    if (is_tensor(slice)) shape_of(morsel_blob_tensor(d->network, slice->index), shape, sizeof shape);
    else snprintf(shape, sizeof shape, "%s", slice->kind == MEMORY_CALLS ? "prepared calls" : "scratch");
    snprintf(text[0], sizeof text[0], "%s: %s", shape, grouped(slice->bytes, bytes));
    snprintf(text[1], sizeof text[1], "%s", shape);
    snprintf(text[2], sizeof text[2], "%s", bytes);
    for (int i = 0; across >= LETTER_SIZE + 1 && i < 3; i++) {
        if ((double)strlen(text[i]) * LETTER > room) continue;
        char more[80];
        double cx = x + w / 2, cy = y + h / 2;
        snprintf(more, sizeof more, "class=\"in\" transform=\"rotate(%d %.1f %.1f)\"", up ? -90 : 0, cx, cy);
        put_text(d, cx, cy + 3.5, more, text[i]);
        return;
    }
}

static void put_slice(const struct drawing *d, const struct memory_slice *slice) {
    double x = x_of(d, slice->first), w = (slice->last - slice->first + 1) * d->column;
    double y = y_of(d, slice->offset + slice->bytes), h = y_of(d, slice->offset) - y;
    bool peak = memory_alive(slice, d->memory->peak_step), over = slice->over != MEMORY_NONE;
    fprintf(d->file, "<g><rect class=\"slice%s%s\" data-kind=\"%s\" data-index=\"%u\" ", peak ? " peak" : "", over ? " over" : "",
            memory_kind_name(slice->kind), slice->index);
    fprintf(d->file, "data-first=\"%u\" data-last=\"%u\" data-offset=\"%u\" ", slice->first, slice->last, slice->offset);
    fprintf(d->file, "data-bytes=\"%u\" data-over=\"%d\" x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\">", slice->bytes,
            over ? (int)slice->over : -1, x, y, w, h < 0.5 ? 0.5 : h, fill_of(d, slice));
    put_title(d, slice);
    fputs("</rect></g>\n", d->file);
}

static void put_slices(const struct drawing *d) {
    for (int over = 0; over < 2; over++) /* what lies over something is drawn over it */
        for (uint32_t i = 0; i < d->memory->count; i++)
            if ((d->memory->slices[i].over != MEMORY_NONE) == over) put_slice(d, &d->memory->slices[i]);
    for (uint32_t i = 0; i < d->memory->count; i++) put_label(d, &d->memory->slices[i]);
}

/* --- Axes --- */

/* 1, 2 or 5 times a power of ten: some five to ten of them make `bytes`. */
static uint32_t tick_of(uint32_t bytes) {
    uint32_t tick = 1;
    while (bytes / tick > 10) {
        uint32_t lead = tick;
        while (lead >= 10) lead /= 10;
        tick = lead == 2 ? tick / 2 * 5 : tick * 2;
    }
    return tick;
}

static void put_bytes_axis(const struct drawing *d) {
    uint32_t tick = tick_of(d->bytes);
    char text[16], label[96];
    for (uint64_t at = 0; at <= d->bytes; at += tick) {
        put_line(d, LEFT, y_of(d, (uint32_t)at), LEFT + d->width, y_of(d, (uint32_t)at), "grid");
        if (d->bytes - at >= tick / 3 || at == d->bytes) /* not into the arena's own label */
            put_text(d, LEFT - 6, y_of(d, (uint32_t)at) + 3.5, "text-anchor=\"end\"", grouped((uint32_t)at, text));
    }
    put_line(d, LEFT, y_of(d, d->bytes), LEFT + d->width, y_of(d, d->bytes), "arena");
    put_text(d, LEFT - 6, y_of(d, d->bytes) + 3.5, "text-anchor=\"end\" font-weight=\"bold\"", grouped(d->bytes, text));
    snprintf(label, sizeof label, "transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\"", TOP + HEIGHT / 2);
    put_text(d, 14, TOP + HEIGHT / 2, label, "bytes of the arena");
}

static void put_steps_axis(const struct drawing *d) {
    uint32_t every = d->column >= 16 ? 1 : d->column >= 11 ? 2 : d->column >= 5 ? 5 : 10;
    char text[48], more[80];
    double y = TOP + HEIGHT;
    for (uint32_t s = 0; s < d->steps; s++) {
        double x = x_of(d, s) + d->column / 2;
        snprintf(text, sizeof text, "%u", s);
        if (s % every == 0) put_text(d, x, y + 13, "text-anchor=\"middle\" font-size=\"9\"", text);
        snprintf(more, sizeof more, "class=\"kind\" transform=\"rotate(-90 %.1f %.1f)\"", x + 3, y + 20);
        put_text(d, x + 3, y + 20, more, morsel_kinds[morsel_blob_step(d->network, s)->kind]->name);
    }
}

static void put_groups(const struct drawing *d) {
    for (uint32_t i = 0; i < d->inspect->header->groups.count; i++) {
        const struct morsel_blob_group *group = morsel_blob_group(d->network, i);
        double x = x_of(d, group->first_step), w = group->step_count * d->column;
        char text[64];
        fprintf(d->file, "<rect class=\"group\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"30\"><title>", x, TOP - 30, w);
        fprintf(d->file, "group %u: steps %u to %u stream, %u rows of the last one at a time</title></rect>\n", i + 1, group->first_step,
                group->first_step + group->step_count - 1, group->strip_rows);
        fprintf(d->file, "<rect class=\"chart\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", x, TOP, w, HEIGHT);
        snprintf(text, sizeof text, w > 9 * LETTER ? "group %u" : "%u", i + 1);
        put_text(d, x + w / 2, TOP - 18, "text-anchor=\"middle\" font-size=\"10\"", text);
        snprintf(text, sizeof text, "%u row%s", group->strip_rows, group->strip_rows == 1 ? "" : "s");
        if (w > (double)strlen(text) * LETTER)
            put_text(d, x + w / 2, TOP - 6, "text-anchor=\"middle\" font-size=\"10\" fill=\"#777\"", text);
    }
}

/* --- Bytes in use --- */

static void put_live(const struct drawing *d) {
    char number[16], text[96];
    double floor = lower_y(d, 0), peak = lower_y(d, d->memory->peak_bytes);
    fprintf(d->file, "<path class=\"live\" d=\"M%d %.1f", LEFT, floor);
    for (uint32_t s = 0; s < d->steps; s++) fprintf(d->file, "V%.1fH%.1f", lower_y(d, d->memory->live[s]), x_of(d, s + 1));
    fprintf(d->file, "V%.1fZ\"/>\n", floor);
    put_line(d, LEFT, floor, LEFT + d->width, floor, "axis");
    put_line(d, LEFT, peak, LEFT + d->width, peak, "peakline");
    put_text(d, LEFT - 6, peak + 3.5, "text-anchor=\"end\" class=\"red\"", grouped(d->memory->peak_bytes, number));
    put_text(d, LEFT - 6, floor + 3.5, "text-anchor=\"end\"", "0");
    snprintf(text, sizeof text, "bytes in use at each step; the peak is %s", number);
    put_text(d, LEFT, lower_y(d, d->bytes) - 5, "fill=\"#555\"", text);
}

static void put_peak(const struct drawing *d) {
    double x = x_of(d, d->first), w = (d->last - d->first + 1) * d->column;
    fprintf(d->file, "<rect class=\"fullest\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", x, TOP, w, HEIGHT);
    fprintf(d->file, "<rect class=\"fullest\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", x, lower_y(d, d->bytes), w, LOWER);
}

/* --- Around it --- */

static void put_start(const struct drawing *d) {
    fprintf(d->file, "<svg %sclass=\"plan\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" ",
            d->in_page ? "" : "xmlns=\"http://www.w3.org/2000/svg\" ", LEFT + d->width + ASIDE, d->height, LEFT + d->width + ASIDE,
            d->height);
    fputs("font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n<style>\n"
          ".plan .slice{stroke:#33475b;stroke-width:.6}.plan .peak{stroke:#111;stroke-width:1.3}\n"
          ".plan .over{fill-opacity:.55;stroke:#7d2fa8;stroke-width:1.4;stroke-dasharray:5 2}\n"
          ".plan .in{text-anchor:middle;font-size:10px;pointer-events:none}.plan .kind{text-anchor:end;font-size:9px;fill:#555}\n"
          ".plan .grid{stroke:#e3e6ea}.plan .axis{stroke:#222}.plan .arena{stroke:#222;stroke-dasharray:6 3}\n"
          ".plan .group{fill:#fff3c9;stroke:#d9bd5f;stroke-width:.8}.plan .chart{fill:none;stroke:#d9bd5f;stroke-width:.8}\n"
          ".plan .live{fill:#d5dbe3;stroke:#33475b;stroke-width:.8}.plan .paper{fill:#fff}\n"
          ".plan .fullest{fill:none;stroke:#c8102e;stroke-width:2}.plan .peakline{stroke:#c8102e;stroke-dasharray:4 3}\n"
          ".plan .red{fill:#c8102e;font-weight:bold}\n"
          "</style>\n<defs>\n",
          d->file);
    static const char *const rings[2][3] = {{"ring", "#e0f3ea", "#4aa37c"}, {"ring2", "#d3ecf0", "#3f94a6"}};
    for (int i = 0; i < 2; i++)
        fprintf(d->file,
                "<pattern id=\"%s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" fill=\"%s\"/>"
                "<path d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\" stroke=\"%s\" stroke-width=\".9\" stroke-opacity=\".55\"/></pattern>\n",
                rings[i][0], rings[i][1], rings[i][2]);
    fputs("</defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", d->file);
}

static void put_heading(const struct drawing *d) {
    char text[512], arena[16], peak[16], rest[16], room[96];
    const struct morsel_blob_header *header = d->inspect->header;
    const char *name = morsel_blob_string(d->network, header->name);
    snprintf(text, sizeof text, "%s: an arena of %s bytes, %u steps, %u groups that stream",
             *name ? clipped(name, 60, room, sizeof room) : "network", grouped(header->arena_bytes, arena), d->steps, header->groups.count);
    put_text(d, LEFT, 26, "font-size=\"16\" font-weight=\"bold\"", text);
    if (!d->steps) return;
    const struct morsel_blob_step *step = morsel_blob_step(d->network, d->memory->peak_step);
    char steps[64];
    snprintf(steps, sizeof steps, "step %u", d->first);
    if (step->group) snprintf(steps, sizeof steps, "group %u, steps %u to %u", step->group, d->first, d->last);
    grouped(d->memory->peak_bytes, peak);
    grouped(d->bytes - d->memory->peak_bytes, rest);
    snprintf(text, sizeof text, "fullest at %s: %s bytes in use, %s more between them or above", steps, peak, rest);
    put_text(d, LEFT, 46, "class=\"red\"", text);
}

static void put_legend(const struct drawing *d) {
    static const struct {
        const char *attributes, *text;
        int width;
    } entries[] = {
        {"class=\"slice\" fill=\"#7fb2e5\"", "whole tensor", 122},
        {"class=\"slice\" fill=\"#f2b366\"", "the network's input or output", 216},
        {"class=\"slice\" fill=\"url(#ring)\"", "ring: some rows of a tensor", 200},
        {"class=\"slice over\" fill=\"#97c3ee\"", "lies over its input", 148},
        {"class=\"slice\" fill=\"#d9dce0\"", "scratch", 88},
        {"class=\"slice\" fill=\"#aeb4bd\"", "prepared calls", 125},
        {"class=\"group\"", "group", 70},
    };
    double x = LEFT;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        fprintf(d->file, "<rect %s x=\"%.1f\" y=\"58\" width=\"18\" height=\"12\"/>\n", entries[i].attributes, x);
        put_text(d, x + 23, 68, "", entries[i].text);
        x += entries[i].width;
    }
}

static void put_holder(const struct drawing *d, const struct memory_slice *slice, double x, double y) {
    char bytes[16], text[768], name[512], kind[64], room[96];
    fprintf(d->file, "<rect class=\"slice%s\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"11\" fill=\"%s\"/>\n",
            slice->over != MEMORY_NONE ? " over" : "", x, y - 9.5, fill_of(d, slice));
    put_text(d, x + 78, y, "text-anchor=\"end\" font-size=\"10\"", grouped(slice->own, bytes));
    inspect_slice_name(d->inspect, slice, name, sizeof name);
    if (is_tensor(slice))
        snprintf(text, sizeof text, "%s: %s%s", kind_of(d, slice, kind, sizeof kind), clipped(name, 36, room, sizeof room),
                 slice->over != MEMORY_NONE ? ", over its input" : "");
    else snprintf(text, sizeof text, "%s", name);
    put_text(d, x + 85, y, "font-size=\"10\"", clipped(text, 62, room, sizeof room));
}

static void put_holders(const struct drawing *d) {
    double x = LEFT + d->width + 22, y = TOP;
    uint32_t rest = 0;
    char text[64], number[16];
    put_text(d, x, y, "class=\"red\"", "What holds the peak, in bytes");
    for (uint32_t i = 0; i < d->memory->holder_count; i++) {
        if (i < MOST_HOLDERS) put_holder(d, &d->memory->holders[i], x, y + LINE * (i + 1) + 4);
        else rest += d->memory->holders[i].own;
    }
    if (d->memory->holder_count <= MOST_HOLDERS) return;
    snprintf(text, sizeof text, "%s in %u others", grouped(rest, number), d->memory->holder_count - MOST_HOLDERS);
    put_text(d, x, y + LINE * (MOST_HOLDERS + 1) + 4, "font-size=\"10\"", text);
}

static void draw(const struct drawing *d) {
    put_start(d);
    put_heading(d);
    put_legend(d);
    put_groups(d);
    put_bytes_axis(d);
    put_slices(d);
    if (d->steps) {
        put_steps_axis(d);
        put_live(d);
        put_peak(d);
        put_holders(d);
    }
    fputs("</svg>\n", d->file);
}

void inspect_draw(const struct inspect *inspect, FILE *file, bool in_page) {
    const struct morsel_blob_header *header = inspect->header;
    struct drawing d = {.file = file,
                        .inspect = inspect,
                        .memory = &inspect->memory,
                        .network = &inspect->network.model,
                        .steps = header->steps.count,
                        .bytes = header->arena_bytes ? header->arena_bytes : 1,
                        .in_page = in_page};
    d.first = d.last = d.memory->peak_step;
    if (d.steps && morsel_blob_step(d.network, d.first)->group) {
        const struct morsel_blob_group *group = morsel_blob_group(d.network, morsel_blob_step(d.network, d.first)->group - 1);
        d.first = group->first_step;
        d.last = d.first + group->step_count - 1;
    }
    uint32_t columns = d.steps ? d.steps : 1;
    d.column = (double)WIDTH / columns;
    d.column = d.column < NARROWEST ? NARROWEST : d.column > WIDEST ? WIDEST : d.column;
    d.width = d.column * columns;
    d.width = d.width < 560 ? 560 : d.width; /* the heading and the legend */
    d.height = TOP + HEIGHT + AXIS + LOWER + BOTTOM;
    draw(&d);
}

bool inspect_plan(const struct inspect *inspect, const char *path, struct failure *failure) {
    struct text_stream stream;
    if (!text_open(&stream)) return failure_memory(failure, 0);
    inspect_draw(inspect, stream.file, false);
    bool good = text_close(&stream) ? file_write(path, stream.text, stream.size, failure) : failure_memory(failure, stream.size);
    free(stream.text);
    return good;
}
