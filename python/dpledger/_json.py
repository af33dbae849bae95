"""Messages as proto JSON (https://protobuf.dev/programming-guides/json), as `dpledger --json`
prints them."""
from __future__ import annotations

import base64
import math
import re
from typing import Any, Dict

from ._wire import Message, cases


def to_proto_json(message: Message) -> Dict[str, Any]:
    """`message` as json.dumps takes it: zeros are there, messages that are absent are not."""
    return _fields(message, message._wire)


def _fields(message: Message, fields: Any) -> Dict[str, Any]:
    found = {}
    for _, name, kind, label in fields:
        value = getattr(message, name)
        if value is not None:
            found[_camel(name)] = [
                _value(kind, one) for one in value] if label == "*" else _value(kind, value)
    return found


def _camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found.group(1).upper(), name)


def _value(kind: str, value: Any) -> Any:
    from . import messages
    if kind == "double":
        return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    if kind == "uint64":
        return str(value)
    if kind in ("bool", "string"):
        return value
    if kind == "bytes":
        return base64.b64encode(value).decode()
    if kind in messages.ENUMS:
        return (value or _camel_to_words(kind) + "-unspecified").upper().replace("-", "_")
    if kind == "Interval":
        return {"lower": _value("double", value.lower), "upper": _value("double", value.upper)}
    if kind in messages.FOLDED:
        case, _, inner = cases(kind)[type(value)]
        held = _value(inner, value) if inner else to_proto_json(value)
        return {_camel(case): held, **_fields(value, () if inner else value._beside)}
    return to_proto_json(value)


def _camel_to_words(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", name)
