/* SPDX-License-Identifier: MIT */
/* Writes HTML: the frame of a page, its style, tables, pictures. */
#include "tools/verbs/host/page.h"
#include "core/morsel.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PICTURE_SIDE = 96 };

/* Of the drawings, too, whose own styles are for paper and come later: what stands here in front says more. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1c2733;--dim:#586573;--line:#dbe1e7;--card:#f6f8fa;--blue:#2f6fb0;--red:#c8102e;"
    "--group:#fff3c9;--live:#d5dbe3;--over:.55}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#e2e8ee;--dim:#9eabb8;--line:#303a46;--card:#192029;--blue:#6fb0ef;"
    "--red:#ff8090;--group:#453c1c;--live:#3a4653;--over:.85}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe "
    "UI\",Helvetica,Arial,sans-serif}\n"
    "main{max-width:1200px;margin:0 auto;padding:24px 16px 64px}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:1.15rem;margin:40px 0 10px;padding-top:14px;border-top:1px solid var(--line)}\n"
    "p{margin:8px 0;max-width:76ch;overflow-wrap:anywhere}\n"
    "p,figcaption,footer{color:var(--dim)}\n"
    ".tiles,.pictures,.pair{display:grid;gap:12px;margin:16px 0}\n"
    ".tiles{grid-template-columns:repeat(auto-fill,minmax(140px,1fr))}\n"
    ".pictures{grid-template-columns:repeat(auto-fill,minmax(150px,1fr))}\n"
    ".pair{grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}\n"
    ".tile,.picture,.box{background:var(--card);border:1px solid var(--line);border-radius:8px}\n"
    ".tile,.picture{padding:10px 12px;overflow-wrap:anywhere;color:var(--dim);font-size:.85rem}\n"
    ".tile b{display:block;color:var(--ink);font-size:1.25rem;font-weight:600}\n"
    ".picture b{color:var(--ink);font-weight:600}\n"
    ".picture img{display:block;width:96px;height:96px;object-fit:contain;image-rendering:pixelated;margin-bottom:6px}\n"
    ".box{overflow:auto;max-height:560px;margin:12px 0}\n"
    ".box.all{max-height:none}\n"
    "figure{margin:0}figcaption{font-size:.85rem;margin:0 0 4px}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;min-width:100%}\n"
    "th,td{padding:3px 10px;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line)}\n"
    "td.long{white-space:normal;overflow-wrap:anywhere;min-width:160px}\n"
    "tr:last-child>*{border-bottom:0}\n"
    "thead th{position:sticky;top:0;background:var(--card);color:var(--dim);font-weight:600}\n"
    "tbody th{font-weight:400;color:var(--dim)}\n"
    "th.n,td.n{text-align:right}\n"
    "td.bar{min-width:120px;width:50%}td.bar i{display:block;height:10px;background:var(--blue);border-radius:2px;min-width:1px}\n"
    "table.matrix td{text-align:right;padding:3px 7px}table.matrix td.hit{font-weight:700}\n"
    "table.matrix thead th{text-align:right;padding:3px 7px}\n"
    "svg{display:block}svg.wide{width:100%;height:auto}\n"
    "svg.wide text{fill:var(--dim);font-size:10px}svg.wide line{stroke:var(--line)}svg.wide .bars{fill:var(--blue)}\n"
    "svg.wide .dots{stroke:var(--blue);stroke-width:3;stroke-linecap:round;opacity:.6;fill:none}\n"
    "svg.wide .middle{stroke:var(--red);stroke-width:1.6;fill:none}\n"
    "main .plan text,main .noise text{fill:var(--ink)}main .plan .paper,main .noise .paper{fill:var(--card)}\n"
    "main .plan .kind,main .noise .kind{fill:var(--dim)}main .plan .grid,main .noise .grid{stroke:var(--line)}\n"
    "main .plan .axis,main .plan .arena,main .noise .axis{stroke:var(--ink)}main .plan .red,main .noise .red{fill:var(--red)}main .plan "
    ".in{fill:#222}\n"
    "main .plan .group{fill:var(--group)}main .plan .live{fill:var(--live)}main .plan .over{fill-opacity:var(--over)}\n"
    "main .noise .own{stroke:var(--red)}main .noise .owndot{fill:var(--red)}main .noise .out{stroke:var(--blue)}main .noise "
    ".outdot{fill:var(--blue)}\n"
    "footer{margin-top:40px;font-size:.85rem}\n";

static void put(FILE *file, const char *format, va_list list) {
    char *text = NULL;
    must_have(vasprintf(&text, format, list) < 0 ? NULL : text, 1);
    text_put_xml(file, text, false);
    free(text);
}

/* An element around a text. */
#define PUT_INSIDE(file, before, format, after) \
    do { \
        va_list list; \
        fputs(before, file); \
        va_start(list, format); \
        put(file, format, list); \
        va_end(list); \
        fputs(after, file); \
    } while (0)

void page_put(FILE *file, const char *format, ...) {
    PUT_INSIDE(file, "", format, "");
}

void page_paragraph(FILE *file, const char *format, ...) {
    PUT_INSIDE(file, "<p>", format, "</p>\n");
}

void page_cell(FILE *file, const char *format, ...) {
    PUT_INSIDE(file, "<td>", format, "</td>");
}

void page_number(FILE *file, const char *format, ...) {
    PUT_INSIDE(file, "<td class=\"n\">", format, "</td>");
}

void page_tile(FILE *file, const char *name, const char *format, ...) {
    PUT_INSIDE(file, "<div class=\"tile\"><b>", format, "</b>");
    page_put(file, "%s", name);
    fputs("</div>\n", file);
}

void page_fact(FILE *file, const char *name, const char *format, ...) {
    fputs("<tr><th>", file);
    page_put(file, "%s", name);
    PUT_INSIDE(file, "</th><td class=\"long\">", format, "</td></tr>\n");
}

bool page_names(const char *option, const char *path, struct failure *failure) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return !dot || !strcasecmp(dot, ".html") || !strcasecmp(dot, ".htm") ||
           failure_set(failure, STATUS_CALL, "%s %s: what is written is a page of HTML; name it FILE.html", option, path);
}

void page_start(FILE *file, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<title>",
          file);
    page_put(file, "%s", title);
    fputs("</title>\n<style>\n", file);
    fputs(style, file);
    fputs("</style>\n</head>\n<body>\n<main>\n<h1>", file);
    page_put(file, "%s", title);
    fputs("</h1>\n", file);
}

void page_end(FILE *file) {
    fprintf(file, "<footer>Made by morsel %s.</footer>\n</main>\n</body>\n</html>\n", morsel_version());
}

void page_heading(FILE *file, const char *text) {
    fprintf(file, "<h2>%s</h2>\n", text);
}

void page_tiles(FILE *file, bool begin) {
    fputs(begin ? "<div class=\"tiles\">\n" : "</div>\n", file);
}

void page_table(FILE *file, const char *columns) {
    fputs("<div class=\"box\"><table>\n", file);
    if (*columns) fputs("<thead><tr>", file);
    for (const char *at = *columns ? columns : NULL; at;) {
        size_t length = strcspn(at, "|");
        bool number = *at == '#';
        fprintf(file, "<th%s>%.*s</th>", number ? " class=\"n\"" : "", (int)length - number, at + number);
        at = at[length] ? at + length + 1 : NULL;
    }
    fputs(*columns ? "</tr></thead>\n<tbody>\n" : "<tbody>\n", file);
}

void page_table_end(FILE *file) {
    fputs("</tbody></table></div>\n", file);
}

void page_bar(FILE *file, double share) {
    fprintf(file, "<td class=\"bar\"><i style=\"width:%.1f%%\"></i></td>", share >= 0 && share <= 1 ? 100 * share : 0);
}

/* --- Pictures --- */

/* The mean of the pixels that fall into each of the small one. */
static bool shrink(const struct image *image, struct image *small, struct failure *failure) {
    uint32_t longer = image->width > image->height ? image->width : image->height;
    uint64_t width = longer > PICTURE_SIDE ? ((uint64_t)image->width * PICTURE_SIDE + longer - 1) / longer : image->width;
    uint64_t height = longer > PICTURE_SIDE ? ((uint64_t)image->height * PICTURE_SIDE + longer - 1) / longer : image->height;
    if (!image_allocate(small, width, height, SIZE_MAX, failure)) return false;
    for (uint64_t i = 0; i < width * height; i++) {
        uint64_t x0 = i % width * image->width / width, x1 = (i % width + 1) * image->width / width;
        uint64_t y0 = i / width * image->height / height, y1 = (i / width + 1) * image->height / height, sum[3] = {0};
        for (uint64_t y = y0; y < y1; y++)
            for (uint64_t k = 3 * x0; k < 3 * x1; k++) sum[k % 3] += image->rgb[3 * y * image->width + k];
        for (int c = 0; c < 3; c++) small->rgb[3 * i + c] = (uint8_t)(sum[c] / ((x1 - x0) * (y1 - y0)));
    }
    return true;
}

static void put_base64(FILE *file, const uint8_t *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (i + 1 < size) three |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < size) three |= bytes[i + 2];
        putc(digits[three >> 18], file);
        putc(digits[three >> 12 & 63], file);
        putc(i + 1 < size ? digits[three >> 6 & 63] : '=', file);
        putc(i + 2 < size ? digits[three & 63] : '=', file);
    }
}

bool page_picture(FILE *file, const struct image *image, struct failure *failure) {
    struct image small = {0};
    uint8_t *bytes = NULL;
    size_t size;
    bool good = shrink(image, &small, failure) && image_encode_png(&small, &bytes, &size, failure);
    if (good) {
        fputs("<img alt=\"\" src=\"data:image/png;base64,", file);
        put_base64(file, bytes, size);
        fputs("\">", file);
    }
    image_free(&small);
    free(bytes);
    return good;
}
