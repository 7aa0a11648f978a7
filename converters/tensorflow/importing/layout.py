"""TensorFlow's layouts and paddings brought to the IR's: channels first, spatial axes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphir.converters.kernel.refusals import NeedsShape
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.shape import Pad, Transpose
from graphir.padding import Explicit, Padding, Same, SameMode, resolve
from graphir.passes.explicit_padding import KIND, described

_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@dataclass(frozen=True)
class Layout:
    """The order of a tensor's axes: `channels_last` is TensorFlow's usual NHWC, otherwise it is the IR's NCHW."""

    spatial: int
    channels_last: bool

    @property
    def to_first(self) -> tuple[int, ...]:
        """Return the order of axes that brings a tensor to channels first."""
        return (0, self.spatial + 1, *range(1, self.spatial + 1))

    @property
    def to_last(self) -> tuple[int, ...]:
        """Return the order of axes that brings a tensor from channels first to channels last."""
        return (0, *range(2, self.spatial + 2), 1)

    @property
    def spatial_axes(self) -> range:
        """Return the spatial axes of a tensor in this layout."""
        return range(1, self.spatial + 1) if self.channels_last else range(2, self.spatial + 2)

    def spatial_of(self, node: ImportNode, what: str, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the spatial entries of a list with a number for each axis (`strides`), or for each spatial axis.

        Refuses other numbers than 1 for batch and channels.
        """
        if len(numbers) == self.spatial:
            return tuple(numbers)
        if len(numbers) == 1:
            return (numbers[0],) * self.spatial
        if len(numbers) != self.spatial + 2:
            node.refuse(f"{what} {list(numbers)} has {len(numbers)} entries, expected {self.spatial + 2}")
        if any(numbers[axis] != 1 for axis in range(self.spatial + 2) if axis not in self.spatial_axes):
            node.refuse(f"{what} {list(numbers)} reaches over batch or channels; only spatial axes are supported")
        return tuple(numbers[axis] for axis in self.spatial_axes)


def layout_of(node: ImportNode, spatial: int) -> Layout:
    """Return the layout that the node's `data_format` states. Refuses one that is unknown for that many spatial
    axes."""
    if spatial not in _LAST:
        node.refuse(f"its data have {spatial + 2} axes")
    stated = node.attrs.get("data_format", _LAST[spatial])
    if stated not in (_LAST[spatial], _FIRST[spatial]):
        node.refuse(f"data_format {stated}; supported are {_LAST[spatial]} and {_FIRST[spatial]}")
    return Layout(spatial, stated == _LAST[spatial])


def channels_first(node: ImportNode, layout: Layout, value: Value) -> Value:
    """Return the value with channels first: itself, or behind a Transpose."""
    if not layout.channels_last:
        return value
    return node.step(Transpose(layout.to_first), value, suffix="to_nchw")


def finish(node: ImportNode, layout: Layout, op: Operator, *operands: Value | None) -> Value:
    """Return the node's result in its own layout, by an operator over channels first.

    What that operator gives has the node's result for its source too: it is all that is left where the Transpose goes.
    """
    if not layout.channels_last:
        return node.emit(op, *operands)
    first = node.step(op, *operands, suffix="nchw")
    first.sources = (f"{node.name}:0",)
    return node.emit(Transpose(layout.to_last), first)


def padding_of(
    node: ImportNode,
    layout: Layout,
    value: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Padding:
    """Return the node's `padding` for a `value` in its own layout.

    SAME becomes numbers where the sizes are known (or do not matter, at stride 1) and stays `Same` otherwise.
    """
    stated = node.attrs["padding"]
    if stated == "VALID":
        return Explicit()
    if stated == "EXPLICIT":
        return _read_explicit(node, layout)
    if stated != "SAME":
        node.refuse(f"padding {stated!r}; TensorFlow has SAME, VALID and EXPLICIT")
    shape = value.shape
    policy = Same(SameMode.UPPER)
    if shape is None or len(shape) != layout.spatial + 2:
        return policy
    sizes = [shape[axis] for axis in layout.spatial_axes]
    padding = resolve(policy, sizes, kernel, strides, dilations)
    if padding is None:
        node.decide(
            DecisionKind.PADDING, f"SAME stays a policy: the sizes {[str(size) for size in sizes]} are not known"
        )
        return policy
    if any(stride > 1 for stride in strides) or not padding.is_symmetric:
        node.decide(KIND, described(policy, sizes, kernel, strides, padding))
    return Explicit() if padding.is_zero else padding


def _read_explicit(node: ImportNode, layout: Layout) -> Explicit:
    numbers = node.attrs.get("explicit_paddings", ())
    if len(numbers) != 2 * (layout.spatial + 2):
        node.refuse(f"explicit_paddings {list(numbers)} has {len(numbers)} entries, expected {2 * layout.spatial + 4}")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    if any(pair != (0, 0) for axis, pair in enumerate(pairs) if axis not in layout.spatial_axes):
        node.refuse(f"explicit_paddings {list(numbers)} pad batch or channels")
    padding = Explicit(tuple(pairs[axis] for axis in layout.spatial_axes))
    return Explicit() if padding.is_zero else padding


def cut_before(
    node: ImportNode, layout: Layout, value: Value, kernel: Sequence[int], strides: Sequence[int]
) -> Value:
    """Return a `value` with channels first, without what TensorFlow's CPU kernels over three axes leave out before the
    first window: convolution and pooling under SAME.

    The padding `(ceil(size / stride) - 1) * stride + kernel - size` is negative where the stride is larger than the
    kernel. Everything else in TensorFlow pads nothing then, as documented; these kernels begin half of it, rounded to
    zero, inside the data. The number of windows is the same. Measured with TensorFlow 2.21.
    """
    wide = any(stride - width >= 2 for stride, width in zip(strides, kernel, strict=True))
    if layout.spatial != 3 or node.attrs["padding"] != "SAME" or not wide:
        return value
    try:
        sizes = node.sizes(value, range(2, layout.spatial + 2))
    except NeedsShape as error:
        raise NeedsShape(
            f"{error}; under SAME with the kernel {list(kernel)} and the stride {list(strides)} TensorFlow's windows "
            "begin where the sizes say"
        ) from error
    begin = []
    for size, width, stride in zip(sizes, kernel, strides, strict=True):
        total = (-(-size // stride) - 1) * stride + width - size
        begin.append(max(-total, 0) // 2)
    if not any(begin):
        return value
    node.decide(
        DecisionKind.PADDING,
        f"TensorFlow's CPU kernel leaves out {begin} elements before the first window, where its definition of SAME "
        "begins at 0; the kernel is followed",
    )
    amounts = [0, 0, *(-number for number in begin), *[0] * (layout.spatial + 2)]
    return node.step(Pad(), value, node.vector(amounts), suffix="cut")


def unless_all_one(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers, or an empty tuple (the operators' default) if every one is 1."""
    return numbers if any(number != 1 for number in numbers) else ()
