"""Keras's attention layers: scores of queries against keys, and the values' means by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.activations import hide_scores, zero_where_hidden
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall
from graphir.decisions import DecisionKind
from graphir.errors import FormatError
from graphir.graph import Value
from graphir.ops.activation import Softmax
from graphir.ops.creation import Range
from graphir.ops.elementwise import Abs, GreaterOrEqual, Less, Mul, Sub
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Shape, Transpose, Unsqueeze
from graphir.tensor import Tensor
from graphir.types import DType


def multi_head_attention(layer: LayerCall) -> list[Endpoint]:
    """Queries, keys and values multiplied into heads, attention, and a product back."""
    config = layer.config
    if config.get("attention_axes") not in (None, 1, -2, [1], [-2]):
        raise Refusal(f"attention_axes {config['attention_axes']}; only one axis, that of the steps, is read")
    heads = int(config["num_heads"])
    return _attend(layer, _Heads(heads, heads, int(config["key_dim"]), layer.keras >= 3, _zeroes(layer)))


def grouped_query_attention(layer: LayerCall) -> list[Endpoint]:
    """Add attention where several heads of the queries share a head of the keys and values."""
    config = layer.config
    heads, shared = int(config["num_query_heads"]), int(config["num_key_value_heads"])
    if heads % shared:
        raise FormatError(f"layer {layer.name}: {heads} heads of queries cannot share {shared} of keys evenly")
    return _attend(layer, _Heads(heads, shared, int(config["head_dim"]), True, _zeroes(layer)))


def _zeroes(layer: LayerCall) -> bool:
    """Return whether a query that may look at nothing gives 0: version 3 takes another path with dropout or with
    scores."""
    by_softmax = bool(layer.config.get("dropout")) or bool(layer.kwargs.get("return_attention_scores"))
    return by_softmax and layer.keras >= 3


def _attend(layer: LayerCall, function: _Heads) -> list[Endpoint]:
    """Return the results of attention with heads, whose parts have weights of their own."""
    query, value, key = layer.first, layer.given("value"), layer.given("key")
    if value is None:
        raise Refusal("a call without value")
    names = ["query", "key", *(["gate"] if layer.config.get("use_gate") else []), "value", "output"]
    use_bias = bool(layer.config.get("use_bias", True))
    parts = {
        name: [layer.converted(tensor) for tensor in layer.stored.part(f"{name}_dense", index, len(names)).tensors()]
        for index, name in enumerate(names)
    }
    if any(len(part) != 1 + use_bias for part in parts.values()):
        raise Refusal(f"its file has other weights than those of {', '.join(names)}")
    rows = (("query", query), ("key", key or value), ("value", value))
    operands = [_project(layer, name, operand, parts[name]) for name, operand in rows]
    mask = _combine_masks(layer, query, key, value)
    if layer.takes_masks and query.mask is None and layer.given("query_mask") is not None:
        function = replace(function, unseen=True)
    means = layer.apply(function, "attention", [*operands, *([] if mask is None else [mask])])
    weights, tensors = Endpoint(means.node, 1), parts["output"]
    if "gate" in parts:
        gate = layer.add("Sigmoid", "gate_open", [_project(layer, "gate", query, parts["gate"])])
        means = layer.add("Mul", "gated", [means, gate])
    kernel = _flatten(layer, tensors[0], (tensors[0].shape[0] * tensors[0].shape[1], -1))
    result = layer.add("MatMul", "output", [means, layer.constant("output_kernel", kernel)])
    if use_bias:
        result = layer.add("AddV2", "output_bias_add", [result, layer.constant("output_bias", tensors[1])])
    return [result, weights] if layer.kwargs.get("return_attention_scores") else [result]


def _project(layer: LayerCall, name: str, operand: KerasValue, tensors: Sequence[Tensor]) -> Endpoint:
    """Return (N, steps, heads * size) of values (N, steps, C) by a kernel (C, heads, size)."""
    kernel = _flatten(layer, tensors[0], (tensors[0].shape[0], -1))
    product = layer.add("MatMul", name, [operand.value, layer.constant(f"{name}_kernel", kernel)])
    if len(tensors) > 1:
        bias = layer.constant(f"{name}_bias", _flatten(layer, tensors[1], (-1,)))
        product = layer.add("AddV2", f"{name}_bias_add", [product, bias])
    return product


def _flatten(layer: LayerCall, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    known = int(np.prod([size for size in shape if size > 0]))
    return tensor.reshaped(tuple(size if size > 0 else tensor.size // known for size in shape))


@dataclass(frozen=True)
class _Heads:
    """The import function of attention over values (N, steps, heads * size), perhaps with a mask of the scores (N, 1 or
    heads, queries, keys). The second result is the scores after the softmax.

    `shared` is the number of heads that keys and values have. With `replaced` a hidden score is another number, else
    it is that much less. With `zeroed` a query that may look at nothing looks at nothing (see `zero_where_hidden`).
    `unseen` says that the call states a mask of the queries that Keras does not use.
    """

    heads: int
    shared: int
    size: int
    replaced: bool
    zeroed: bool
    unseen: bool = False

    def __call__(self, node: ImportNode) -> Imported:
        """Return means (N, queries, heads * value size) and scores."""
        q, k, v, *mask = node.inputs
        if self.unseen:
            text = "the stated query_mask is not used: Keras 3.15 uses the mask that the query carries, and it has none"
            node.decide(DecisionKind.UNUSED_MASK, text)
        if any(node.rank(value) != 3 for value in (q, k, v)):
            node.refuse("attention over values with other axes than (N, steps, channels)")
        scaled = node.step(Mul(), q, node.scalar_like(q, 1.0 / float(np.sqrt(self.size))), suffix="scaled")
        queries = self._split(node, scaled, self.heads, (0, 2, 1, 3), "queries")
        keys = self._split(node, k, self.shared, (0, 2, 3, 1), "keys")
        scores = node.step(MatMul(), queries, keys, suffix="scores")
        if mask:
            scores = hide_scores(node, scores, mask[0], replaced=self.replaced)
        weights = node.step(Softmax(-1), scores, suffix="weights")
        if mask and self.zeroed:
            weights = zero_where_hidden(node, weights, mask[0])
        values = self._split(node, v, self.shared, (0, 2, 1, 3), "values")
        means = node.step(MatMul(), weights, values, suffix="means")
        joined = node.step(Transpose((0, 2, 1, 3)), means, suffix="steps_first")
        return node.step(Reshape(), joined, node.vector([0, 0, -1]), suffix="joined"), weights

    def _split(self, node: ImportNode, value: Value, heads: int, order: tuple[int, ...], suffix: str) -> Value:
        parts = node.step(Reshape(), value, node.vector([0, 0, heads, -1]), suffix=f"{suffix}_of_heads")
        split = node.step(Transpose(order), parts, suffix=suffix)
        if heads == self.heads:
            return split
        owners = [head * heads // self.heads for head in range(self.heads)]
        return node.step(Gather(1), split, node.vector(owners), suffix=f"{suffix}_repeated")


def _combine_masks(layer: LayerCall, query: KerasValue, key: KerasValue | None, value: KerasValue) -> Endpoint | None:
    """Return which keys may be looked at (N, 1 or heads, queries, keys), by all masks together; None without masks.

    Version 3's MultiHeadAttention looks at the mask that its queries carry, never at one that the call states, and
    takes their masks from all operands.
    """
    value_mask = layer.mask_argument("value_mask") or value.mask
    key_mask = layer.mask_argument("key_mask") or (None if key is None else key.mask)
    query_mask = layer.mask_argument("query_mask") or query.mask
    if layer.class_name == "MultiHeadAttention" and layer.keras >= 3:
        query_mask, layer.takes_masks = query.mask, True
    masks = [("query", query_mask, -1), ("value", value_mask, -2)]
    if key_mask != value_mask:
        masks.append(("key", key_mask, -2))
    parts = [
        layer.add("ExpandDims", f"{name}_mask", [mask, layer.constant(f"{name}_mask_axis", axis)])
        for name, mask, axis in masks
        if mask is not None
    ]
    stated = layer.mask_argument("attention_mask")
    if stated is not None:
        parts.append(stated)
    if layer.kwargs.get("use_causal_mask"):
        parts.append(layer.apply(import_causal, "causal_mask", [query.value, value.value]))
    window = layer.config.get("sliding_window")
    if window is not None:
        parts.append(layer.apply(_import_window(int(window)), "window_mask", [query.value, value.value]))
    if not parts:
        return None
    whole = parts[0]
    for index, part in enumerate(parts[1:]):
        whole = layer.add("LogicalAnd", f"mask_{index}", [whole, part])
    return layer.apply(_add_head_axis, "mask", [whole])


def _add_head_axis(node: ImportNode) -> Imported:
    """Return (N, queries, keys) with an axis for heads; masks that have one already stay."""
    value = node.input(0)
    rank = node.rank(value)
    return node.emit(Unsqueeze(), value, node.vector([1])) if rank == 3 else value


def import_causal(node: ImportNode) -> Imported:
    """(1, queries, keys): true where the key does not come after the query."""
    return node.emit(GreaterOrEqual(), *_make_indices(node))


def _import_window(window: int) -> ImportFunction:
    """(1, queries, keys): true where the key is less than `window` steps before or after the query."""

    def import_window(node: ImportNode) -> Imported:
        distance = node.step(Abs(), node.step(Sub(), *_make_indices(node), suffix="offset"), suffix="distance")
        return node.emit(Less(), distance, node.constant(window, DType.INT64))

    return import_window


def _make_indices(node: ImportNode) -> list[Value]:
    """Return the indices of the queries (1, queries, 1) and of the keys (1, 1, keys)."""
    ends = []
    for value, axis in zip(node.inputs, (2, 1), strict=True):
        size = node.step(Gather(0), node.step(Shape(), value), node.constant(1, DType.INT64), suffix="size")
        zero, step = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
        indices = node.step(Range(), zero, size, step, suffix="places")
        ends.append(node.step(Unsqueeze(), indices, node.vector([0, axis]), suffix="spread"))
    return ends


def attention(layer: LayerCall) -> list[Endpoint]:
    """Add attention whose scores are products of queries and keys (times a learned scale)."""
    if layer.config.get("score_mode", "dot") != "dot":
        raise Refusal(f"score_mode {layer.config['score_mode']!r}; only 'dot' is read")
    query, value, key = _query_value_key(layer)
    scores = layer.add("BatchMatMulV2", "scores", [query.value, key.value], adj_x=False, adj_y=True)
    if layer.config.get("use_scale"):
        scores = layer.add("Mul", "scaled", [scores, layer.weight(0, "scale")])
    return _weigh(layer, scores, query, value)


def additive_attention(layer: LayerCall) -> list[Endpoint]:
    """Add attention whose scores are sums of tanh(query + key), times a learned scale."""
    query, value, key = _query_value_key(layer)
    rows = layer.add("ExpandDims", "rows", [query.value, layer.constant("row_axis", -2)])
    columns = layer.add("ExpandDims", "columns", [key.value, layer.constant("column_axis", -3)])
    total = layer.add("Tanh", "tanh", [layer.add("AddV2", "sum", [rows, columns])])
    if layer.config.get("use_scale", True):
        total = layer.add("Mul", "scaled", [total, layer.weight(0, "scale")])
    scores = layer.add("Sum", "scores", [total, layer.constant("score_axis", [-1])], keep_dims=False)
    return _weigh(layer, scores, query, value)


def _query_value_key(layer: LayerCall) -> tuple[KerasValue, KerasValue, KerasValue]:
    operands = layer.operands
    if len(operands) not in (2, 3):
        raise Refusal(f"{len(operands)} operands, expected query, value and perhaps key")
    return operands[0], operands[1], operands[-1]


def _weigh(layer: LayerCall, scores: Endpoint, query: KerasValue, value: KerasValue) -> list[Endpoint]:
    """Return the values' means by the softmax of the scores; 0 for queries that the query's mask hides."""
    query_mask, value_mask = query.mask, value.mask
    if layer.kwargs.get("mask") is not None:
        stated = layer.mask_arguments("mask")
        query_mask, value_mask = (*stated, None)[:2]
    parts = []
    if value_mask is not None:
        parts.append(layer.add("ExpandDims", "value_mask", [value_mask, layer.constant("value_mask_axis", -2)]))
    if layer.kwargs.get("use_causal_mask") or layer.config.get("causal"):
        parts.append(layer.apply(import_causal, "causal_mask", [query.value, value.value]))
    if parts:
        whole = parts[0] if len(parts) == 1 else layer.add("LogicalAnd", "mask", parts)
        scores = layer.apply(_import_hidden, "masked", [scores, whole])
    weights = layer.add("Softmax", "weights", [scores])
    mean = layer.add("BatchMatMulV2", "mean", [weights, value.value], adj_x=False, adj_y=False)
    if query_mask is not None:
        kept = layer.add("ExpandDims", "kept", [query_mask, layer.constant("kept_axis", -1)])
        mean = layer.add("Mul", "kept_mean", [mean, layer.add("Cast", "ones", [kept], DstT=layer.dtype)])
        layer.mask = query_mask
    return [mean, weights] if layer.kwargs.get("return_attention_scores") else [mean]


def _import_hidden(node: ImportNode) -> Imported:
    return hide_scores(node, node.input(0), node.input(1), replaced=False)


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "AdditiveAttention": additive_attention,
    "Attention": attention,
    "GroupQueryAttention": grouped_query_attention,
    "MultiHeadAttention": multi_head_attention,
}
