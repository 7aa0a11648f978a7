"""Layers as Keras has them, built as graphir's operators over channel-first tensors."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir import DType, Graph, Tensor, TensorType, Value
from graphir.ops.activation import HardSigmoid, Relu, Sigmoid, Softmax
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Clip, Mul
from graphir.ops.linear import Gemm
from graphir.ops.normalization import BatchNormalization
from graphir.ops.pooling import AveragePool, GlobalAveragePool, MaxPool
from graphir.ops.shape import Flatten, Reshape
from graphir.ops.shape_parts import Concat
from graphir.padding import Explicit, Padding, Same, valid

Array = NDArray[Any]
Weights = Callable[[str, tuple[int, ...]], Array]
SAME = Same()


def seeded(seed: int = 0) -> Weights:
    """Weights that any machine makes again: He-normal kernels, small offsets, variances around 1."""

    def make(name: str, shape: tuple[int, ...]) -> Array:
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        kind = name.rpartition("/")[2]
        if kind in ("moving_variance", "variance", "gamma"):
            return random.uniform(0.5, 1.5, shape).astype(np.float32)
        if kind in ("beta", "bias", "moving_mean", "mean"):
            return (0.1 * random.standard_normal(shape)).astype(np.float32)
        fan_in = np.prod(shape[:2]) if shape[-1] == 1 else np.prod(shape[:-1])  # one filter a channel is depthwise
        drawn: Array = random.standard_normal(shape) * np.sqrt(2 / fan_in)
        return drawn.astype(np.float32)

    return make


def stored(arrays: Mapping[str, Array]) -> Weights:
    """Weights by Keras's names, `layer/kernel`, in Keras's layouts. KeyError names what is missing."""

    def find(name: str, shape: tuple[int, ...]) -> Array:
        array = arrays[name]
        if array.shape != shape:
            raise ValueError(f"{name} has the shape {array.shape}, expected {shape}")
        return array

    return find


class Network:
    """A network in the making. Layers take and give values (N, C, H, W), named after Keras's layers.

    Weights come in Keras's layouts: kernels (H, W, in, out), depthwise ones (H, W, in, multiplier), dense (in, out).
    """

    def __init__(self, name: str, weights: Weights) -> None:
        self.graph = Graph(name)
        self._weights = weights

    def input(self, name: str, shape: Sequence[int | str]) -> Value:
        """A float32 input; a size may be a name."""
        from graphir.inference.engine import parse_dims

        return self.graph.add_input(name, TensorType(DType.FLOAT32, parse_dims(tuple(shape))))

    def conv(
        self,
        x: Value,
        filters: int,
        kernel: tuple[int, int],
        name: str,
        *,
        stride: int = 1,
        padding: Padding = SAME,
        bias: bool = False,
    ) -> Value:
        """Conv2D."""
        channels = _channels(x)
        weight = self._parameter(f"{name}/kernel", (*kernel, channels, filters), (3, 2, 0, 1))
        operands = [x, weight]
        if bias:
            operands.append(self._parameter(f"{name}/bias", (filters,)))
        op = Conv(kernel, strides=(stride, stride), padding=padding)
        return self.graph.add(op, *operands, name=name)

    def depthwise_conv(
        self, x: Value, kernel: tuple[int, int], name: str, *, stride: int = 1, padding: Padding = SAME
    ) -> Value:
        """DepthwiseConv2D with one filter a channel, without bias."""
        channels = _channels(x)
        weight = self._parameter(f"{name}/kernel", (*kernel, channels, 1), (2, 3, 0, 1))
        op = Conv(kernel, strides=(stride, stride), padding=padding, group=channels)
        return self.graph.add(op, x, weight, name=name)

    def batch_norm(self, x: Value, name: str, *, scale: bool = True, epsilon: float = 1e-3) -> Value:
        """BatchNormalization, as inference has it; without `scale` gamma is 1."""
        shape = (_channels(x),)
        if scale:
            gamma = self._parameter(f"{name}/gamma", shape)
        else:
            gamma = self.graph.constant(np.ones(shape, np.float32), name=f"{name}/gamma")
        rest = [self._parameter(f"{name}/{kind}", shape) for kind in ("beta", "moving_mean", "moving_variance")]
        return self.graph.add(BatchNormalization(epsilon=epsilon), x, gamma, *rest, name=name)

    def relu(self, x: Value, name: str) -> Value:
        """ReLU."""
        return self.graph.add(Relu(), x, name=name)

    def relu6(self, x: Value, name: str) -> Value:
        """min(max(x, 0), 6)."""
        low, high = (self.graph.constant(np.float32(limit), name=f"{name}/limit") for limit in (0, 6))
        return self.graph.add(Clip(), x, low, high, name=name)

    def swish(self, x: Value, name: str) -> Value:
        """x * sigmoid(x)."""
        return self.graph.add(Mul(), x, self.graph.add(Sigmoid(), x, name=f"{name}/sigmoid"), name=name)

    def hard_sigmoid(self, x: Value, name: str) -> Value:
        """relu6(x + 3) / 6."""
        return self.graph.add(HardSigmoid(alpha=1 / 6, beta=0.5), x, name=name)

    def sigmoid(self, x: Value, name: str) -> Value:
        """1 / (1 + exp(-x))."""
        return self.graph.add(Sigmoid(), x, name=name)

    def max_pool(self, x: Value, size: int, stride: int, name: str, *, padding: Padding | None = None) -> Value:
        """MaxPooling2D, VALID unless said otherwise."""
        op = MaxPool((size, size), (stride, stride), padding=padding or valid(2))
        return self.graph.add_node(op, (x,), name=name).outputs[0]

    def average_pool(self, x: Value, size: int, stride: int, name: str, *, padding: Padding = SAME) -> Value:
        """AveragePooling2D: padding does not count, as TensorFlow has it."""
        return self.graph.add(AveragePool((size, size), (stride, stride), padding=padding), x, name=name)

    def global_average_pool(self, x: Value, name: str) -> Value:
        """The mean over height and width, both kept as 1."""
        return self.graph.add(GlobalAveragePool(), x, name=name)

    def flatten(self, x: Value, name: str) -> Value:
        """(N, C, 1, 1) to (N, C)."""
        return self.graph.add(Flatten(), x, name=name)

    def concat(self, parts: Sequence[Value], name: str) -> Value:
        """Joined along the channels."""
        return self.graph.add(Concat(1), *parts, name=name)

    def add(self, left: Value, right: Value, name: str) -> Value:
        """The sum of two of one shape."""
        return self.graph.add(Add(), left, right, name=name)

    def multiply(self, left: Value, right: Value, name: str) -> Value:
        """The product; sizes of 1 are spread."""
        return self.graph.add(Mul(), left, right, name=name)

    def scaled(self, x: Value, factor: float, name: str) -> Value:
        """The product with a number."""
        return self.graph.add(Mul(), x, self.graph.constant(np.float32(factor), name=f"{name}/factor"), name=name)

    def dense(self, x: Value, units: int, name: str) -> Value:
        """Dense of (N, C), with bias."""
        weight = self._parameter(f"{name}/kernel", (_channels(x), units))
        return self.graph.add(Gemm(), x, weight, self._parameter(f"{name}/bias", (units,)), name=name)

    def softmax(self, x: Value, name: str) -> Value:
        """Along the classes."""
        return self.graph.add(Softmax(axis=1), x, name=name)

    def reshape(self, x: Value, shape: Sequence[int], name: str) -> Value:
        """The same elements in another shape; 0 keeps a size, -1 is what is left."""
        wanted = self.graph.constant(np.array(shape, np.int64), name=f"{name}/shape")
        return self.graph.add(Reshape(), x, wanted, name=name)

    def finish(self, *outputs: Value) -> Graph:
        """The graph, with these outputs; checked."""
        self.graph.set_outputs(outputs)
        self.graph.check()
        return self.graph

    def _parameter(self, name: str, shape: tuple[int, ...], order: tuple[int, ...] = ()) -> Value:
        tensor = Tensor.of(self._weights(name, shape))
        return self.graph.add_parameter(name, tensor.transposed(order) if order else tensor)


def explicit(pad: int) -> Explicit:
    """As many zeros on all four sides."""
    return Explicit(((pad, pad), (pad, pad)))


def _channels(x: Value) -> int:
    assert x.shape is not None
    channels = x.shape[1]
    assert isinstance(channels, int)
    return channels
