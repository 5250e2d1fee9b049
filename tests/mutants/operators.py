# SPDX-License-Identifier: MIT
"""The small changes that a test should see, made in C source by its tokens: mutants(text) lists them.

Operators: relations, arithmetic, logic, shifts and masks become their neighbours; integers and limits by name move by one; a condition is
negated or never met; a statement is left out; a function returns 0 or 1. What does not compile is no mutant, which the caller finds out.
"""
import collections
import re

Mutant = collections.namedtuple("Mutant", "line start end new")  # text[start:end] becomes `new`
Token = collections.namedtuple("Token", "kind text start end")

SCANNER = re.compile(
    r"(?P<skip>\s+|/\*.*?\*/|//[^\n]*)|(?P<macro>^[ \t]*\#[ \t]*define[ \t]+\w+(\([^)]*\))?)|(?P<directive>^[ \t]*\#([^\n]*\\\n)*[^\n]*)"
    r"|(?P<string>\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*')|(?P<number>\.?\d([eEpP][+-]|[\w.])*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)", re.S | re.M)

RELATIONS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
BINARY = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
          "&&": ["||"], "||": ["&&"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "%=": ["/="], "&=": ["|="], "|=": ["&="],
          "^=": ["|="], "<<=": [">>="], ">>=": ["<<="], "?": ["&& 0 ?", "|| 1 ?"]}
ALONE = {"!": [""], "~": [""], "-": [""], "++": ["--"], "--": ["++"]}
TYPES = set("const static struct enum union int unsigned char float double void size_t typedef extern inline register".split())
CONTROL = set("return if for while do switch case default else goto break continue sizeof".split())


def tokens(text):
    return [Token(m.lastgroup if m.lastgroup in ("number", "name", "string", "macro", "directive") else "mark", m.group(), m.start(), m.end())
            for m in SCANNER.finditer(text) if not m.group("skip")]


def is_value(token):
    """Whether an operator behind the token has a left side."""
    return token.kind in ("number", "string") or token.text in (")", "]") or (token.kind == "name" and token.text not in CONTROL)


def moved_number(word):
    """By one up and down; the suffix stays."""
    whole = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", word)
    if not whole:
        return [f"({word} + 1)", f"({word} - 1)"]
    value = int(whole[1], 0)
    return [f"{n}{whole[2]}" for n in (value + 1, value - 1) if n >= 0]


def is_limit(tokens, i):
    """A constant by name beside a relation or an operation."""
    near = {"<", "<=", ">", ">=", "+", "-", "*", "/", "%", "<<", ">>"}
    named = re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", tokens[i].text)
    return named and (tokens[i - 1].text in near or tokens[i + 1].text in near) and tokens[i + 1].text != "("


def closing(tokens, i):
    """The parenthesis that closes the one at i."""
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(tokens[i].text, 0)
        if not depth:
            return i
        i += 1


def changed_tokens(all_tokens):
    for i, t in enumerate(all_tokens[:-1]):
        before = all_tokens[i - 1]
        if t.text in RELATIONS:
            news = RELATIONS[t.text]
        elif t.text in BINARY and is_value(before):
            news = BINARY[t.text]
        elif t.text in ALONE and (t.text in ("++", "--") or not is_value(before)):
            news = ALONE[t.text]
        elif t.kind == "number" and before.text == "return" and all_tokens[i + 1].text == ";":
            continue  # what a function returns is changed as a statement
        elif t.kind == "number":
            news = moved_number(t.text)
        elif t.kind == "name" and is_limit(all_tokens, i):
            news = [f"({t.text} + 1)", f"({t.text} - 1)"]
        else:
            continue
        for new in news:
            yield t.start, t.end, new


def changed_conditions(all_tokens, text):
    for i, t in enumerate(all_tokens):
        if t.text in ("if", "while"):
            end = closing(all_tokens, i + 1)
            inside = text[all_tokens[i + 1].end:all_tokens[end].start]
            yield all_tokens[i + 1].end, all_tokens[end].start, f"!({inside})"
            if t.text == "if":
                yield all_tokens[i + 1].end, all_tokens[end].start, "0"


def statement_ends(all_tokens, i):
    """Index of the semicolon of a statement that begins at i; None for blocks."""
    depth = 0
    for k in range(i, len(all_tokens)):
        word = all_tokens[k].text
        depth += word in ("(", "[")
        depth -= word in (")", "]")
        if word in ("{", "}"):
            return None
        if word == ";" and not depth:
            return k
    return None


def statement_starts(all_tokens):
    depth = 0
    for i, t in enumerate(all_tokens[:-1]):
        depth += {"{": 1, "}": -1}.get(t.text, 0)
        if depth and t.text in (";", "{", "}", "else", "do"):
            yield i + 1
        elif depth and t.text in ("if", "for", "while"):
            yield closing(all_tokens, i + 1) + 1


def changed_statements(all_tokens, text):
    for i in sorted(set(statement_starts(all_tokens))):
        first, end = all_tokens[i], statement_ends(all_tokens, i)
        declares = first.text in TYPES or re.fullmatch(r"\w+_t|__m\d+i?", first.text)
        if end is None or declares or first.text in (";", "else", "if", "for", "while", "do", "case", "default"):
            continue
        semicolon = all_tokens[end]
        if first.text != "return":
            yield first.start, semicolon.start, ""
            continue
        value = text[all_tokens[i + 1].start:semicolon.start]
        for new in ("0", "1"):
            if value and value != new:
                yield all_tokens[i + 1].start, semicolon.start, new


def mutants(text):
    words = [t for t in tokens(text) if t.kind not in ("macro", "directive")]
    changes = set(changed_tokens(words)) | set(changed_conditions(words, text)) | set(changed_statements(words, text))
    return [Mutant(text.count("\n", 0, start) + 1, start, end, new) for start, end, new in sorted(changes)]


def apply(text, mutant):
    return text[:mutant.start] + mutant.new + text[mutant.end:]


def changed_line(text, mutant):
    """The line of the change, as it was and as it is; where more lines change, as one each."""
    start, end = text.rfind("\n", 0, mutant.start) + 1, text.find("\n", mutant.end)
    old = text[start:end]
    new = text[start:mutant.start] + mutant.new + text[mutant.end:end]
    return " ".join(old.split()), " ".join(new.split())
