# SPDX-License-Identifier: MIT
"""Changes of the sources, each of which makes a proof fail: make prove PROVE=--self-test."""
import shutil

# (source, what stands there, what stands there instead, the proof that has to fail)
LIST = [
    ("core/check.h", "return p > MORSEL_SIZE_LIMIT ? 0", "return p > MORSEL_SIZE_LIMIT + 1u ? 0", "product"),
    ("core/check.h", "uint64_t p = (uint64_t)a * b;", "uint64_t p = a * b;", "product3"),
    ("core/check.c", "return (uint64_t)s->count * record <=", "return s->count * record <=", "section"),
    ("core/check.c", "<= h->blob_bytes - s->offset;", "<= h->blob_bytes;", "section"),
    ("core/check.c", "h->arena_bytes > MORSEL_SIZE_LIMIT || ", "", "counts"),
    ("core/check_steps.c", "return offset + bytes >= bytes && ", "return ", "data"),
    ("core/check_steps.c", "<= (uint64_t)d->offset + d->count", "< (uint64_t)d->offset + d->count", "data_takes_all"),
    ("core/check_steps.c", "4 * (uint64_t)p->count", "8 * (uint64_t)p->count", "parameters"),
    ("core/check_steps.c", "return (uint64_t)step->scratch_offset + step->scratch_bytes <=",
     "return step->scratch_offset + step->scratch_bytes <=", "scratch"),
    ("core/check_steps.c", "high <= least + 255", "high <= least + 256", "integers"),
    ("core/check_records.c", "morsel_slice_bytes(t) > h->arena_bytes - t->offset", "morsel_slice_bytes(t) > h->arena_bytes", "place"),
    ("core/check_elements.c", "if (last >= elements) return 0;", "if (last > elements) return 0;", "strides"),
    ("core/check_elements.c", "if (k >= rank && dims[k] != 1) return 0;", "", "dims"),
    ("core/check_elements.c", "return last < morsel_elements(s->x);", "return last <= morsel_elements(s->x);", "entries"),
    ("core/check_window.c", "a->pad_begin > MOST || ", "", "axis"),
    ("core/check_window.c", "uint32_t out = room / a->stride + 1;", "uint32_t out = room / a->stride + 2;", "axis"),
    ("core/check_window.c", "w.line * (4 * p->window.kernel_h), outs)", "(uint32_t)w.line * (4 * p->window.kernel_h), outs)", "packed"),
    ("core/check_group.c", "strip + lead - stride * reader->stage_lead + r->pad", "strip + lead - stride * reader->stage_lead", "ring"),
    ("core/check_group.c", "if (lead < stride * ((int64_t)reader->stage_lead - 1)", "if (lead + 1 < stride * ((int64_t)reader->stage_lead - 1)",
     "ring"),
    ("core/check_group.c", "    if (next > (int64_t)MORSEL_SIZE_LIMIT) return 1; /* so many rows end behind every output */\n", "", "trails_at"),
    ("core/check_group.c", "int64_t rows = (int64_t)r->stride * (", "int64_t rows = (int64_t)r->stride + (", "trails"),
    ("core/check_group.c", "uint32_t before = low ? low : 1, behind = low < last ? low + 1 : last;",
     "uint32_t before = low ? low : 1, behind = last;", "trails"),
    ("core/run_group.c", "int64_t rows = (int64_t)step->stage_scale * t + step->stage_lead;",
     "int32_t rows = (int32_t)step->stage_scale * t + step->stage_lead;", "rows_at"),
    ("core/run_group.c", "int32_t t = rows / scale - (rows % scale < 0);", "int32_t t = rows / scale;", "find_start"),
    ("core/call.h", "all / n * i + (i < longer ? i : longer)", "all / n * i + (i < longer ? i + 1 : longer)", "share"),
    ("core/call.h", "(i < longer ? i : longer)", "(longer ? 0 : 0)", "share_covers"),
    ("core/blob.h", "(a < b + b_bytes) & (b < a + a_bytes)", "(a <= b + b_bytes) & (b < a + a_bytes)", "overlap"),
    ("core/run_rows.c", "return y < x->rows ? y", "return y <= x->rows ? y", "ring_place"),
    ("core/stage.c", "end = end < height ? end : height;", "end = end < height ? end : height + 1;", "need_rows"),
    ("core/plan_chain.c", "return ((int64_t)(s->end - s->begin) - share)", "return (int32_t)(s->end - s->begin - share)", "more_rows"),
    ("core/model.c", "tasks - 1 > (room - spare) / band", "tasks > (room - spare) / band + 2", "arena"),
    ("core/session.c", "(uint32_t)more + 1 :", "(uint32_t)more + 2 :", "bands"),
    ("core/check.h", "return high >> 32 ? UINT64_MAX : high << 32", "return high << 32", "times"),
    ("core/work.c", "return a + b < a ? UINT64_MAX : a + b;", "return a + b;", "add"),
    ("core/work.c", "(n + multiple - 1) / multiple * multiple", "n / multiple * multiple", "up"),
    ("core/check_values.c", "finite(bits, count, 0x80000000, 0x00800000)", "finite(bits, count, 0x80000000, 0x00400000)", "finite"),
    ("core/check_values.c", "return bits < 256;", "return bits < 512;", "small"),
    ("core/weights.c", "#define RUN 256u", "#define RUN 258u", "weigh_four"),
    ("core/weights.c", "static int is_small(int64_t bias, int64_t above,", "static int is_small(int64_t bias, int32_t above,", "is_small"),
    ("kernels/requant.h", "v + 12582912.0f", "v + 8388608.0f", "round"),
    ("kernels/requant.h", "return v < low ? low : v > high ? high : v;", "return v < low ? high : v > high + 1 ? high : v;", "limit"),
    ("core/picture.c", "a->visible = a->size < out ? a->size : out;", "a->visible = a->size;", "picture_axis"),
    ("core/picture.c", "(2 * a->in + a->out - 1) / a->out;", "2 * a->in / a->out;", "picture_taps"),
    ("core/picture_rows.c", "return 2 * (int64_t)a->reach - (", "return (int64_t)a->reach - (", "picture_centre"),
    ("core/picture_rows.c", "n < a->taps && x + n < a->in", "n <= a->taps && x + n < a->in", "picture_window"),
    ("core/picture.c", "uint64_t bytes = 3 + 4 * (words + y->taps)", "uint64_t bytes = 3 + 4 * words + y->taps", "picture_scratch"),
    ("core/picture.c", "*stride < row || *stride > SIZE_MAX / rows", "*stride < row", "picture_rows"),
    ("core/picture.c", "uint64_t plane = (uint64_t)height * width", "uint64_t plane = height * width", "picture_sink"),
    ("core/picture_rows.c", "* a->out <= centre) x++", "* a->out < centre) x++", "picture_nearest"),
    ("core/picture.c", "whole += rest > d - rest ||", "whole += rest >= d - rest ||", "picture_share"),
    ("core/picture.c", "a->pad = a->size - a->pad - a->visible;", "a->pad = a->size - a->pad;", "picture_mirrored"),
    ("core/picture.c", "sink->first += (size_t)(sink->step_y", "sink->first = (size_t)(sink->step_y", "picture_turned"),
    ("kernels/pixels.c", "(255 - value) >> 16", "(256 - value) >> 16", "picture_color"),
    ("core/picture_rows.c", "COLOR(0, 8192, 12901,", "COLOR(0, 32767, 12901,", "picture_colors"),
    ("core/picture_rows.c", "blue * 7471u", "blue * 7472u", "picture_luma"),
]


def copy_changed(root, copy, source, old, new):
    for folder in ("core", "kernels"):
        shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("*.md"))
    text = (copy / source).read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{source} has `{old}` {text.count(old)} times, not once")
    (copy / source).write_text(text.replace(old, new))
