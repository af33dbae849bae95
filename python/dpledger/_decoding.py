"""Reads protocol buffers' binary form, as far as the messages of this package use it; `_wire`
writes it.

What decodes a class is made once, when it is first used. Fields that are not known here are passed
over. Thread safe.
"""
from __future__ import annotations

import struct
from typing import Any, Callable, Dict, Iterator, List, Tuple

from ._wire import ZEROS

_DOUBLE = struct.Struct("<d")


def _read_varint(data: bytes, at: int) -> Tuple[int, int]:
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    value, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
        shift += 7


def fields(data: bytes) -> Iterator[Tuple[int, int, Any]]:
    """(number, wire type, value) of each field: a whole number, eight bytes or bytes. ValueError if
    `data` is torn."""
    at, end = 0, len(data)
    try:
        while at < end:
            tag, at = _read_varint(data, at)
            wire = tag & 7
            if wire == 0:
                value, at = _read_varint(data, at)
                yield tag >> 3, wire, value
                continue
            if wire == 2:
                size, at = _read_varint(data, at)
            elif wire == 1:
                size = 8
            elif wire == 5:
                size = 4
            else:
                raise ValueError("wire type %d" % wire)
            if at + size > end:
                raise IndexError
            yield tag >> 3, wire, data[at:at + size]
            at += size
    except IndexError:
        raise ValueError("a message ends in the middle of a field") from None


_Get = Callable[[Any], Any]
_readers: Dict[Tuple[type, str],
               Tuple[Dict[int, Tuple[str, _Get, bool, str]], List[Tuple[str, Any]]]] = {}


def _getter(kind: str) -> _Get:
    from . import messages
    if kind == "double":
        return lambda value: _DOUBLE.unpack(value)[0]
    if kind == "string":
        return lambda value: value.decode("utf-8", "replace")
    if kind == "bool":
        return bool
    if kind in ("uint64", "bytes"):
        return lambda value: value
    if kind in messages.ENUMS:
        words = {number: word for word, number in messages.ENUMS[kind].items()}
        return lambda value: words.get(value, str(value))
    if kind == "Interval":
        return _read_interval
    if kind in messages.FOLDED:
        return lambda value: decode_folded(kind, value)
    cls = getattr(messages, kind)
    return lambda value: decode(cls, value)


_BOUNDS = struct.Struct("<BdBd")


def _read_interval(data: bytes) -> Any:
    from .interval import Interval
    if len(data) == 18:  # both bounds, in their order
        _, lower, _, upper = _BOUNDS.unpack(data)
        return Interval(lower, upper)
    bounds = {number: _DOUBLE.unpack(value)[0] for number, _, value in fields(data)}
    return Interval(bounds.get(1, 0.0), bounds.get(2, 0.0))


def _reader(cls: type, which: str) -> Tuple[Dict[int, Tuple[str, _Get, bool, str]],
                                            List[Tuple[str, Any]]]:
    key = (cls, which)
    reader = _readers.get(key)
    if reader is None:
        table, defaults = {}, []
        for number, name, kind, label in getattr(cls, which):
            table[number] = (name, _getter(kind), label == "*", kind)
            absent: Any = None
            if label == "*":
                absent = ()
            elif which == "_beside":
                absent = getattr(cls, name, None)
            elif label != "?":
                absent = ZEROS.get(kind, None if kind[0].isupper() else 0)
                absent = getattr(cls, name, absent)
                if kind == "Interval":
                    absent = None
            defaults.append((name, absent))
        reader = _readers[key] = (table, defaults)
    return reader


def _read(cls: type, which: str, data: bytes, values: Dict[str, Any],
          later: Tuple[str, ...] = ()) -> None:
    table, defaults = _reader(cls, which)
    values.update(defaults)
    for number, wire, value in fields(data):
        found = table.get(number)
        if found is None:
            continue  # of a newer library
        name, get, repeated, kind = found
        if not repeated:
            values[name] = value if name in later else get(value)
        elif kind == "double" and wire == 2:
            values[name] += struct.unpack("<%dd" % (len(value) // 8), value)
        elif kind == "uint64" and wire == 2:
            at, numbers = 0, []
            while at < len(value):
                number, at = _read_varint(value, at)
                numbers.append(number)
            values[name] += tuple(numbers)
        else:
            values[name] += (get(value),)


def decode(cls: Any, data: bytes, later: Tuple[str, ...] = ()) -> Any:
    """A message of class `cls`. Fields named in `later` stay bytes. ValueError if `data` is
    torn."""
    message = cls.__new__(cls)
    _read(cls, "_wire", data, message.__dict__, later)
    return message


def decode_folded(name: str, data: bytes) -> Any:
    """The case that the folded message `name` holds; None if it holds none."""
    from . import messages
    cases, found = messages.FOLDED[name], None
    for number, _, value in fields(data):
        if number in cases:
            found = cases[number][1], value
    if found is None:
        return None
    held, body = found
    if isinstance(held, str):
        return decode_folded(held, body)
    message = decode(held, body)
    if held._beside:
        _read(held, "_beside", data, message.__dict__)
    return message
