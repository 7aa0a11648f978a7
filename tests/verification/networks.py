"""Small ONNX networks of several families, with seeded weights, and what can be done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Model = Any


class Builder:
    """A network in the making; every layer gives the name of its result, which is its node's too."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._counts: dict[str, int] = {}

    def add(self, operator: str, *operands: str, name: str = "", **attributes: Any) -> str:
        count = self._counts[operator] = self._counts.get(operator, 0) + 1
        name = name or f"{operator.lower()}{count}"
        self.nodes.append(helper.make_node(operator, list(operands), [name], name=name, **attributes))
        return name

    def weight(self, name: str, *shape: int, scale: float = 0.0) -> str:
        spread = scale or 1.2 / max(1, int(np.prod(shape[1:]))) ** 0.5
        return self.constant(name, self.generator.standard_normal(shape) * spread)

    def constant(self, name: str, array: Any, dtype: str = "float32") -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def conv(self, data: str, before: int, after: int, name: str, **attributes: Any) -> str:
        given = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3], **attributes}
        weight = self.weight(f"{name}_weight", after, before, 3, 3)
        return self.add("Conv", data, weight, self.weight(f"{name}_bias", after, scale=0.1), name=name, **given)

    def norm(self, data: str, channels: int, name: str) -> str:
        ranges = (0.5, 1.5), (-0.2, 0.2), (-0.2, 0.2), (0.5, 1.5)
        made = [self.generator.uniform(*ends, channels) for ends in ranges]
        held = [self.constant(f"{name}_{what}", array) for what, array in zip("gbmv", made, strict=True)]
        return self.add("BatchNormalization", data, *held, name=name)

    def dense(self, data: str, before: int, after: int, name: str) -> str:
        weight = self.weight(f"{name}_weight", after, before)
        return self.add("Gemm", data, weight, self.weight(f"{name}_bias", after, scale=0.1), name=name, transB=1)

    def model(self, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> Model:
        ends = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in side.items()]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "network", ends[0], ends[1], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made, full_check=True)
        return made


def cnn() -> Model:
    """Convolutions with normalizations, a residual sum, a classifier."""
    made = Builder(1)
    data = made.add("Relu", made.norm(made.conv("data", 3, 8, "conv1"), 8, "bn1"), name="relu1")
    pooled = made.add("MaxPool", data, name="pool1", kernel_shape=[2, 2], strides=[2, 2])
    inner = made.add("Relu", made.norm(made.conv(pooled, 8, 8, "conv2"), 8, "bn2"), name="relu2")
    inner = made.norm(made.conv(inner, 8, 8, "conv3"), 8, "bn3")
    joined = made.add("Relu", made.add("Add", pooled, inner, name="sum1"), name="relu3")
    other = made.add("Relu", made.norm(made.conv(joined, 8, 12, "conv4"), 12, "bn4"), name="relu4")
    flat = made.add("Flatten", made.add("GlobalAveragePool", other, name="mean1"), name="flat1")
    made.add("Softmax", made.dense(flat, 12, 5, "fc1"), name="prob", axis=1)
    return made.model({"data": ["N", 3, 12, 10]}, {"prob": ["N", 5]})


def two_heads() -> Model:
    """An MLP with two outputs of one shape."""
    made = Builder(2)
    first = made.add("Relu", made.dense("data", 6, 10, "fc1"), name="relu1")
    second = made.add("Tanh", made.dense(first, 10, 10, "fc2"), name="tanh1")
    made.add("Sigmoid", made.dense(second, 10, 4, "fc3"), name="scores")
    made.add("Relu", made.dense(first, 10, 4, "fc4"), name="sizes")
    return made.model({"data": ["N", 6]}, {"scores": ["N", 4], "sizes": ["N", 4]})


def lstm() -> Model:
    """Two recurrent layers and a dense one."""
    made = Builder(3)
    data = "data"
    for name, before in (("lstm1", 5), ("lstm2", 6)):
        held = [made.weight(f"{name}_w", 1, 24, before), made.weight(f"{name}_r", 1, 24, 6)]
        held.append(made.weight(f"{name}_b", 1, 48, scale=0.1))
        steps = made.add("LSTM", data, *held, name=name, hidden_size=6)
        data = made.add("Squeeze", steps, made.constant(f"{name}_axis", [1], "int64"), name=f"{name}_steps")
    last = made.add("ReduceMean", data, name="mean1", axes=[0], keepdims=0)
    made.dense(last, 6, 3, "fc1")
    return made.model({"data": [7, "N", 5]}, {"fc1": ["N", 3]})


def transformer() -> Model:
    """One attention block with layer normalization by hand and a feed-forward part."""
    made = Builder(4)
    width = 8
    for name in ("query", "key", "value"):
        made.add("MatMul", "data", made.weight(f"{name}_weight", width, width), name=name)
    turned = made.add("Transpose", "key", name="key_turned", perm=[0, 2, 1])
    scores = made.add("MatMul", "query", turned, name="scores")
    scaled = made.add("Mul", scores, made.constant("scale", width**-0.5), name="scaled")
    share = made.add("Softmax", scaled, name="attention", axis=-1)
    mixed = made.add("MatMul", share, "value", name="mixed")
    joined = made.add("Add", "data", mixed, name="joined")
    held = [made.constant("ln_scale", np.linspace(0.5, 1.5, width)), made.weight("ln_bias", width, scale=0.1)]
    normed = made.add("LayerNormalization", joined, *held, name="normed", axis=-1)
    wide = made.add("Relu", made.add("MatMul", normed, made.weight("up_weight", width, 16), name="up"), name="relu1")
    made.add("Add", normed, made.add("MatMul", wide, made.weight("down_weight", 16, width), name="down"), name="out")
    return made.model({"data": ["N", 5, width]}, {"out": ["N", 5, width]})


def renamed(model: Model, *, ends: bool = False) -> Model:
    """The same model with other names for all nodes, inner values and weights, and with `ends` for its outputs too."""
    made = copied(model)
    graph = made.graph
    kept = {item.name for item in graph.input} | (set() if ends else {item.name for item in graph.output})
    names: dict[str, str] = {}

    def of(name: str) -> str:
        return name if not name or name in kept else names.setdefault(name, f"t{len(names) * 37 % 1009}")

    for place, node in enumerate(graph.node):
        node.name = f"n{place * 53 % 997}"
        node.input[:] = [of(name) for name in node.input]
        node.output[:] = [of(name) for name in node.output]
    for tensor in (*graph.initializer, *graph.output):
        tensor.name = of(tensor.name)
    return made


def folded(model: Model) -> Model:
    """The same model with its normalizations in the weights before them."""
    made = copied(model)
    graph = made.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    kept = []
    for node in graph.node:
        if node.op_type != "BatchNormalization":
            kept.append(node)
            continue
        conv = makers[node.input[0]]
        scale, shift, mean, variance = (numpy_helper.to_array(weights[name]).astype("f8") for name in node.input[1:])
        factor = scale / np.sqrt(variance + 1e-5)
        weight, bias = (weights[name] for name in conv.input[1:])
        put(weight, numpy_helper.to_array(weight) * factor[:, None, None, None])
        put(bias, (numpy_helper.to_array(bias) - mean) * factor + shift)
        for user in graph.node:
            user.input[:] = [conv.output[0] if name == node.output[0] else name for name in user.input]
    del graph.node[:]
    graph.node.extend(kept)
    return made


def with_channels_last(model: Model, names: tuple[str, ...]) -> Model:
    """The same model in which Relus work on transposed data."""
    made = copied(model)
    nodes = []
    for node in made.graph.node:
        if node.name not in names:
            nodes.append(node)
            continue
        data, result = node.input[0], node.output[0]
        last, done = f"{result}_last", f"{result}_done"
        nodes.append(helper.make_node("Transpose", [data], [last], name=f"{result}_to", perm=[0, 2, 3, 1]))
        nodes.append(helper.make_node(node.op_type, [last], [done], name=node.name))
        nodes.append(helper.make_node("Transpose", [done], [result], name=f"{result}_back", perm=[0, 3, 1, 2]))
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def copied(model: Model) -> Model:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def node_of(model: Model, name: str) -> Any:
    return next(node for node in model.graph.node if node.name == name)


def put(tensor: Any, array: Any) -> None:
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(array, numpy_helper.to_array(tensor).dtype), tensor.name))


def with_weight(name: str, change: Callable[[Any], Any]) -> Callable[[Model], Model]:
    """A fault: other weights."""

    def apply(model: Model) -> Model:
        made = copied(model)
        tensor = next(held for held in made.graph.initializer if held.name == name)
        put(tensor, change(numpy_helper.to_array(tensor).copy()))
        return made

    return apply


def with_operator(name: str, operator: str, **attributes: Any) -> Callable[[Model], Model]:
    """A fault: another operator with the same first operand."""

    def apply(model: Model) -> Model:
        made = copied(model)
        node = node_of(made, name)
        data = node.input[0]
        del node.attribute[:], node.input[:]
        node.op_type = operator
        node.input.append(data)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        return made

    return apply


def with_clip(name: str, most: float) -> Callable[[Model], Model]:
    """A fault: an activation with a bound."""

    def apply(model: Model) -> Model:
        made = with_operator(name, "Clip")(model)
        node_of(made, name).input.extend([f"{name}_least", f"{name}_most"])
        for what, value in (("least", 0.0), ("most", most)):
            made.graph.initializer.append(numpy_helper.from_array(np.asarray(value, "float32"), f"{name}_{what}"))
        return made

    return apply


def with_attribute(name: str, key: str, value: Any) -> Callable[[Model], Model]:
    """A fault: another attribute."""

    def apply(model: Model) -> Model:
        made = copied(model)
        node = node_of(made, name)
        kept = [held for held in node.attribute if held.name != key]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(key, value)])
        return made

    return apply


def with_operand(name: str, slot: int, other: str) -> Callable[[Model], Model]:
    """A fault: another value is read."""

    def apply(model: Model) -> Model:
        made = copied(model)
        node_of(made, name).input[slot] = other
        return made

    return apply


def together(*changes: Callable[[Model], Model]) -> Callable[[Model], Model]:
    """Several changes, one after the other."""

    def apply(model: Model) -> Model:
        for change in changes:
            model = change(model)
        return model

    return apply


def saved(folder: Path, models: Iterator[Model] | list[Model]) -> list[Path]:
    """The models as files."""
    paths = []
    for place, model in enumerate(models):
        paths.append(folder / f"model{place}.onnx")
        onnx.save(model, paths[-1])
    return paths


__all__ = ["Builder", "Model"]
