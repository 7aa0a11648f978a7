"""Models of one window, made from a few numbers, and what onnxruntime computes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.ops.shape import Pad, PadMode
from graphir.padding import Explicit, Padding, Same, SameMode
from graphir.types import DType, TensorType
from tests.building import run_model

KINDS = ("conv", "transposed", "max", "average", "lp")
NOTHING = Explicit()
LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class Model:
    """One window over (1, 2, *sizes), with a Pad (mode, fill, pads of the spatial axes) in front."""

    kind: str
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Padding = NOTHING
    dilations: tuple[int, ...] = ()
    ceil: bool = False
    include: bool = False
    extra: tuple[int, ...] = ()
    front: tuple[PadMode, float, tuple[tuple[int, int], ...]] | None = None

    def operator(self) -> Operator:
        stated: dict[str, Any] = {"strides": self.strides, "padding": self.padding}
        if self.kind == "conv":
            return Conv(self.kernel, dilations=self.dilations, **stated)
        if self.kind == "transposed":
            return ConvTranspose(self.kernel, output_padding=self.extra, **stated)
        if self.kind == "lp":
            return LpPool(self.kernel, ceil_mode=self.ceil, **stated)
        if self.kind == "max":
            return MaxPool(self.kernel, ceil_mode=self.ceil, **stated)
        return AveragePool(self.kernel, ceil_mode=self.ceil, count_include_pad=self.include, **stated)

    def graph(self) -> Graph:
        graph = Graph("one")
        x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, *self.sizes)))
        if self.front is not None:
            mode, fill, pads = self.front
            amounts = [0, 0, *(before for before, _ in pads), 0, 0, *(after for _, after in pads)]
            rest = [graph.constant(np.float32(fill))] if mode is PadMode.CONSTANT else []
            x = graph.add(Pad(mode), x, graph.constant(np.array(amounts, np.int64)), *rest, name="front")
        operands = [x]
        if self.kind in ("conv", "transposed"):
            shape = (3, 2, *self.kernel) if self.kind == "conv" else (2, 3, *self.kernel)
            weight = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
            operands.append(graph.constant(weight, name="layer_weight"))
        graph.set_outputs(graph.add_node(self.operator(), operands, name="layer").outputs[:1])
        return graph

    def data(self) -> NDArray[Any]:
        """Mostly negative numbers: zeros are no harmless padding of a maximum."""
        return np.random.default_rng(0).standard_normal((1, 2, *self.sizes), np.float32) - 1


def computed(model: bytes, x: NDArray[Any]) -> NDArray[Any]:
    """The only result of an ONNX model of one input, as it is written: onnxruntime fuses some Pads wrongly."""
    (source,) = onnx.load_model_from_string(model).graph.input
    (result,) = run_model(model, {source.name: x}, optimize=False).values()
    return result


def equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-5, atol=1e-5))


def is_sound(model: Model) -> bool:
    """Whether the window fits."""
    try:
        model.graph()
    except GraphirError:
        return False
    return True


def _pads(draw: st.DrawFn, model: Model, most: int = 3) -> tuple[tuple[int, int], ...]:
    free = model.kind in ("conv", "transposed")
    limits = [most if free else min(width - 1, most) for width in model.kernel]
    return tuple((draw(st.integers(0, high)), draw(st.integers(0, high))) for high in limits)


@st.composite
def variants(draw: st.DrawFn) -> tuple[Model, Model]:
    """Two models with one kernel and mostly one stride whose padding may differ in every way."""
    kind = draw(st.sampled_from(KINDS))
    rank = draw(st.integers(1, 3))
    sizes = tuple(draw(st.integers(3, 9)) for _ in range(rank))
    kernel, strides = (tuple(draw(st.integers(1, most)) for _ in range(rank)) for most in (4, 3))
    base = Model(kind, sizes, kernel, strides, dilations=(draw(st.integers(1, 2)),) * rank)
    return _padded(draw, base), _padded(draw, base)


def _padded(draw: st.DrawFn, base: Model) -> Model:
    rank = len(base.sizes)
    policy = draw(st.sampled_from(("same", "same", "valid", "explicit", "even")))
    padding: Padding = Same(draw(st.sampled_from(SameMode)))
    if policy != "same":
        pads = _pads(draw, base) if policy != "valid" else ((0, 0),) * rank
        padding = Explicit(pads if policy == "explicit" else tuple((before, before) for before, _ in pads))
    front = None
    if base.kind != "transposed" and draw(st.integers(0, 3)) == 0:
        mode = draw(st.sampled_from((PadMode.CONSTANT, PadMode.CONSTANT, PadMode.REFLECT, PadMode.EDGE)))
        fill = draw(st.sampled_from((0.0, 1.5, LOWEST) if base.kind == "max" else (0.0, 1.5)))
        front = mode, fill, tuple((draw(st.integers(0, 1)), draw(st.integers(0, 1))) for _ in range(rank))
    made = replace(base, padding=padding, front=front, include=draw(st.booleans()))
    if isinstance(padding, Explicit):
        made = replace(made, ceil=draw(st.booleans()))
    if base.kind == "transposed" and draw(st.booleans()):
        made = replace(made, extra=tuple(draw(st.integers(0, stride - 1)) for stride in base.strides))
    return made


__all__ = ["LOWEST", "Model", "computed", "equal", "is_sound", "variants"]
