"""A number as two bounds."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, NamedTuple


class Interval(NamedTuple):
    """Contains the true value; `upper` is the one to report. Both are rounded outward and may be
    infinite.

    Equal to an interval, or a tuple, of the same two bounds. `<`, `<=`, `>` and `>=` compare
    `upper`, with a number or with another interval's (`lower` decides between equal ones):
    `interval <= 3` says that the true value is at most 3. Formatted, "[lower, upper]", and rounded,
    it still contains the true value.
    """

    lower: float = 0.0
    upper: float = 0.0

    def __float__(self) -> float:
        """The bound to report: `upper`."""
        return self.upper

    def __contains__(self, value: object) -> bool:
        """Whether `value` may be the true one."""
        return isinstance(value, (int, float)) and self.lower <= value <= self.upper

    def __lt__(self, other: Any) -> bool:
        return _ordered(operator.lt, self, other)

    def __le__(self, other: Any) -> bool:
        return _ordered(operator.le, self, other)

    def __gt__(self, other: Any) -> bool:
        return _ordered(operator.gt, self, other)

    def __ge__(self, other: Any) -> bool:
        return _ordered(operator.ge, self, other)

    def __round__(self, digits: int = 0) -> "Interval":
        return Interval(rounded(self.lower, digits, -math.inf),
                        rounded(self.upper, digits, math.inf))

    def __format__(self, spec: str) -> str:
        return "[%s, %s]" % (formatted(self.lower, spec, -math.inf),
                             formatted(self.upper, spec, math.inf))

    def __repr__(self) -> str:
        return "Interval(%s, %s)" % (outward(self.lower, -math.inf), outward(self.upper, math.inf))


def _ordered(order: Callable[[Any, Any], bool], interval: Interval, other: Any) -> bool:
    if isinstance(other, Interval):
        return order(interval[::-1], other[::-1])
    if isinstance(other, (
            tuple, list, str)) or not hasattr(other, "__float__") or hasattr(other, "interval"):
        return NotImplemented  # an Answer knows what to compare
    return bool(order(interval.upper, other))


def _to(value: float, digits: int, towards: float, significant: bool) -> Any:
    """A finite `value` at so many decimal places, or significant digits, rounded towards `towards`,
    as a Decimal."""
    from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
    context = Context(prec=digits if significant else 800, rounding=ROUND_CEILING if towards > 0
                      else ROUND_FLOOR)
    if significant:
        return context.create_decimal_from_float(value)
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), context=context)


def rounded(value: float, digits: int, towards: float) -> float:
    """`value` at so many decimal places, rounded towards `towards`: an infinity, or minus it."""
    return float(_to(value, digits, towards, False)) if math.isfinite(value) else value


def formatted(value: float, spec: str, towards: float) -> str:
    """`value` by the format's `spec`, as a float's, but rounded towards `towards`."""
    import re
    asked = re.search(r"(?:\.(\d+))?([eEfFgGn%]?)$", spec)
    if asked is None or not (asked[1] or asked[2]) or not math.isfinite(value):
        return format(value, spec)  # all its digits
    digits, kind = int(asked[1] or 6), asked[2].lower() or "g"
    if kind in "f%":
        return format(_to(value, digits + (2 if kind == "%" else 0), towards, False), spec)
    bound = _to(value, digits + 1 if kind == "e" else max(digits, 1), towards, True)
    # a Decimal writes exponents otherwise
    return format(float(bound) if digits < 15 else bound, spec)


def outward(value: float, towards: float) -> str:
    """Seven digits of `value`, rounded towards `towards`, so that what is printed is a bound
    too."""
    return repr(value) if math.isinf(value) or value == 0 else repr(float(_to(value, 7, towards,
                                                                              True)))
