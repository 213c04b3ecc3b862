"""The natural logarithm as Go computes it on amd64, to the last bit.

The C library's result is another one for one number in a hundred, log(3) among them. The method is that of FreeBSD's
e_log.c: x = 2**k * (1 + f) with 1 + f in [sqrt(2)/2, sqrt(2)), and log(1 + f) by a polynomial in s = f / (2 + f).
"""

from __future__ import annotations

import math
from functools import cache

_SQRT_HALF = math.sqrt(2) / 2
_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


@cache
def log_of_count(count: int) -> float:
    """``math.Log(float64(count))`` of a positive number. Each operation rounds; their order is part of the result."""
    fraction, exponent = math.frexp(float(count))
    if fraction < _SQRT_HALF:
        fraction *= 2
        exponent -= 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_ODD[0] + s4 * (_ODD[1] + s4 * (_ODD[2] + s4 * _ODD[3])))
    even = s4 * (_EVEN[0] + s4 * (_EVEN[1] + s4 * _EVEN[2]))
    half_square = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + exponent * _LN2_LOW)) - f)
