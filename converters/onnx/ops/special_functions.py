"""Functions of one number that ONNX lacks, composed in float64 whatever the operand is.

Sources: M. J. Wichura, Algorithm AS 241 (Applied Statistics 37, 1988), PPND16, for the inverse error function; C.
Lanczos's series with the coefficients of P. Godfrey (g = 607/128, 15 terms) and Euler's reflection for gamma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphir.converters.kernel.maker import Maker
from graphir.converters.onnx.exporting.composed import composed
from graphir.converters.onnx.exporting.context import row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import special_functions as ir
from graphir.ops.base import Operator
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Split
from graphir.types import DType

# Numerators and denominators by rising powers.
CENTER = (
    (
        3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
        45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
    ),
    (
        1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
        21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854,
    ),
)
MIDDLE = (
    (
        1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
        1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
    ),
    (
        1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
        0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09,
    ),
)
TAIL = (
    (
        6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
        0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07,
    ),
    (
        1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
        0.0007868691311456133, 1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15,
    ),
)
LANCZOS_G = 607 / 128
LANCZOS_FIRST = 0.99999999999999709182
LANCZOS = (
    57.156235665862923517, -59.597960355475491248, 14.136097974741747174, -0.49191381609762019978,
    0.33994649984811888699e-4, 0.46523628927048575665e-4, -0.98374475304879564677e-4, 0.15808870322491248884e-3,
    -0.21026444172410488319e-3, 0.21743961811521264320e-3, -0.16431810653676389022e-3, 0.84418223983852743293e-4,
    -0.26190838401581408670e-4, 0.36899182659531622704e-5,
)  # fmt: skip
LARGEST = 171  # the last whole number whose gamma function float64 holds
BEYOND = 180.0
WIDE = DType.FLOAT64


def _ratio(make: Maker, x: Value, parts: tuple[Sequence[float], Sequence[float]]) -> Value:
    """Return a quotient of two polynomials."""
    last = make.vector(-1)
    powers = make(ew.Pow(), make(Unsqueeze(), x, last), make.constant([float(power) for power in range(8)], WIDE))
    both = make(MatMul(), powers, make.constant([list(pair) for pair in zip(*parts, strict=True)], WIDE))
    top, bottom = make.all(Split(2, -1), both, make.vector(1, 1))
    return make(Squeeze(), make(ew.Div(), top, bottom), last)


def compose_erf_inv(make: Maker, x: Value) -> Value:
    """Return a ratio of polynomials in the middle, two others of sqrt(-log((1 - |x|) / 2)) towards the ends."""
    size, half, one = make(ew.Abs(), x), make.number(0.5), make.number(1.0)
    quarter = make(ew.Mul(), x, half)
    square = make(ew.Sub(), make.number(0.180625), make(ew.Mul(), quarter, quarter))
    center = make(ew.Mul(), quarter, _ratio(make, square, CENTER))
    depth = make(ew.Sqrt(), make(ew.Neg(), make(ew.Log(), make(ew.Mul(), make(ew.Sub(), one, size), half))))
    middle = _ratio(make, make(ew.Sub(), depth, make.number(1.6)), MIDDLE)
    tail = _ratio(make, make(ew.Sub(), depth, make.number(5.0)), TAIL)
    outer = make(ew.Where(), make(ew.LessOrEqual(), depth, make.number(5.0)), middle, tail)
    outer = make(ew.Where(), make(ew.Equal(), size, one), make.number(math.inf), outer)
    signed = make(ew.Where(), make(ew.Less(), x, make.number(0.0)), make(ew.Neg(), outer), outer)
    result = make(ew.Where(), make(ew.LessOrEqual(), size, make.number(0.85)), center, signed)
    return make(ew.Mul(), result, make.number(math.sqrt(0.5)))


def _sine_of_pi(make: Maker, x: Value) -> Value:
    """sin(pi x), of which the whole part is taken first: 0 of whole numbers."""
    near, half = make(ew.Round(), x), make.number(0.5)
    sine = make(ew.Sin(), make(ew.Mul(), make(ew.Sub(), x, near), make.number(math.pi)))
    halved = make(ew.Mul(), near, half)
    is_even = make(ew.Equal(), make(ew.Floor(), halved), halved)
    return make(ew.Where(), is_even, sine, make(ew.Neg(), sine))


def _series(make: Maker, x: Value) -> tuple[Value, Value]:
    """Of x from 0.5 on: Lanczos's sum, and x + g - 0.5."""
    last = make.vector(-1)
    indices = make.constant([float(index) for index in range(len(LANCZOS))], WIDE)
    terms = make(ew.Div(), make.constant(LANCZOS, WIDE), make(ew.Add(), make(Unsqueeze(), x, last), indices))
    total = make(ew.Add(), make(ReduceSum(keepdims=False), terms, last), make.number(LANCZOS_FIRST))
    total = make(ew.Mul(), total, make.number(math.sqrt(2 * math.pi)))
    return total, make(ew.Add(), x, make.number(LANCZOS_G - 0.5))


def _reflect_below_half(make: Maker, x: Value) -> tuple[Value, Value]:
    """Return whether x is below 0.5, and 1 - x where it is."""
    is_below = make(ew.Less(), x, make.number(0.5))
    return is_below, make(ew.Where(), is_below, make(ew.Sub(), make.number(1.0), x), x)


def _gamma_above(make: Maker, x: Value) -> Value:
    """Gamma of x from 0.5 on: of whole numbers from a table, which functions of integers need to the last digit."""
    one = make.number(1.0)
    total, shifted = _series(make, x)
    exponent = make(ew.Mul(), make(ew.Sub(), x, make.number(0.5)), make.number(0.5))
    root = make(ew.Pow(), shifted, exponent)  # of the power, which would overflow before the result does
    result = make(ew.Mul(), make(ew.Mul(), make(ew.Mul(), root, make(ew.Exp(), make(ew.Neg(), shifted))), root), total)
    inside = make(ew.And(), make(ew.GreaterOrEqual(), x, one), make(ew.LessOrEqual(), x, make.number(LARGEST)))
    is_whole = make(ew.And(), inside, make(ew.Equal(), make(ew.Floor(), x), x))
    index = make(ew.Cast(DType.INT64), make(ew.Where(), is_whole, x, one))
    factorials = make.constant([0.0, *(float(math.factorial(number)) for number in range(LARGEST))], WIDE)
    return make(ew.Where(), is_whole, make(Gather(0), factorials, index), result)


def compose_gamma(make: Maker, x: Value) -> Value:
    """Lanczos's approximation; below 0.5 by pi / (sin(pi x) gamma(1 - x))."""
    zero = make.number(0.0)
    is_below, other = _reflect_below_half(make, x)
    far = make.number(BEYOND)
    above = _gamma_above(make, make(ew.Where(), make(ew.Greater(), other, far), far, other))
    below = make(ew.Div(), make.number(math.pi), make(ew.Mul(), _sine_of_pi(make, x), above))
    result = make(ew.Where(), is_below, below, above)
    result = make(ew.Where(), make(ew.Equal(), x, zero), make(ew.Reciprocal(), x), result)
    is_pole = make(ew.And(), make(ew.Less(), x, zero), make(ew.Equal(), make(ew.Floor(), x), x))
    return make(ew.Where(), is_pole, make.number(math.nan), result)


def compose_log_gamma(make: Maker, x: Value) -> Value:
    """Return the logarithm of Lanczos's approximation; below 0.5 by log(pi / |sin(pi x)|) - log gamma(1 - x)."""
    is_below, other = _reflect_below_half(make, x)
    total, shifted = _series(make, other)
    power = make(ew.Mul(), make(ew.Sub(), other, make.number(0.5)), make(ew.Log(), shifted))
    above = make(ew.Add(), make(ew.Sub(), power, shifted), make(ew.Log(), total))
    is_root = make(ew.Or(), make(ew.Equal(), other, make.number(1.0)), make(ew.Equal(), other, make.number(2.0)))
    above = make(ew.Where(), is_root, make.number(0.0), above)
    sine = make(ew.Abs(), _sine_of_pi(make, x))
    below = make(ew.Sub(), make(ew.Log(), make(ew.Div(), make.number(math.pi), sine)), above)
    result = make(ew.Where(), is_below, below, above)
    infinity = make.number(math.inf)
    return make(ew.Where(), make(ew.Equal(), make(ew.Abs(), x), infinity), infinity, result)


def _compose_in_double(make: Maker, op: Operator, operands: Sequence[Value]) -> Sequence[Value]:
    """Return a function of the operand as float64, in the operand's dtype."""
    (x,) = operands
    inner = make.of(WIDE)
    result = FUNCTIONS[type(op)](inner, x if make.dtype is WIDE else inner(ew.Cast(WIDE), x))
    return [result if make.dtype is WIDE else inner(ew.Cast(make.dtype), result)]


FUNCTIONS: dict[type[Operator], Callable[[Maker, Value], Value]] = {
    ir.ErfInv: compose_erf_inv,
    ir.Gamma: compose_gamma,
    ir.LogGamma: compose_log_gamma,
}
EXPORTS = table(*(row(op, composed(_compose_in_double)) for op in FUNCTIONS))
IMPORTS: ImportTable = {}
