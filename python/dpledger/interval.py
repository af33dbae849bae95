"""A number as two bounds."""
from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """Contains the true value; `upper` is the one to report. Both are rounded outward and may be infinite."""

    lower: float = 0.0
    upper: float = 0.0

    def __float__(self) -> float:
        """The bound to report: `upper`."""
        return self.upper

    def __contains__(self, value: object) -> bool:
        """Whether `value` may be the true one."""
        return isinstance(value, (int, float)) and self.lower <= value <= self.upper

    def __repr__(self) -> str:
        return "Interval(%s, %s)" % (outward(self.lower, -math.inf), outward(self.upper, math.inf))


def outward(value: float, towards: float) -> str:
    """Seven digits of `value`, rounded towards `towards`, so that what is printed is a bound too."""
    if math.isinf(value) or value == 0:
        return repr(value)
    from decimal import ROUND_CEILING, ROUND_FLOOR, Context
    context = Context(prec=7, rounding=ROUND_CEILING if towards > 0 else ROUND_FLOOR)
    return repr(float(context.create_decimal_from_float(value)))
