#!/usr/bin/env python3
"""Writes docs/python-api.md from the docstrings of the package.

usage: generate_reference.py [--check]    --check: fails if the file is not what the docstrings give
                                          today

Reads the source alone, so that modules whose packages are not installed are in it too.
"""
import ast
import inspect
import pathlib
import sys
import textwrap

WIDTH = 110
HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parent / "docs" / "python-api.md"
MODULES = ("accounting", "answers", "interval", "errors", "recorder", "store", "sums",
           "torch/exact_sum", "torch/optimizer", "torch/batches", "torch/per_example_gradients",
           "torch/processes", "torch/ghost", "torch/arithmetic", "numpy", "dp_accounting", "opacus",
           "messages")
OPENING = """# Python: reference

Made by python/generate_reference.py from the package's docstrings: change those, and run it.
[python.md](python.md) is the way in.
"""


def signature(node):
    """A function's arguments and result as they are written."""
    arguments = ast.unparse(node.args)
    if arguments.startswith("self"):
        arguments = arguments[4:].lstrip(", ")
    result = " -> " + ast.unparse(node.returns) if node.returns is not None else ""
    return "%s(%s)%s" % (node.name, arguments, result)


def public(node):
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")


def documented(node):
    return inspect.cleandoc(ast.get_docstring(node, clean=False) or "")


def block(title, text):
    """What is too long for a title stands below its name."""
    title = title.replace("\n", " ")
    if len(title) > WIDTH:
        whole = textwrap.fill(title, WIDTH, subsequent_indent="    ", break_long_words=False,
                              break_on_hyphens=False)
        title, text = title.split("(")[0], whole + ("\n\n" + text if text else "")
    return "### `%s`\n\n%s\n" % (title, "```text\n%s\n```" % text if text else "")


def of_module(name):
    tree = ast.parse((HERE / "dpledger" / (name + ".py")).read_text())
    out = ["## dpledger.%s\n" % name.replace("/", ": "),
           documented(tree).split("\n\n")[0].replace("\n", " ") + "\n"]
    overloads = {}  # the first of each function's, which stands for it
    for node in filter(public, tree.body):
        if isinstance(node, ast.FunctionDef):
            if "overload" in map(ast.unparse, node.decorator_list):
                overloads.setdefault(node.name, node)
            else:
                out.append(block(signature(overloads.get(node.name, node)), documented(node)))
            continue
        start = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name
                      == "__init__"),
                     None)
        if start is not None and "Message" not in map(ast.unparse, node.bases):
            title = signature(start).replace("__init__", node.name, 1).split(" -> ")[0]
        else:  # its fields are what its constructor takes
            fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
            title = node.name + ("(%s)" % ", ".join(fields) if fields else "")
        text = [documented(node)]
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and public(part) and documented(part):
                named = part.name if part.decorator_list else signature(part)
                text.append("%s\n    %s" % (named, documented(part).replace("\n", "\n    ")))
        out.append(block(title, "\n\n".join(filter(None, text))))
    return out


def generate():
    out = [OPENING]
    for name in MODULES:
        if (HERE / "dpledger" / (name + ".py")).exists():
            out += of_module(name)
    return "\n".join(out)


def main():
    made = generate()
    if sys.argv[1:] == ["--check"]:
        if not OUTPUT.exists() or OUTPUT.read_text() != made:
            sys.exit("%s is not what the docstrings give: run python/generate_reference.py"
                     % OUTPUT)
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        OUTPUT.write_text(made)


if __name__ == "__main__":
    main()
