"""Faults of normalization, of dropout and of attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .edit import Edit, Fault, always, attribute, each, weights

BATCH = "BatchNormalization"
SCALED = "BatchNormalization LayerNormalization InstanceNormalization"


def other_epsilon(model: Model, node: Node) -> Iterator[float]:
    yield 1e-3 if get(node, "epsilon", 1e-5) < 1e-4 else 1e-5


def statistics_swapped(model: Model, node: Node, generator: Generator) -> None:
    """Mean for variance; both are positive then, as a variance has to be."""
    mean, variance = model.operand(node, 3), model.operand(node, 4)
    assert mean is not None
    assert variance is not None
    model.give(node, 3, variance)
    model.give(node, 4, np.abs(mean))


def gamma_beta(model: Model, node: Node, generator: Generator) -> None:
    node.input[1], node.input[2] = node.input[2], node.input[1]


def ones(array: Array, generator: Generator) -> Array | None:
    return np.ones_like(array)


def in_training(model: Model, node: Node, generator: Generator) -> None:
    """Normalized by the batch's own statistics."""
    put(node, "training_mode", 1)
    node.output.extend([model.fresh("running_mean"), model.fresh("running_var")])


def dropout_training(model: Model, node: Node, generator: Generator) -> None:
    del node.input[1:]
    node.input.extend([model.constant(np.float32(0.4)), model.constant(np.array(True))])


def instance_for_batch(model: Model, node: Node, generator: Generator) -> None:
    """InstanceNormalization with the same scale."""
    model.become(node, "InstanceNormalization", list(node.input[:3]), epsilon=get(node, "epsilon", 1e-5))


def sizes(model: Model, node: Node) -> Iterator[int]:
    yield 5 if get(node, "size") == 3 else 3


def half(name: str, default: float) -> Any:
    return attribute("LRN", name, lambda model, node: [get(node, name, default) / 2])


def by_size(model: Model, node: Node) -> Iterator[float]:
    """alpha that is not divided by the size yet, as Caffe and TensorFlow differ."""
    yield get(node, "alpha", 1e-4) * get(node, "size")


def mask_left_out(model: Model) -> Iterator[Edit]:
    for node in model.nodes("Add"):
        after = model.sole_user(node.output[0])
        if after is not None and after.op_type == "Softmax":
            yield Edit((node.name,), _bypass(node.name, 0))


def mask_inverted(model: Model) -> Iterator[Edit]:
    """The operands that say what is kept and what is hidden exchanged."""
    for node in model.nodes("Sub"):
        if "mask" in node.name:
            yield Edit((node.name,), _bypass(node.name, 1))
    for node in model.nodes("Where"):
        if "mask" in node.name:
            yield Edit((node.name,), _exchange(node.name))


def _bypass(name: str, slot: int) -> Callable[[Model, Generator], None]:
    return lambda model, generator: model.bypass(model.node(name), slot)


def _exchange(name: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        node = model.node(name)
        node.input[1], node.input[2] = node.input[2], node.input[1]

    return apply


def attention_scale(array: Array, generator: Generator) -> Array | None:
    """The scale of another number of heads: a factor of the square root of 2."""
    value = float(array.reshape(-1)[0]) if array.size == 1 else 0.0
    return array * array.dtype.type(2**-0.5) if abs(value - 6**-0.5) < 1e-3 else None


def swap_query_key(model: Model) -> Iterator[Edit]:
    """Queries and keys exchanged: attention the other way."""
    for node in model.nodes("MatMul"):
        if node.name.endswith("_scores"):
            parts = [node.name.replace("_scores", f"_{part}_rows") for part in ("query", "key")]
            yield Edit(tuple(parts), _swap_first(*parts))


def _swap_first(first: str, second: str) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        left, right = model.node(first), model.node(second)
        left.input[0], right.input[0] = right.input[0], left.input[0]

    return apply


FAULTS = (
    Fault("another epsilon", attribute(SCALED, "epsilon", other_epsilon)),
    Fault("mean and variance exchanged", each(BATCH, statistics_swapped, always)),
    Fault("gamma and beta exchanged", each(SCALED, gamma_beta, always)),
    Fault("gamma fixed to one", weights(SCALED, 1, ones)),
    Fault("beta left out", weights(SCALED, 2, lambda array, generator: array * 0)),
    Fault("mean left out", weights(BATCH, 3, lambda array, generator: array * 0)),
    Fault("standard deviation for variance", weights(BATCH, 4, lambda array, generator: np.sqrt(array))),
    Fault("BatchNormalization in training mode", each(BATCH, in_training, always)),
    Fault(
        "InstanceNormalization for BatchNormalization",
        each(BATCH, instance_for_batch, lambda model, node: len(model.shape(node.input[0]) or ()) > 2),
    ),
    Fault("Dropout in training mode", each("Dropout", dropout_training, always), random=True),
    Fault("LRN: another size", attribute("LRN", "size", sizes)),
    Fault("LRN: alpha not divided", attribute("LRN", "alpha", by_size)),
    Fault("LRN: another beta", half("beta", 0.75)),
    Fault("LayerNormalization over two axes", attribute("LayerNormalization", "axis", lambda model, node: [-2])),
    Fault("another scale of attention", weights("Mul", 1, attention_scale)),
    Fault("a mask left out", mask_left_out),
    Fault("a mask inverted", mask_inverted),
    Fault("query and key exchanged", swap_query_key),
)

__all__ = ["FAULTS"]
