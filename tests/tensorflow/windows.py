"""Convolutions and poolings as TensorFlow writes them, many in one GraphDef, and how they are drawn at random.

TensorFlow's CPU kernels know channels last only. Where a window is channels first, the graph that is imported says so
and the graph that TensorFlow computes has transposes around the same operator with channels last.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.tensorflow.graphdef import const, graph_def, node, placeholder

CONVOLUTIONS = {1: "Conv2D", 2: "Conv2D", 3: "Conv3D"}
TRANSPOSED = {1: "Conv2DBackpropInput", 2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}
POOLS = {
    "max": {1: "MaxPool", 2: "MaxPool", 3: "MaxPool3D"},
    "average": {1: "AvgPool", 2: "AvgPool", 3: "AvgPool3D"},
}
FORMATS = {(2, False): "NHWC", (2, True): "NCHW", (3, False): "NDHWC", (3, True): "NCDHW"}
NodeDef = dict[str, Any]


@dataclass(frozen=True)
class Window:
    """One operator with padding: `kind` is conv, depthwise, transposed, max or average.

    `padding` is SAME, VALID or (before, after) of each spatial axis. `filters` are the results of a convolution, or the
    multiplier of a depthwise one. `output` are the sizes of a transposed convolution's result. With `spread` dilations
    are written as SpaceToBatchND and BatchToSpaceND around a plain operator, otherwise as an attribute. With `open` the
    sizes of the placeholder are left open in the graph that is imported.
    """

    kind: str
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str | tuple[tuple[int, int], ...]
    batch: int = 1
    channels: int = 2
    filters: int = 2
    output: tuple[int, ...] = ()
    channels_first: bool = False
    spread: bool = False
    open: bool = False

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def spans(self) -> tuple[int, ...]:
        """The elements that the dilated kernel reaches over on each axis."""
        return tuple((width - 1) * step + 1 for width, step in zip(self.kernel, self.dilations, strict=True))

    def shape(self) -> tuple[int, ...]:
        """The shape of the data in the window's own layout."""
        return self._ordered(self.batch, self.sizes, self.channels)

    def _ordered(self, batch: int, sizes: Sequence[int], channels: int) -> tuple[int, ...]:
        return (batch, channels, *sizes) if self.channels_first else (batch, *sizes, channels)

    def weight_shape(self) -> tuple[int, ...]:
        """TensorFlow's order: (K..., in, out), depthwise (K..., in, multiplier), transposed (K..., out, in)."""
        last = (self.filters, self.channels) if self.kind == "transposed" else (self.channels, self.filters)
        return (*self.kernel, *last)

    def _seed(self) -> int:
        return zlib.crc32(repr(replace(self, open=False)).encode())

    def data(self) -> NDArray[np.float32]:
        """The data; the same numbers each time. Mostly negative, so that zeros are no harmless padding of a maximum."""
        drawn = np.random.default_rng(self._seed()).standard_normal(self.shape(), np.float32)
        return drawn - 2

    def weight(self) -> NDArray[np.float32]:
        """The filter."""
        drawn = np.random.default_rng(self._seed() + 1).standard_normal(self.weight_shape(), np.float32)
        return (drawn / math.sqrt(math.prod(self.kernel))).astype(np.float32)


def graph_of(
    windows: Sequence[Window], *, oracle: bool = False, weights: Sequence[NDArray[Any]] | None = None
) -> bytes:
    """A GraphDef with a placeholder `x0`, `x1`, ... and a result `y0`, `y1`, ... for each window.

    With `oracle` it is what TensorFlow's CPU kernels take.
    """
    nodes: list[NodeDef] = []
    for index, window in enumerate(windows):
        weight = window.weight() if weights is None else weights[index]
        nodes += _nodes(window, index, oracle and window.channels_first, weight)
    return graph_def(*nodes)


def feeds_of(windows: Sequence[Window]) -> dict[str, NDArray[Any]]:
    """The placeholders' data."""
    return {f"x{index}": window.data() for index, window in enumerate(windows)}


def results_of(windows: Sequence[Window]) -> list[str]:
    """The names of the results."""
    return [f"y{index}" for index in range(len(windows))]


def _nodes(window: Window, index: int, turned: bool, weight: NDArray[Any]) -> list[NodeDef]:
    """One window's nodes; `turned` computes with channels last what is channels first."""
    made: list[NodeDef] = []

    def add(op: str, name: str, *inputs: str, **attrs: Any) -> str:
        made.append(node(op, f"{name}{index}", inputs, **attrs))
        return f"{name}{index}"

    def number(name: str, values: Any) -> str:
        made.append(const(f"{name}{index}", np.asarray(values, np.int32)))
        return f"{name}{index}"

    first = window.channels_first and not turned
    rank = window.rank
    made.append(placeholder(f"x{index}", "float32", (None,) * (rank + 2) if window.open else window.shape()))
    data = f"x{index}"
    if turned:
        data = add("Transpose", "last", data, number("to_last", (0, *range(2, rank + 2), 1)), T="float32")
    spread = window.spread and any(step != 1 for step in window.dilations)
    if spread:
        paddings, crops = _spread(window)
        blocks = number("blocks", window.dilations)
        data = add("SpaceToBatchND", "apart", data, blocks, number("paddings", paddings), T="float32")
    data = _two_axes(window, data, first, add, number)
    result = _operator(window, data, first, spread, weight, add, number)
    if rank == 1:
        result = add("Squeeze", "flat", result, T="float32", squeeze_dims=(2 if first else 1,))
    if spread:
        result = add("BatchToSpaceND", "together", result, blocks, number("crops", crops), T="float32")
    if turned:
        result = add("Transpose", "first", result, number("to_first", (0, rank + 1, *range(1, rank + 1))), T="float32")
    add("Identity", "y", result, T="float32")
    return made


def _two_axes(window: Window, data: str, first: bool, add: Any, number: Any) -> str:
    """TensorFlow has no operators over one axis: a second one is put before it."""
    if window.rank != 1:
        return data
    return str(add("ExpandDims", "wide", data, number("wide_axis", 2 if first else 1), T="float32", Tdim="int32"))


def _operator(
    window: Window, data: str, first: bool, spread: bool, weight: NDArray[Any], add: Any, number: Any
) -> str:
    front = (1,) if window.rank == 1 else ()
    rank = max(window.rank, 2)

    def per_axis(numbers: Sequence[int]) -> tuple[int, ...]:
        inner = (*front, *numbers)
        return (1, 1, *inner) if first else (1, *inner, 1)

    attrs: dict[str, Any] = {
        "T": "float32", "strides": per_axis(window.strides), "data_format": FORMATS[rank, first],
        **_padding_attrs(window, first, spread),
    }  # fmt: skip
    if window.kind in POOLS:
        return str(add(POOLS[window.kind][window.rank], "op", data, ksize=per_axis(window.kernel), **attrs))
    if not spread and any(step != 1 for step in window.dilations):
        attrs["dilations"] = per_axis(window.dilations)
    kernel = add("Const", "weight", dtype="float32", value=weight.reshape(*front, *weight.shape))
    if window.kind == "transposed":
        inner = (*front, *window.output)
        filters = window.filters
        whole = (window.batch, filters, *inner) if first else (window.batch, *inner, filters)
        return str(add(TRANSPOSED[window.rank], "op", number("whole", whole), kernel, data, **attrs))
    name = "DepthwiseConv2dNative" if window.kind == "depthwise" else CONVOLUTIONS[window.rank]
    return str(add(name, "op", data, kernel, **attrs))


def _padding_attrs(window: Window, first: bool, spread: bool) -> dict[str, Any]:
    if spread:
        return {"padding": "VALID"}
    if isinstance(window.padding, str):
        return {"padding": window.padding}
    pairs = [(0, 0)] * (window.rank == 1) + list(window.padding)
    around = [(0, 0), (0, 0), *pairs] if first else [(0, 0), *pairs, (0, 0)]
    return {"padding": "EXPLICIT", "explicit_paddings": tuple(number for pair in around for number in pair)}


def _spread(window: Window) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Paddings of SpaceToBatchND and crops of BatchToSpaceND at stride 1: up to the next multiple, and off again.

    Source: `tf.required_space_to_batch_paddings`.
    """
    paddings, crops = [], []
    for size, span, step in zip(window.sizes, window.spans, window.dilations, strict=True):
        total = span - 1 if window.padding == "SAME" else 0
        before = total // 2
        missing = -(size + total) % step
        paddings.append((before, total - before + missing))
        crops.append((0, missing))
    return paddings, crops


def _per_axis(draw: st.DrawFn, rank: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(rank))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Any window that TensorFlow's CPU kernels compute and that holds data: sizes 1 to 39, kernels 1 to 7, strides 1
    to 5, dilations 1 to 3; over three axes two of them are short, for speed."""
    kind = draw(st.sampled_from(("conv", "transposed", "max", "average", "depthwise")))
    rank = 2 if kind == "depthwise" else draw(st.sampled_from((2, 1, 3)))
    largest = [39] * rank if rank < 3 else draw(st.permutations((39, 7, 5)))
    kernel, strides = _per_axis(draw, rank, 1, 7 if rank < 3 else 5), _per_axis(draw, rank, 1, 5)
    if kind == "depthwise":
        strides = strides[:1] * rank
    policy = draw(st.sampled_from(("SAME", "VALID", "EXPLICIT")))
    if policy == "EXPLICIT" and (rank == 3 or kind == "average"):
        policy = "SAME"
    ones = dilations = (1,) * rank
    spread = False
    if kind in ("conv", "depthwise") or (kind in POOLS and policy == "VALID"):
        dilations = ones if draw(st.booleans()) else _per_axis(draw, rank, 1, 3)
        needs_spread = dilations != ones and (rank == 3 or kind != "conv")
        spread = needs_spread or (policy != "EXPLICIT" and strides == ones and draw(st.booleans()))
        if needs_spread and policy == "EXPLICIT":
            policy = "SAME"
        if needs_spread:
            strides = ones
    spans = [(width - 1) * step + 1 for width, step in zip(kernel, dilations, strict=True)]
    padding: Any = policy
    pads = [(0, 0)] * rank
    if policy == "EXPLICIT":
        most = [min(width - 1, 4) if kind == "max" else 4 for width in kernel]
        pads = [(draw(st.integers(0, high)), draw(st.integers(0, high))) for high in most]
        padding = tuple(pads)
    sizes, output = [], []
    for axis in range(rank):
        least = 1 if policy == "SAME" else max(spans[axis] - sum(pads[axis]), 1)
        if kind == "transposed":  # `output` is what the forward convolution takes, `sizes` what it gives
            reach = 0 if policy == "SAME" else sum(pads[axis]) - spans[axis] + 1
            whole = draw(st.integers(least, max(largest[axis], least)))
            output.append(whole)
            sizes.append(-(-(whole + reach) // strides[axis]))
        else:
            sizes.append(draw(st.integers(least, max(largest[axis], least))))
    turned = draw(st.booleans()) and not spread
    # under SAME TensorFlow's CPU kernels over three axes lay windows narrower than their stride by the size
    by_size = rank == 3 and any(stride - width >= 2 for stride, width in zip(strides, kernel, strict=True))
    size_free = not by_size and policy != "EXPLICIT" and not spread and kind != "transposed" and draw(st.booleans())
    return Window(
        kind, tuple(sizes), kernel, strides, dilations, padding, draw(st.integers(1, 2)), draw(st.integers(1, 3)),
        draw(st.integers(1, 2)), tuple(output), turned, spread, size_free,
    )  # fmt: skip


__all__ = ["Window", "feeds_of", "graph_of", "results_of", "windows"]
