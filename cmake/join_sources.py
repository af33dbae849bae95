"""Joins sources of one target into few files, which compile in a fraction of the time: most of what one source takes
is the headers that all of them read.

    join_sources.py FOLDER SOURCE...      writes FOLDER/1.cc, ..., and prints what to compile in place of the sources

A joined file reads all headers, then the sources. No name of an anonymous namespace is seen by another source: where
another one has the word too, a macro renames it while its own source is read. A source in which the word may stand for
something else as well (after `.`, `->` or `::`, or as a header's) goes into another file. So do two sources of which one
says `using absl::StatusCode` and the other `using grpc::StatusCode`, and Highway's, which read themselves once for each
processor.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\d)\'(?:\\.|[^\'\\\n])+\'', re.S)
_WORD = re.compile(r"[A-Za-z_]\w*")
_TEST = re.compile(r"[A-Z_]{2,} ?\(")  # TEST_F (Suite, Name): a macro, no function of that name
_ALONE = ("foreach_target.h", "#define HWY_TARGET_INCLUDE")


def code_of(text):
    """The text without comments and what quotes hold."""
    return _NOT_CODE.sub(lambda found: '""' if found[0].startswith(('"', "R")) else " ", text)


@functools.lru_cache(maxsize=None)
def words_of_header(name):
    """The words of one of our headers, and the names of those that it includes."""
    file = ROOT / name
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return frozenset(_WORD.findall(code_of(text))), frozenset(re.findall(r'#include "([^"]+)"', text))


def words_of_headers(names):
    seen, queue, words = set(), list(names), set()
    while queue:
        name = queue.pop()
        if name not in seen:
            seen.add(name)
            own, more = words_of_header(name)
            words |= own
            queue += more
    return words


class Source:
    def __init__(self, path):
        self.path = path
        text = pathlib.Path(path).read_text(encoding="utf-8")
        self.alone = not path.endswith(".cc") or any(mark in text for mark in _ALONE)
        code = code_of(text)
        # Headers that all may read first: those that stand under no condition.
        self.headers, depth, defines = [], 0, False
        for line in re.findall(r"^[ \t]*#[^\n]*", text, re.M):
            word = line.lstrip(" \t#")
            depth += word.startswith("if") - word.startswith("endif")
            defines |= word.startswith("define")
            if word.startswith("include") and depth == 0:
                self.headers.append(line)
                self.alone |= defines  # a header may read what is defined before it
        code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", code, flags=re.M)
        self.words = set(_WORD.findall(code))
        self.other = set(re.findall(r"(?:\.|->|::)\s*(?:template\s+)?([A-Za-z_]\w*)", code))
        self.other |= words_of_headers(re.findall(r'#include "([^"]+)"', text))
        self.own = _hidden_names(code)
        self.imported = {word: place for place, word in re.findall(r"\busing\s+([\w:]+)::(\w+)\s*;", code)}

    def clashes(self, other):
        """The names of `self` to rename beside `other`; None if that cannot be done."""
        if any(other.imported.get(word, place) != place for word, place in self.imported.items()):
            return None
        words = self.own & other.words
        return None if words & self.other else words


def _hidden_names(code):
    """What the anonymous namespaces define."""
    names = set()
    for start in re.finditer(r"\bnamespace\s*\{", code):
        outer, depth = [], 1
        for token in re.finditer(r"[{}]|[^{}]+", code[start.end():]):
            if token[0] == "{":
                depth += 1
            elif token[0] == "}":
                depth -= 1
                if depth == 0:
                    break
                if depth == 1:
                    outer.append(";")
            elif depth == 1:
                outer.append(token[0])
        for statement in "".join(outer).split(";"):
            names |= _name_of(" ".join(statement.split()))
    return names - {"requires", "static_assert"}


def _name_of(statement):
    while statement.startswith("template"):
        depth, place = 0, 0
        for place, character in enumerate(statement):
            depth += (character == "<") - (character == ">")
            if character == ">" and depth == 0:
                break
        statement = statement[place + 1:].strip()
    found = re.match(r"using (\w+) =", statement)
    if found:
        return {found[1]}
    if not statement or statement.startswith(("using ", "namespace ")) or _TEST.match(statement):
        return set()
    found = re.match(r"(?:enum (?:class )?|class |struct |union )(?:ABSL_\w+ |\[\[\w+\]\] )*(\w+)(?: final)?(?: ?:| ?$)",
                     statement)
    if found:
        return {found[1]}
    head = statement.split("=")[0]
    found = re.search(r"(\w+) ?\(", head)
    if found:
        return {found[1]}
    # Variables, of which one statement may define several.
    plain, before = statement, None
    while plain != before:
        plain, before = re.sub(r"\([^()]*(?:\)|$)|<[^<>]*>|\[[^\]]*\]", "", plain), plain
    names = (re.search(r"([A-Za-z_]\w*) ?(?:ABSL_\w+ ?)?$", part.split("=")[0]) for part in plain.split(","))
    return {name[1] for name in names if name}


def batches_of(sources):
    batches = []
    for source in sources:
        for batch in batches:
            if not source.alone and not batch[0].alone and all(
                    source.clashes(other) is not None and other.clashes(source) is not None for other in batch):
                batch.append(source)
                break
        else:
            batches.append([source])
    return batches


def joined(batch):
    lines = list(dict.fromkeys(line for source in batch for line in source.headers))
    for number, source in enumerate(batch):
        renamed = sorted(set().union(*(source.clashes(other) for other in batch if other is not source)))
        lines += ["#define %s %s_%d" % (name, name, number) for name in renamed]
        lines.append('#include "%s"' % source.path)
        lines += ["#undef " + name for name in renamed]
    return "\n".join(lines) + "\n"


def main(folder, *paths):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    compiled = []
    for number, batch in enumerate(batches_of([Source(path) for path in paths]), 1):
        if len(batch) == 1:
            compiled.append(batch[0].path)
            continue
        file, text = folder / ("%d.cc" % number), joined(batch)
        if not file.exists() or file.read_text() != text:  # or all is compiled again
            file.write_text(text)
        compiled.append(str(file))
    print(";".join(compiled), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
