# SPDX-License-Identifier: MIT
"""check.py FILE.html [TEXT...]: whether a page of `morsel report` stands alone and is well-formed.

Every element is closed where it should be, there is no script and no handler of events, and no attribute and no style names anything
outside the page. All rows of a table have as many cells. The page is told to fit a phone and to take both colour schemes.
TEXT: what its text or an attribute has to hold.
"""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "img", "br"}
# Those that the page is made of; shapes of SVG are written as empty elements.
KNOWN = VOID | set("html head title style body main h1 h2 p b i div footer figure figcaption table thead tbody tr th td".split()) \
    | set("svg g rect line path text circle defs pattern".split())
ATTRIBUTES = set("lang charset name content http-equiv class style title alt src role id transform d points".split()) \
    | set("width height viewbox x y x1 y1 x2 y2 cx cy r fill stroke text-anchor font-family font-size font-weight".split()) \
    | set("stroke-width stroke-opacity patternunits".split())


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.texts, self.styles, self.images, self.metas = [], [], [], [], 0, []
        self.rows = []  # of the table that is open: how many cells each has

    def fault(self, text):
        self.faults.append(f"line {self.getpos()[0]}: {text}")

    def attribute(self, tag, name, value):
        if name not in ATTRIBUTES and not name.startswith("data-"):
            self.fault(f"attribute {name} of {tag}")
        if name == "src" and not re.fullmatch(r"data:image/png;base64,[A-Za-z0-9+/]+=*", value or ""):
            self.fault(f"src of {tag} is no picture inside the page")
        if name in ("style", "fill", "stroke") and re.search(r"url\((?!#)|@import|expression|://", value or ""):
            self.fault(f"{name} of {tag} names something outside")
        self.texts.append(value or "")

    def handle_startendtag(self, tag, attrs):
        self.start(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self.start(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def start(self, tag, attrs):
        if tag not in KNOWN:
            self.fault(f"element {tag}")
        if tag == "img":
            self.images += 1
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append(0)
        if tag in ("th", "td"):
            self.rows[-1] += 1
        if tag == "meta":
            self.metas.append(dict(attrs))
        for name, value in attrs:
            self.attribute(tag, name, value)
        if len({name for name, _ in attrs}) < len(attrs):
            self.fault(f"an attribute of {tag} stands twice")

    def handle_endtag(self, tag):
        if tag == "table" and len(set(self.rows)) > 1:
            self.fault(f"a table whose rows have {sorted(set(self.rows))} cells")
        if not self.open or self.open[-1] != tag:
            self.fault(f"</{tag}> where {self.open[-1:]} is open")
        else:
            self.open.pop()

    def handle_data(self, data):
        (self.styles if self.open[-1:] == ["style"] else self.texts).append(data)

    def handle_comment(self, data):
        self.fault("a comment")

    def unknown_decl(self, data):
        self.fault("a declaration")


def check(path, wanted):
    page = Page()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    faults = page.faults
    if page.open:
        faults.append(f"left open: {page.open}")
    style = "".join(page.styles)
    if re.search(r"url\(|@import|://", style) or style.count("{") != style.count("}"):
        faults.append("a style names something outside, or is not whole")
    if "prefers-color-scheme:dark" not in style:
        faults.append("no dark style")
    if not any(meta.get("name") == "viewport" and "width=device-width" in meta["content"] for meta in page.metas):
        faults.append("no viewport")
    if not any("default-src 'none'" in meta.get("content", "") for meta in page.metas):
        faults.append("no policy that forbids what is outside")
    text = "\n".join(page.texts)
    faults += [f"it does not say {want!r}" for want in wanted if want not in text]
    for fault in faults[:10]:
        print(fault)
    print(f"{page.images} pictures")
    return not faults


if __name__ == "__main__":
    sys.exit(0 if check(sys.argv[1], sys.argv[2:]) else 1)
