"""Networks written in a few lines: operators one after the other, weights drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
Generator = np.random.Generator
Feeds = dict[str, Array]
Draw = Callable[[Generator, int, float], Feeds]


@dataclass(frozen=True)
class Network:
    """A network: its model for a seed of the weights, and `draw`, which makes inputs.

    `draw` takes a generator, a batch and a factor for the width of what is drawn (1.0: as the network is meant to be
    fed). Where sizes are open it draws them too, different from each other. `least` is the least change that is an
    effect, where the network rounds more coarsely than others.
    """

    name: str
    family: str
    build: Callable[[int], onnx.ModelProto]
    draw: Draw
    least: float | None = None


class Builder:
    """An ONNX model under construction. Every method that adds a node returns the name of its (first) result."""

    def __init__(self, name: str, seed: int, opset: int = 17) -> None:
        self.name = name
        self.opset = opset
        self.generator = np.random.Generator(np.random.PCG64([seed, *name.encode()]))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._counts: dict[str, int] = {}

    def input(self, name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> str:
        """An input; sizes that are texts are open."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, value: str, *shape: int | str | None, kind: int = TensorProto.FLOAT) -> None:
        """Make a value an output."""
        self.outputs.append(helper.make_tensor_value_info(value, kind, list(shape)))

    def const(self, name: str, elements: object, dtype: object = None) -> str:
        """An initializer with these elements; Python's numbers become float32 and int64."""
        array = np.asarray(elements, dtype=dtype)  # type: ignore[call-overload]
        if dtype is None and array.dtype == np.float64:
            array = array.astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, name: str, *shape: int, scale: float | None = None, mean: float = 0.0) -> str:
        """Weights whose products keep the magnitude of what they are applied to (He et al. 2015)."""
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        spread = np.sqrt(2.0 / fan) if scale is None else scale
        return self.const(name, (mean + spread * self.generator.standard_normal(shape)).astype(np.float32))

    def positive(self, name: str, *shape: int) -> str:
        """Weights between 0.5 and 1.5, as variances and scales are."""
        return self.const(name, (0.5 + self.generator.random(shape)).astype(np.float32))

    def op(self, kind: str, *inputs: str, name: str = "", results: int = 1, **attributes: Any) -> str:
        """A node; its results are `NAME_out`, or `NAME_out0`, `NAME_out1`, ..."""
        name = name or self._named(kind.lower())
        made = [f"{name}_out"] if results == 1 else [f"{name}_out{index}" for index in range(results)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, **attributes))
        return made[0]

    def conv(self, x: str, inside: int, outside: int, kernel: int | Sequence[int] = 3, **attributes: Any) -> str:
        """A convolution with weights (of a `scale`) and, unless `bias=False`, a bias; `kind` may be ConvTranspose."""
        kind = attributes.pop("kind", "Conv")
        has_bias, spread = attributes.pop("bias", True), attributes.pop("scale", None)
        sizes = [kernel, kernel] if isinstance(kernel, int) else list(kernel)
        name = self._named(kind.lower())
        group = attributes.get("group", 1)
        shape = (outside, inside // group, *sizes) if kind == "Conv" else (inside, outside // group, *sizes)
        operands = [x, self.normal(f"{name}_weight", *shape, scale=spread)]
        if has_bias:
            operands.append(self.normal(f"{name}_bias", outside, scale=0.3))
        return self.op(kind, *operands, name=name, kernel_shape=sizes, **attributes)

    def norm(self, x: str, channels: int, epsilon: float = 1e-3) -> str:
        """A BatchNormalization as it is after training, one channel with a small variance."""
        name = self._named("bn")
        variance = (0.3 + self.generator.random(channels)).astype(np.float32)
        variance[0] = 0.01
        return self.op(
            "BatchNormalization", x, self.positive(f"{name}_gamma", channels),
            self.normal(f"{name}_beta", channels, scale=0.3), self.normal(f"{name}_mean", channels, scale=0.3),
            self.const(f"{name}_var", variance), name=name, epsilon=epsilon,
        )  # fmt: skip

    def dense(self, x: str, inside: int, outside: int) -> str:
        """A Gemm with transposed weights, as Torch writes it."""
        name = self._named("fc")
        return self.op(
            "Gemm", x, self.normal(f"{name}_weight", outside, inside), self.normal(f"{name}_bias", outside, scale=0.3),
            name=name, transB=1,
        )  # fmt: skip

    def linear(self, x: str, inside: int, outside: int) -> str:
        """A MatMul over the last axis and an Add."""
        name = self._named("linear")
        weight = self.normal(f"{name}_weight", inside, outside, scale=float(1 / np.sqrt(inside)))
        product = self.op("MatMul", x, weight, name=name)
        return self.op("Add", product, self.normal(f"{name}_bias", outside, scale=0.3), name=f"{name}_add")

    def build(self) -> onnx.ModelProto:
        """The model, checked."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        imports = [helper.make_opsetid(domain, 1) for domain in {node.domain for node in self.nodes} - {""}]
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), *imports], ir_version=8)
        onnx.checker.check_model(proto, full_check=True)
        return proto

    def _named(self, stem: str) -> str:
        number = self._counts[stem] = self._counts.get(stem, -1) + 1
        return f"{stem}{number}"


def normal(generator: Generator, scale: float, *shape: int) -> Array:
    """Standard normal float32 times a factor."""
    return (scale * generator.standard_normal(shape)).astype(np.float32)


__all__ = ["Array", "Builder", "Draw", "Feeds", "Generator", "Network", "normal"]
