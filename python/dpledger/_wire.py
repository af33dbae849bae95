"""Writes protocol buffers' binary form, as far as the messages of this package use it; `_decoding`
reads it.

A message's class lists its fields as (number, name, type, label); label "*" is repeated, "?" is one
that may be absent. What encodes them is made once for each class, when it is first used. Thread
safe.
"""
from __future__ import annotations

import math
import operator
import struct
from typing import Any, Callable, Dict, List, Optional, Tuple

from .errors import Error, InvalidArgument, WrongType

_DOUBLE = struct.Struct("<d")
ZEROS = {"double": 0.0, "uint64": 0, "bool": False, "string": "", "bytes": b""}


class _Explaining(type):
    """Of classes whose constructors say which arguments they have."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        try:
            return super().__call__(*arguments, **named)
        except TypeError:
            from ._words import explained  # which knows the messages
            found = explained(cls.__init__, (None, *arguments), named, cls.__name__)
            if found is None:
                raise
        raise found


class Message(metaclass=_Explaining):
    """A message of the API; equal to another one of its class with equal fields."""

    _wire: Tuple[Tuple[int, str, str, str], ...] = ()
    _beside: Tuple[Tuple[int, str, str, str], ...] = ()  # fields of the message whose case this is

    def __repr__(self) -> str:
        """As Python makes it; fields that have their default are left out."""
        shown = ["%s=%r" % (name, getattr(self, name)) for _, name, _, _ in self._wire
                 + self._beside if not _same(getattr(self, name), getattr(type(self), name, _same))]
        return "%s(%s)" % (type(self).__name__, ", ".join(shown))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return encode(self) == encode(other)

    __hash__ = None  # type: ignore[assignment]


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


class _Wrong(Exception):
    """A value that has no place in its field; `path` grows on the way out."""

    def __init__(self, kind: type, text: str) -> None:
        super().__init__(text)
        self.kind, self.path = kind, ""

    def inside(self, name: str) -> "_Wrong":
        self.path = name + ("" if not self.path or self.path.startswith("[") else ".") + self.path
        return self


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # an object of someone else's
        text = "..."
    return text if len(text) <= 60 else text[:57] + "..."


def _got(value: Any) -> str:
    return "%s (%s)" % (_short(value), type(value).__name__)


def _a(name: str) -> str:
    return ("an " if name[0] in "AEIO" else "a ") + name


def real(value: Any, name: str) -> float:
    """`value` as a double; infinite beyond the greatest one. WrongType if it is no number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:
        raise WrongType("%s: must be a number, got %s" % (name, _got(value)), field=name) from None


def whole(value: Any, name: str, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """`value` as a whole number in [least, most]; 1e4 is one."""
    try:
        number = operator.index(value)
    except Exception:
        found = real(value, name)
        if math.isfinite(found) and not found.is_integer() or math.isnan(found):
            raise WrongType("%s: must be a whole number, got %s" % (name, _got(value)),
                            field=name) from None
        number = int(found) if math.isfinite(found) else most + 1 if found > 0 else least - 1
    if not least <= number <= most:
        ends = ("2^64)" if most == (1 << 64) - 1 else "2^%d]" % (most.bit_length() - 1)
                if most >= 1 << 20 and not most & (most - 1) else "%d]" % most)
        raise InvalidArgument("%s: must be in [%d, %s, got %s" % (name, least, ends, _short(value)),
                              field=name)
    return number


def truth(value: Any, name: str) -> bool:
    """True or False, of Python or numpy: "False" and 1 are neither."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
        raise WrongType("%s: must be True or False, got %s" % (name, _got(value)), field=name)
    return bool(value)


def listed(value: Any, name: str, of: str) -> List[Any]:
    """What a sequence holds."""
    if not is_many(value):
        raise WrongType("%s: must be a sequence of %s, got %s" % (name, of, _got(value)),
                        field=name)
    return list(value)


def is_many(value: Any) -> bool:
    """Whether it is a sequence, or an array with a dimension; texts and dicts are none."""
    return hasattr(value, "__iter__") and not isinstance(
        value, (str, bytes, dict, type)) and getattr(value, "ndim", 1) > 0


def varint(value: int) -> bytes:
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _double(value: Any) -> bytes:
    try:
        return _DOUBLE.pack(value)
    except Exception:
        raise _Wrong(WrongType, "must be a number, got " + _got(value)) from None


def quotient(value: Any) -> Optional[Tuple[int, int]]:
    """256 and 60000 of "256/60000"; None for anything else."""
    parts = value.split("/") if isinstance(value, str) else ()
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts) or not int(parts[1]):
        return None
    return int(parts[0]), int(parts[1])


def _probability(value: Any) -> bytes:
    found = quotient(value)
    return _double(value if found is None else found[0] / found[1])


def _uint64(value: Any) -> bytes:
    try:
        return varint(whole(value, ""))
    except Error as wrong:
        raise _Wrong(type(wrong), str(wrong)[2:]) from None


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _Wrong(WrongType, "must be text, got " + _got(value))
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise _Wrong(InvalidArgument, "must be text that UTF-8 can hold, got "
                     + _got(value)) from None
    return varint(len(data)) + data


def _bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise _Wrong(WrongType, "must be bytes, got " + _got(value))
    return varint(len(value)) + value


def _bool(value: Any) -> bytes:
    try:
        return b"\1" if truth(value, "") else b"\0"
    except Error as wrong:
        raise _Wrong(type(wrong), str(wrong)[2:]) from None


# The wire type, and what writes a value without its tag.
_PUT: Dict[str, Tuple[int, Callable[[Any], bytes]]] = {
    "double": (1, _double), "uint64": (0, _uint64), "bool": (0, _bool), "string": (2, _text),
    "bytes": (2, _bytes)}


def spelled(word: str) -> str:
    """ADD_OR_REMOVE_ONE and add_or_remove_one as this package spells it."""
    return word.strip().lower().replace("_", "-")


def _enum(table: Dict[str, int]) -> Callable[[Any], bytes]:
    coded = {word: varint(number) for word, number in table.items()}

    def put(value: Any) -> bytes:
        if not isinstance(value, str):
            raise _Wrong(WrongType, "must be text, got " + _got(value))
        if value not in coded:
            again = spelled(value)  # ADD_OR_REMOVE_ONE
            if again not in coded or not again:
                words = ", ".join('"%s"' % word for word in coded if word)
                raise _Wrong(InvalidArgument, 'must be one of %s, got "%s"' % (words, value))
            value = again
        return coded[value]
    return put


def _nested(kind: type) -> Callable[[Any], bytes]:
    def put(value: Any) -> bytes:
        if not isinstance(value, kind):
            raise _Wrong(WrongType, "must be %s, got %s" % (_a(kind.__name__), _got(value)))
        data = _body(value)
        return varint(len(data)) + data
    return put


def _interval(value: Any) -> bytes:
    data = b"\x09" + _double(value[0]) + b"\x11" + _double(value[1])
    return varint(len(data)) + data


def _case(name: str) -> Callable[[Any], bytes]:
    def put(value: Any) -> bytes:
        data = _folded(name, value)
        return varint(len(data)) + data
    return put


def _putter(kind: str) -> Tuple[int, Callable[[Any], bytes]]:
    from . import messages
    if kind in _PUT:
        return _PUT[kind]
    if kind in messages.ENUMS:
        return 0, _enum(messages.ENUMS[kind])
    if kind == "Interval":
        return 2, _interval
    if kind in messages.FOLDED:
        return 2, _case(kind)
    return 2, _nested(getattr(messages, kind))


_Step = Callable[[List[bytes], Any], None]


def _list_step(tag: int, wire: int, put: Callable[[Any], bytes]) -> _Step:
    head = varint(tag << 3 | 2)

    def step(out: List[bytes], values: Any) -> None:
        if not is_many(values):
            raise _Wrong(WrongType, "must be a sequence, got " + _got(values))
        parts = []
        for index, value in enumerate(values):
            try:
                parts.append(put(value))
            except _Wrong as wrong:
                raise wrong.inside("[%d]" % index)
        if not parts:
            return
        if wire == 2:
            for part in parts:
                out += (head, part)
        else:  # numbers are packed
            data = b"".join(parts)
            out += (head, varint(len(data)), data)
    return step


def _one_step(tag: int, wire: int, put: Callable[[Any], bytes], label: str, zero: Any) -> _Step:
    head = varint(tag << 3 | wire)
    always = label == "?"

    def step(out: List[bytes], value: Any) -> None:
        if value is None and (wire == 2 or always):
            return
        data = put(value)
        if always or wire == 2 or value:
            out += (head, data)
    return step


def _plan(cls: type, which: str) -> List[Tuple[str, _Step, Any]]:
    """(name, what writes it, the value that is not written) of each field."""
    key = (cls, which)
    plan = _plans.get(key)
    if plan is None:
        plan = []
        for number, name, kind, label in getattr(cls, which):
            wire, put = _putter(kind)
            if kind == "double" and name in _PROBABILITIES:
                put = _probability
            step = (_list_step(number, wire, put) if label == "*"
                    else _one_step(number, wire, put, label, ZEROS.get(kind)))
            silent = getattr(cls, name, None) if which == "_beside" else None
            plan.append((name, step, silent))
        _plans[key] = plan
    return plan


_PROBABILITIES = ("probability", "sampling_probability", "sampling_probs", "delta")
_plans: Dict[Tuple[type, str], List[Tuple[str, _Step, Any]]] = {}
_cases: Dict[str, Dict[type, Tuple[str, bytes, str]]] = {}


def _write(out: List[bytes], message: Any, which: str) -> None:
    name = ""
    try:
        for name, step, silent in _plan(type(message), which):
            value = getattr(message, name)
            if silent is None or type(value) is not type(silent) or value != silent:
                step(out, value)
    except _Wrong as wrong:
        raise wrong.inside(name)


def _body(message: Any) -> bytes:
    out: List[bytes] = []
    _write(out, message, "_wire")
    return b"".join(out)


def cases(name: str) -> Dict[type, Tuple[str, bytes, str]]:
    """For each class that a folded message may hold: the case's name, its tag, and the folded
    message inside."""
    table = _cases.get(name)
    if table is None:
        from . import messages
        table = {}
        for number, (case, held) in messages.FOLDED[name].items():
            tag = varint(number << 3 | 2)
            if isinstance(held, str):
                table.update((inner, (case, tag, held)) for inner in cases(held))
            else:
                table[held] = (case, tag, "")
        _cases[name] = table
    return table


def _folded(name: str, value: Any) -> bytes:
    found = cases(name).get(type(value))
    if found is None:
        made = ", which is a class: call it" if isinstance(value, type) else ""
        raise _Wrong(WrongType, "must be %s (dpledger.messages), got %s%s"
                     % (_a(name), _got(value), made))
    case, tag, inner = found
    try:
        data = _folded(inner, value) if inner else _body(value)
    except _Wrong as wrong:
        raise wrong.inside(case)
    out = [tag, varint(len(data)), data]
    if not inner and value._beside:
        _write(out, value, "_beside")
    return b"".join(out)


def encode(message: Any, folded: str = "", name: str = "") -> bytes:
    """`message` in the API's binary form; as the folded message of that name, if one is given.

    Raises WrongType or InvalidArgument, naming the field; or `name`, if it is no message.
    """
    try:
        if not folded and type(message)._beside:
            folded = next(name for name in ("Trials", "MechanismEvent", "SamplingScheme")
                          if type(message) in cases(name))
        return _folded(folded, message) if folded else _body(message)
    except _Wrong as wrong:
        path = wrong.path or name
        raise wrong.kind("%s: %s" % (path, wrong) if path else str(wrong), field=path) from None
