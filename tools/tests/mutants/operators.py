# SPDX-License-Identifier: MIT
"""The changes that make mutants: one operator at one place in a line of C."""

import collections
import re

# number: of the line, from 0; old and new: the whole line, before and after.
Mutant = collections.namedtuple("Mutant", "path number operator old new")

SWAPS = [
    ("relational", {" < ": [" <= "], " <= ": [" < "], " > ": [" >= "], " >= ": [" > "],
                    " == ": [" != "], " != ": [" == "]}),
    ("logical", {" && ": [" || "], " || ": [" && "]}),
    ("arithmetic", {" + ": [" - "], " - ": [" + "], " / ": [" * "], " % ": [" / "],
                    " << ": [" >> "], " >> ": [" << "], " & ": [" | "], " | ": [" & "],
                    " += ": [" -= "], " -= ": [" += "], " |= ": [" &= "], " &= ": [" |= "],
                    "++": ["--"], "--": ["++"]}),
    ("boolean", {"true": ["false"], "false": ["true"]}),
]

# Comments, strings and characters, including those that continue on the next line.
LITERAL = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
# These state conditions that hold anyway, prefetch, let others run, for which there is the suite
# neighbours, or trace, for which there is the suite trace.
NO_BEHAVIOUR = re.compile(r"\b(?:static_assert|lockdep_assert\w*|TWHEEL_EXPECT|BUILD_BUG_ON\w*"
                          r"|prefetchw?|cond_resched|trace_twheel_\w+|EXPORT_SYMBOL\w*"
                          r"|MODULE_\w+)\(")
# Except -1, which stands for an error.
NUMBER = re.compile(r"(?<![\w.-])\d+(?=(?:[uU]?[lL]{0,2})\b)(?![.x])")
CONDITION = re.compile(r"\b(?:if|while) \(")
DECLARATION = re.compile(r"\t+(?:const |static |struct |union |enum |unsigned |int |bool |long |"
                         r"char |void |size_t |ssize_t |u?int\d+_t |(?:__)?[us]\d+ |"
                         r"[A-Z_]+\(|return\b|goto |case |default:|else\b|do\b)")
# A statement begins after one of these.
BEFORE = re.compile(r"(?:[;{}:]|\belse|^\t*(?:if|for|while|\w*for_each\w*) ?\(.*\))$")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def closing(text, start):
    """The place where the parenthesis that opens before @start is closed, or -1."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i
    return -1


def swapped(code):
    """(operator, begin, end, replacement) of every swap in a line without literals."""
    for operator, swaps in SWAPS:
        words = "|".join(r"\b%s\b" % word if word.isalpha() else re.escape(word)
                         for word in sorted(swaps, key=len, reverse=True))
        for match in re.finditer(words, code):
            for new in swaps[match[0]]:
                yield operator, match.start(), match.end(), new


def changed(code, before):
    """Like swapped(), for all operators; @before is the code of the previous line."""
    yield from swapped(code)
    for match in NUMBER.finditer(code):
        yield "constant", *match.span(), str(int(match[0]) + 1)
        if match[0] == "1":
            yield "constant", *match.span(), "0"
    for match in CONDITION.finditer(code):
        end = closing(code, match.end())
        if end > 0:
            yield "negation", match.end(), end, "!(%s)" % code[match.end():end]
    statement = code.strip()
    if (statement.endswith(";") and len(statement) > 1 and not DECLARATION.match(code)
            and code.startswith("\t") and statement.count("(") == statement.count(")")
            and BEFORE.search(before.rstrip())):
        begin = len(code) - len(code.lstrip())
        yield "removal", begin, len(code.rstrip()), ";"


def mutants_of(path, text):
    """Every mutant of a source, in the order of its lines."""
    code = DIRECTIVE.sub(blank, LITERAL.sub(blank, text)).split("\n")
    before = ""
    for number, (line, bare) in enumerate(zip(text.split("\n"), code)):
        if not bare.strip():
            continue
        if not NO_BEHAVIOUR.search(bare):
            for operator, begin, end, new in changed(bare, before):
                if operator == "negation":
                    new = "!(%s)" % line[begin:end]
                yield Mutant(path, number, operator, line, line[:begin] + new + line[end:])
        before = bare
