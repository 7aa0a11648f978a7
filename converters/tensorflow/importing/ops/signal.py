"""Fourier transforms and complex values (see `pairs`).

The last axes are transformed; `fft_length` cuts them first. Source: `tf.signal`.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.ops.elementwise import angle_of
from graphir.converters.tensorflow.importing.pairs import COMPLEX, as_pair, pair
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.reduction import ReduceL2
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.ops.signal import DFT
from graphir.types import DType


def _dft(node: ImportNode, value: Value, axis: int, length: int | None = None, *, inverse: bool = False) -> Value:
    """Return the transform of parts along an axis, counted from behind without that of the parts."""
    size = None if length is None else node.constant(length, DType.INT64)
    return node.step(DFT(inverse), value, size, node.constant(axis - 1, DType.INT64), suffix="dft")


def _fft(axes: int, *, inverse: bool) -> ImportFunction:
    def import_fft(node: ImportNode) -> Value:
        value = pair(node, 0)
        for axis in range(-axes, 0):
            value = _dft(node, value, axis, inverse=inverse)
        return as_pair(node, value)

    return import_fft


def _read_lengths(node: ImportNode, axes: int) -> tuple[int, ...]:
    lengths = node.integers(1, "fft_length")
    if len(lengths) != axes or min(lengths) < 1:
        node.refuse(f"fft_length {list(lengths)}; expected {axes} positive number(s)")
    return lengths


def _rfft(axes: int) -> ImportFunction:
    def import_rfft(node: ImportNode) -> Value:
        lengths = _read_lengths(node, axes)
        real = node.step(Unsqueeze(), node.input(0), node.vector([-1]), suffix="parts")
        size, axis = node.constant(lengths[-1], DType.INT64), node.constant(-2, DType.INT64)
        value = node.step(DFT(onesided=True), real, size, axis, suffix="dft")
        for axis_from_behind in range(-axes, -1):
            value = _dft(node, value, axis_from_behind, lengths[axis_from_behind])
        return as_pair(node, value)

    return import_rfft


def _irfft(axes: int) -> ImportFunction:
    def import_irfft(node: ImportNode) -> Value:
        value, lengths = pair(node, 0), _read_lengths(node, axes)
        for axis in range(-axes, -1):
            value = _dft(node, value, axis, lengths[axis], inverse=True)
        return _take_part(node, _dft(node, _mirror_spectrum(node, value, lengths[-1]), -1, inverse=True), 0)

    return import_irfft


def _mirror_spectrum(node: ImportNode, value: Value, length: int) -> Value:
    """Return the whole spectrum of a real signal of that length from its first half: the rest is the conjugate,
    backwards."""
    half = length // 2 + 1
    if node.sizes_if_known(value, [-2]) != (half,):  # TensorFlow refuses fewer
        value = node.step(Slice(), value, *map(node.vector, ([0], [half], [-2])), suffix="half")
    count = (length - 1) // 2
    if not count:
        return value
    ends = ([count], [0], [-2], [-1])
    back = node.step(Slice(), value, *map(node.vector, ends), suffix="backwards")
    return node.step(Concat(-2), value, _conjugate(node, back), suffix="whole")


def _conjugate(node: ImportNode, value: Value) -> Value:
    signs = node.constant([1.0, -1.0], value.dtype or DType.FLOAT32)
    return node.step(ew.Mul(), value, signs, suffix="conjugate")


def _take_part(node: ImportNode, value: Value, index: int) -> Value:
    cut = node.step(Slice(), value, *map(node.vector, ([index], [index + 1], [-1])), suffix="part")
    return node.step(Squeeze(), cut, node.vector([-1]), suffix="imaginary" if index else "real")


def import_complex(node: ImportNode) -> Value:
    """Complex: the two parts together, which broadcast."""
    real, imaginary = node.inputs
    zero = node.scalar_like(real, 0.0)
    if real.shape is None or real.shape != imaginary.shape:
        spread = node.step(ew.Mul(), imaginary, zero, suffix="spread")
        real, imaginary = (
            node.step(ew.Add(), real, spread, suffix="real"),
            node.step(ew.Add(), imaginary, node.step(ew.Mul(), real, zero), suffix="imaginary"),
        )
    parts = [node.step(Unsqueeze(), value, node.vector([-1]), suffix="part") for value in (real, imaginary)]
    return as_pair(node, node.step(Concat(-1), *parts, suffix="parts"))


def import_real(node: ImportNode) -> Value:
    """Real, and Cast to a real dtype."""
    return _take_part(node, pair(node, 0), 0)


def import_angle(node: ImportNode) -> Value:
    """Angle."""
    value = pair(node, 0)
    return angle_of(node, _take_part(node, value, 1), _take_part(node, value, 0))


def import_product(node: ImportNode) -> Value:
    """Mul: (a + bi) (c + di) = ac - bd + (ad + bc) i."""
    left, right = pair(node, 0), pair(node, 1)
    (a, b), (c, d) = ([_take_part(node, value, index) for index in (0, 1)] for value in (left, right))
    products = [node.step(ew.Mul(), *both, suffix="product") for both in ((a, c), (b, d), (a, d), (b, c))]
    real = node.step(ew.Sub(), *products[:2], suffix="real_part")
    imaginary = node.step(ew.Add(), *products[2:], suffix="imaginary_part")
    parts = [node.step(Unsqueeze(), value, node.vector([-1]), suffix="part") for value in (real, imaginary)]
    return as_pair(node, node.step(Concat(-1), *parts, suffix="parts"))


def _apply_to_parts(op: Operator) -> ImportFunction:
    return lambda node: as_pair(node, node.step(op, pair(node, 0), pair(node, 1), suffix="parts"))


def import_cast(node: ImportNode) -> Value:
    """Cast of complex values: to the same parts in another precision, or to the real part."""
    wanted = node.attrs["DstT"]
    if wanted in COMPLEX:
        value = pair(node, 0)
        real = COMPLEX[wanted]
        return value if value.dtype is real else as_pair(node, node.cast(value, real, suffix="parts"))
    value = import_real(node)
    return value if value.dtype is wanted else node.emit(ew.Cast(wanted), value)


_TRANSFORMS: dict[str, ImportFunction] = {
    f"{'I' * inverse}FFT{suffix}": _fft(axes, inverse=inverse)
    for axes, suffix in ((1, ""), (2, "2D"), (3, "3D"))
    for inverse in (False, True)
}
_REAL_INVERSES: dict[str, ImportFunction] = {
    f"IRFFT{suffix}": _irfft(axes) for axes, suffix in ((1, ""), (2, "2D"), (3, "3D"))
}
_PARTS: dict[str, ImportFunction] = {
    "Angle": import_angle,
    "ComplexAbs": lambda node: node.emit(ReduceL2(keepdims=False), pair(node, 0), node.vector([-1])),
    "Conj": lambda node: as_pair(node, _conjugate(node, pair(node, 0))),
    "Imag": lambda node: _take_part(node, pair(node, 0), 1),
    "Real": import_real,
}
# What takes complex values; operators of other families are here for complex operands only.
ON_PAIRS: Mapping[str, ImportFunction] = {
    **_TRANSFORMS,
    **_REAL_INVERSES,
    **_PARTS,
    "Add": _apply_to_parts(ew.Add()),
    "AddV2": _apply_to_parts(ew.Add()),
    "Cast": import_cast,
    "Identity": lambda node: node.input(0),
    "Mul": import_product,
    "Sub": _apply_to_parts(ew.Sub()),
}
IMPORTS: dict[str, ImportFunction] = {
    **_TRANSFORMS,
    **_REAL_INVERSES,
    **_PARTS,
    "Complex": import_complex,
    **{f"RFFT{suffix}": _rfft(axes) for axes, suffix in ((1, ""), (2, "2D"), (3, "3D"))},
}
