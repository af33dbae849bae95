#!/usr/bin/env python3
"""Writes the package's module `messages`: the classes and field numbers of what it says and hears.

usage: generate_messages.py FILE

The API's .proto files are the only home of names, numbers and their explanations; this turns them
into Python. A oneof called `kind` is folded: each of its cases becomes a class, which has the
fields of the case and then those beside the oneof, so that trainers write Poisson(0.01) where the
API nests a Poisson in a SamplingScheme.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent / "proto"
SOURCE = "dpledger/v1/accounting_service.proto"

# What a question of this package neither says nor hears.
LEFT_OUT = {"Subject.ledgers", "Subject.up_to_sequence", "Subject.dataset", "LedgerReference.fork",
            "LedgerReference.import"}
BY_HAND = {"Interval"}  # dpledger/interval.py
# Of questions and answers, as requests and responses are.
ENVELOPES = {"Subject", "AccountingOptions", "AnswerDetails", "LedgerReference", "CorrectionNote",
             "MissingReleases", "FilterSpending"}
# Numbers that need not be stated: what the .proto files say that their absence means.
HAVE_DEFAULTS = {"epoch": None, "xi": None, "group": None, "grid": None, "monotonic": None,
                 "fixed_bins": None, "contributions": "1"}
# before other arguments with a default: they once had none
KEEP_PLACES = {"contributions", "fixed_bins"}

# Of classes that the .proto files say nothing of, as their names do where events are read one after
# another.
MEANINGS = {
    "SumQuery": "A noised sum over a sample: what one record can change in it, and its "
    "noise. SumQuery(1.0, z) has noise multiplier z.",
    "WithoutReplacement": "A sample of `sample_size` records, each set of so many with "
    "the same chance.",
    "WithReplacement": "A sample of `sample_size` draws, each of any record: a record "
    "may be in it several times.",
    "NoOp": "Nothing was released.",
    "Gaussian": "A sum, or any vector, with Gaussian noise: noise_multiplier is the "
    "noise's standard deviation over what adding or removing one record can change (L2 norm).",
    "Laplace": "A sum, or any vector, with Laplace noise: noise_multiplier is the "
    "noise's scale over what adding or removing one record can change (L1 norm).",
    "DiscreteLaplace": "A whole number with noise P(k) ∝ e^{-a|k|} on whole numbers (the "
    "geometric mechanism).",
    "RandomizedResponse": "Each record's answer, replaced with some probability by a "
    "uniformly random one.",
    "EpsilonDelta": "Any mechanism that is (ε, δ)-DP, of which nothing else is known.",
    "ZCDp": "Any mechanism that is (ξ, ρ)-zero-concentrated DP: its Rényi divergence of "
    "order α is at most ξ + ρα.",
    "ExponentialMechanism": "The exponential mechanism that is ε-DP: a choice among "
    "candidates by noised score.",
    "PermuteAndFlip": "The permute-and-flip mechanism that is ε-DP: a choice among candidates.",
    "MixtureOfGaussians": "A sum with Gaussian noise, to which a record adds one of "
    "`sensitivities`, drawn with `sampling_probs`.",
    "PoissonSampled": "A mechanism on a sample in which each record is with "
    "`sampling_probability`, independently.",
    "SampledWithoutReplacement": "A mechanism on a sample of a fixed size, each set of "
    "so many records with the same chance.",
    "SampledWithReplacement": "A mechanism on a fixed number of draws, each of any record.",
    "TruncatedSubsampledGaussian": "A noised sum over a Poisson sample, of which at most "
    "`truncated_batch_size` records are kept.",
    "SingleEpochTreeAggregation": "All partial sums of a binary tree over steps, with "
    "Gaussian noise: each record is in one leaf of one tree (DP-FTRL).",
    "SelfComposed": "A mechanism, run `count` times.",
    "Composed": "Several mechanisms on the same data.",
    "FilterSpending": "What an adaptive ledger has spent of its filter.",
    "CorrectionNote": "What a correction says of an earlier entry.",
    "NegativeBinomialTrials": "The number of runs has a negative binomial distribution "
    "without 0.",
    "PoissonTrials": "The number of runs has a Poisson distribution.",
    "ProfilePoint": "A point of the privacy profile.",}

# FieldDescriptorProto.Type
SCALARS = {1: ("double", "float", "0.0"), 4: ("uint64", "int", "0"), 8: ("bool", "bool", "False"),
           9: ("string", "str", '""'), 12: ("bytes", "bytes", 'b""'), 13: ("uint64", "int", "0")}
ENUM, MESSAGE, REPEATED = 14, 11, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def raw(data):
    """The fields of a serialised message: {number: [value, ...]}. Whole numbers and bytes suffice
    for descriptors."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("descriptors have no such wire type: %d" % (tag & 7))
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def text(fields, number):
    return fields[number][0].decode() if number in fields else ""


def comments(info):
    """{path: comment} of SourceCodeInfo."""
    found = {}
    for location in raw(info).get(1, []):
        location = raw(location)
        path, at = [], 0
        packed = location.get(1, [b""])[0]
        while at < len(packed):
            step, at = varint(packed, at)
            path.append(step)
        words = (text(location, 3) + text(location, 4)).strip()
        found[tuple(path)] = re.sub(r"\s+", " ", words)
    return found


class Field:
    def __init__(self, data, comment):
        data = raw(data)
        self.name, self.number, self.kind = text(data, 1), data[3][0], data[5][0]
        self.repeated = data[4][0] == REPEATED
        self.type = text(data, 6).rsplit(".", 1)[-1]
        # 17: proto3_optional
        self.oneof = data[9][0] if 9 in data and not data.get(17, [0])[0] else None
        self.optional = bool(data.get(17, [0])[0])
        self.comment = comment


class Message:
    def __init__(self, data, path, told):
        data = raw(data)
        self.name, self.comment = text(data, 1), told.get(path, "")
        self.fields = [Field(field, told.get(path + (2, i), "")) for i, field in enumerate(
            data.get(2, [])) if self.name + "." + text(raw(field), 1) not in LEFT_OUT]
        self.oneofs = [text(raw(oneof), 1) for oneof in data.get(8, [])]

    @property
    def folded(self):
        return bool(self.oneofs) and self.oneofs[0] == "kind"


def read():
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "set"
        subprocess.run(["protoc", "-I", str(PROTO), "--include_imports", "--include_source_info",
                        "--descriptor_set_out=" + str(output), SOURCE], check=True)
        files = raw(output.read_bytes())[1]
    messages, enums, methods = {}, {}, {}
    for file in map(raw, files):
        if text(file, 2) != "dpledger.v1":
            continue
        told = comments(file[9][0])
        for i, data in enumerate(file.get(4, [])):
            message = Message(data, (4, i), told)
            messages[message.name] = message
        for data in map(raw, file.get(5, [])):
            enums[text(data, 1)] = [(text(raw(value), 1), raw(value).get(2, [0])[0])
                                    for value in data[2]]
        for service in map(raw, file.get(6, [])):
            if text(service, 1) == "AccountingService":
                methods = {text(raw(m), 1): (text(raw(m), 2).rsplit(
                    ".", 1)[-1], text(raw(m), 3).rsplit(".", 1)[-1]) for m in service[2]}
    return messages, enums, methods


def reached(messages, enums, methods):
    """Names of the messages and enums that the methods need, in the order in which they are
    declared."""
    wanted, todo = set(), [name for pair in methods.values() for name in pair]
    while todo:
        name = todo.pop()
        if name in wanted:
            continue
        wanted.add(name)
        if name in messages:
            todo += [field.type for field in messages[name].fields if field.type]
    return [name for name in messages if name in wanted], [name for name in enums if name in wanted]


def words(value):
    """ADD_OR_REMOVE_ONE as Python writes it."""
    return value.lower().replace("_", "-")


def enum_words(values):
    """{text: number}; the value that says nothing is the empty text."""
    return {
        "" if value.endswith("UNSPECIFIED") else words(value): number for value, number in values}


class Writer:
    def __init__(self, messages, enums):
        self.messages, self.enums = messages, enums
        self.lines = []

    def annotation(self, field):
        if field.kind == ENUM:
            kind = field.type
        elif field.kind == MESSAGE:
            kind = field.type
        else:
            kind = SCALARS[field.kind][1]
        if field.repeated:
            return "Sequence[%s]" % kind
        if field.optional or field.oneof is not None:
            return "Optional[%s]" % kind
        return kind

    def default(self, field):
        if field.repeated:
            return "()"
        if field.optional or field.oneof is not None or field.kind == MESSAGE:
            return "None"
        if field.kind == ENUM:
            return '"%s"' % next(iter(enum_words(self.enums[field.type])))
        if HAVE_DEFAULTS.get(field.name):
            return HAVE_DEFAULTS[field.name]
        return SCALARS[field.kind][2]

    def wire(self, field):
        kind = field.type if field.kind in (ENUM, MESSAGE) else SCALARS[field.kind][0]
        label = "*" if field.repeated else "?" if field.optional or field.oneof is not None else ""
        return '(%d, "%s", "%s", "%s")' % (field.number, field.name, kind, label)

    def message(self, name, comment, fields, outer=(), event=True):
        """`outer` stand beside the oneof. What an event says must be stated; answers and questions
        have defaults."""
        taken = {field.name for field in fields}
        outer = [field for field in outer if field.name not in taken]
        self.lines += ["", "", "class %s(Message):" % name]
        self.doc(self.meaning(name, comment), [*fields, *outer])
        required = [field for field in fields if event and field.kind != ENUM and not field.optional
                    and field.oneof is None and field.name not in HAVE_DEFAULTS]
        # first, as arguments want it
        members = [(field.name, self.annotation(field), "") for field in required]
        for field in [*fields, *outer]:
            if field in outer and field.name == "count":
                members.append(("count", "int", " = 1"))
            elif field not in required:
                default = self.default(field)
                annotation = self.annotation(field)
                if default == "None" and not annotation.startswith("Optional"):
                    annotation = "Optional[%s]" % annotation
                place = len(required) if field.name in KEEP_PLACES else len(members)
                required = required + [field] if field.name in KEEP_PLACES else required
                members.insert(place, (field.name, annotation, " = " + default))
        self.lines += ["    %s: %s%s" % member for member in members]
        self.wires("_wire", fields)
        if outer:
            self.wires("_beside", outer)
        # a dataclass would make it when the module is imported: half of the package's time
        if members:
            arguments = ", ".join(["self"] + ["%s: %s%s" % member for member in members])
            self.lines += ["", "    "
                           + self.fill("def __init__(%s)~->~None:" % arguments, "                 ",
                                       4).replace("~", " ")]
            self.lines += ["        self.%s = %s" % (member[0], member[0]) for member in members]

    @staticmethod
    def meaning(name, comment):
        """What a class's docstring says first."""
        if name.endswith("Request"):
            return comment or "What %s is asked." % name[:-len("Request")]
        if name.endswith("Response"):
            return comment or "What %s answers." % name[:-len("Response")]
        if not (comment or name in MEANINGS):
            sys.exit("%s: has no comment in the .proto files; give it one in MEANINGS" % name)
        return MEANINGS.get(name, comment)

    def wires(self, name, fields):
        self.lines.append("    %s = (%s)"
                          % (name,
                             "".join("\n        " + self.wire(field) + "," for field in fields)))

    def doc(self, comment, fields):
        told = [field for field in fields if field.comment]
        self.lines.append('    """' + self.fill(comment, "    ", 7) + ("" if told else '"""'))
        if told:
            self.lines.append("")
            for field in told:
                self.lines.append(
                    "    " + self.fill("%s: %s" % (field.name, field.comment), "        ", 4))
            self.lines.append('    """')

    @staticmethod
    def fill(comment, indent, first):
        out, line = [], ""
        room = 117 - first
        for word in comment.split():
            if line and len(line) + 1 + len(word) > room:
                out.append(line)
                line, room = indent + word, 117
            else:
                line = line + " " + word if line else word
        out.append(line)
        return "\n".join(out)


HEADER = '''"""What a question says and what an answer holds, as the API's .proto files have them.

Made by python/generate_messages.py from proto/dpledger/v1.
"""
from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Sequence, Tuple, Union

from .interval import Interval
from ._wire import Message
'''


def class_of(message, field, messages):
    """The class of a folded case: its message's name, unless two cases share that message."""
    shared = sum(other.type == field.type for other in message.fields) > 1
    return "".join(part.capitalize() for part in field.name.split("_")) if shared else field.type


def generate():
    messages, enums, methods = read()
    names, enum_names = reached(messages, enums, methods)
    writer = Writer(messages, enums)
    folded = [messages[name] for name in names if messages[name].folded]
    cases = {field.type for message in folded for field in message.fields
             if field.oneof is not None}
    for name in enum_names:
        table = enum_words(enums[name])
        writer.lines.append("%s = Literal[%s]" % (name, ", ".join('"%s"' % word for word in table)))
    for name in names:
        message = messages[name]
        if name in BY_HAND:
            continue
        if message.folded:
            beside = [field for field in message.fields if field.oneof is None]
            for field in message.fields:
                if field.oneof is None or messages[field.type].folded:
                    continue
                case = messages[field.type]
                writer.message(class_of(message, field, messages), case.comment or field.comment,
                               case.fields, beside)
        elif name not in cases:
            is_event = not name.endswith(("Request", "Response")) and name not in ENVELOPES
            writer.message(name, message.comment, message.fields, event=is_event)
    lines = writer.lines
    lines += ["", ""]
    for message in reversed(folded):  # Event is declared first, and holds the others
        kinds = [class_of(message, field, messages) if not messages[field.type].folded
                 else field.type for field in message.fields if field.oneof is not None]
        lines.append("%s = Union[\n    %s]"
                     % (message.name, Writer.fill(", ".join(kinds), "    ", 4)))
    lines += ["", "# Of each folded message: its cases by number, and the names that the API has "
              "for them."]
    lines.append("FOLDED: Dict[str, Dict[int, Tuple[str, Any]]] = {")
    for message in reversed(folded):
        rows = ['%d: ("%s", %s)'
                % (field.number, field.name, '"%s"' % field.type if messages[field.type].folded
                   else class_of(message, field, messages)) for field in message.fields
                if field.oneof is not None]
        lines.append('    "%s": {' % message.name)
        lines += ["        %s," % row for row in rows]
        lines.append("    },")
    lines += ["}", "ENUMS: Dict[str, Dict[str, int]] = {"]
    for name in enum_names:
        table = ", ".join('"%s": %d' % item for item in enum_words(enums[name]).items())
        lines.append('    "%s": {%s},' % (name, table))
    lines += ["}", "RESPONSES: Dict[str, Any] = {"]
    lines += ['    "%s": %s,' % (method, pair[1]) for method, pair in methods.items()]
    lines += ["}", ""]
    return HEADER + "\n" + "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).write_text(generate())


if __name__ == "__main__":
    main()
