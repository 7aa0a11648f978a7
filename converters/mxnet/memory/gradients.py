"""What the gradient of each of MXNet's operators reads and gives: this decides which activations stay.

In a row `g` is the gradient of an output, `i` an input, `o` an output, each with its number, or `*` for all of them in
order. What a gradient reads, its operands, was observed in the graphs that MXNet 1.9.1 makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Attributes = Mapping[str, object]
Pairs = tuple[tuple[int, int, bool], ...]

FIRST: Pairs = ((0, 0, False),)
EITHER: Pairs = ((0, 0, False), (1, 0, False))
IDENTITY: Pairs = ((0, 0, True),)


class Gradient(NamedTuple):
    """The node of a gradient: what it reads, how many inputs get a gradient (None: all), what it works in place on.

    `operator` is its name, where the gradient of `Op` is not `_backward_Op`.
    """

    reads: str
    gives: int | None = None
    in_place: Pairs = ()
    operator: str = ""


PASSED = Gradient("pass")
"""The gradient goes to every input as it is."""
ZEROS = Gradient("zeros")
"""Every input gets zeros."""

_COPY = Gradient("g0", in_place=IDENTITY, operator="_backward_copy")
_RESHAPED = Gradient("g0", in_place=IDENTITY, operator="_backward_reshape")
_USE_OUT = Gradient("g0 o0", in_place=EITHER)
_USE_IN = Gradient("g0 i0", in_place=EITHER)
_PRODUCT = Gradient("g0 i0 i1", in_place=((0, 1, False),))
_SUM = Gradient("g0", 2, ((0, 0, False), (0, 1, False)))


def _activation(attributes: Attributes) -> Gradient:
    is_relu = attributes.get("act_type") == "relu"
    return Gradient("g0 o0" if is_relu else "g0 o0 i0", in_place=FIRST)


def _batch_norm(attributes: Attributes) -> Gradient:
    return Gradient("g0 o1 o2 i0 i1 i2 i3 i4", 3)


def _pooling(attributes: Attributes) -> Gradient:
    return Gradient("g* i0 o*", in_place=((1, 0, False),) if attributes.get("pool_type") == "max" else ())


GRADIENTS: dict[str, Gradient | Callable[[Attributes], Gradient]] = {
    "Activation": _activation,
    "BatchNorm": _batch_norm,
    "BlockGrad": ZEROS,
    "Concat": Gradient("g0 i*"),
    "Convolution": Gradient("g0 i*"),
    "Deconvolution": Gradient("g0 i*"),
    "Dropout": Gradient("g0 o1", in_place=FIRST),
    "Flatten": _COPY,
    "FullyConnected": Gradient("g0 i0 i1", in_place=((1, 0, False),)),
    "LeakyReLU": Gradient("g* i* o*", in_place=FIRST),
    "Pooling": _pooling,
    "Reshape": _RESHAPED,
    "SliceChannel": Gradient("g*"),
    "SoftmaxOutput": Gradient("o0 i1", in_place=FIRST),
    "_copy": _COPY,
    "_mul_scalar": Gradient("g0", in_place=FIRST),
    "elemwise_add": PASSED,
    "elemwise_mul": _PRODUCT._replace(operator="_backward_mul"),
    "softmax_cross_entropy": Gradient("g0 i0 i1"),
}

IN_PLACE: dict[str, Pairs] = {
    **dict.fromkeys(("Activation", "Dropout", "LeakyReLU", "SoftmaxOutput", "add_n", "softmax", "_mul_scalar"), FIRST),
    **dict.fromkeys(("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_grad_add"), EITHER),
    **dict.fromkeys(("BlockGrad", "Cast", "Flatten", "Reshape", "_copy", "expand_dims", "make_loss"), IDENTITY),
    **dict.fromkeys(("_identity_with_attr_like_rhs", "reshape_like"), IDENTITY),
}

NEVER_MIRRORED = frozenset(("Dropout",))
COSTLY = frozenset(("Concat", "Convolution", "FullyConnected", "SoftmaxOutput"))
"""What MXNET_BACKWARD_DO_MIRROR does not recompute."""


def gradient_of(operator: str, attributes: Attributes) -> Gradient | None:
    """The gradient of an operator, None where it is not known."""
    found = GRADIENTS.get(operator)
    return found if found is None or isinstance(found, Gradient) else found(attributes)


__all__ = ["COSTLY", "GRADIENTS", "IN_PLACE", "NEVER_MIRRORED", "PASSED", "ZEROS", "Gradient", "gradient_of"]
