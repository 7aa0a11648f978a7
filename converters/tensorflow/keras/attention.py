"""Keras's attention layers: scores of queries against keys, and the values' means by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.activations import penalty, zero_where_hidden
from graphir.converters.tensorflow.keras.context import Held, Layer
from graphir.graph import Value
from graphir.ops.activation import Softmax
from graphir.ops.creation import Range
from graphir.ops.elementwise import Add, GreaterOrEqual, Mul
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Shape, Transpose, Unsqueeze
from graphir.tensor import Tensor
from graphir.types import DType


def multi_head_attention(layer: Layer) -> list[Endpoint]:
    """Queries, keys and values multiplied into heads, attention, and a product back."""
    config = layer.config
    query, value = layer.argument(0, "query"), layer.argument(1, "value")
    key = layer.argument(2, "key") or value
    if not isinstance(query, Held) or not isinstance(value, Held) or not isinstance(key, Held):
        raise Refusal("a call without query or value")
    if config.get("attention_axes") not in (None, 1, -2, [1], [-2]):
        raise Refusal(f"attention_axes {config['attention_axes']}; only one axis, that of the steps, is read")
    if config.get("use_gate"):
        raise Refusal("use_gate")
    heads, size = int(config["num_heads"]), int(config["key_dim"])
    use_bias = bool(config.get("use_bias", True))
    parts = [
        [layer.converted(tensor) for tensor in layer.stored.part(f"{name}_dense", place, 4).tensors()]
        for place, name in enumerate(("query", "key", "value", "output"))
    ]
    if any(len(part) != 1 + use_bias for part in parts):
        raise Refusal("its file has other weights than queries, keys, values and results have")
    q, k, v = (
        _projected(layer, name, held, part)
        for name, held, part in zip(("query", "key", "value"), (query, key, value), parts, strict=False)
    )
    mask = _attention_mask(layer, query, key, value)
    by_softmax = bool(config.get("dropout")) or bool(layer.argument(4, "return_attention_scores"))
    found = layer.apply(_Heads(heads, size, by_softmax and layer.keras > 2), "attention", [q, k, v, *mask])
    output, tensors = parts[3][0], parts[3]
    kernel = _flat(layer, output, (output.shape[0] * output.shape[1], -1))
    result = layer.add("MatMul", "output", [found, layer.constant("output_kernel", kernel)])
    if use_bias:
        result = layer.add("AddV2", "output_bias_add", [result, layer.constant("output_bias", tensors[1])])
    return [result, Endpoint(found.node, 1)] if layer.argument(4, "return_attention_scores") else [result]


def _projected(layer: Layer, name: str, held: Held, tensors: Sequence[Tensor]) -> Endpoint:
    """(N, steps, heads * size) of values (N, steps, C) by a kernel (C, heads, size)."""
    kernel = _flat(layer, tensors[0], (tensors[0].shape[0], -1))
    found = layer.add("MatMul", name, [held.value, layer.constant(f"{name}_kernel", kernel)])
    if len(tensors) > 1:
        bias = layer.constant(f"{name}_bias", _flat(layer, tensors[1], (-1,)))
        found = layer.add("AddV2", f"{name}_bias_add", [found, bias])
    return found


def _flat(layer: Layer, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    known = int(np.prod([size for size in shape if size > 0]))
    return tensor.reshaped(tuple(size if size > 0 else tensor.size // known for size in shape))


@dataclass(frozen=True)
class _Heads:
    """The import function of attention over values (N, steps, heads * size), perhaps with a mask of the scores (N, 1 or
    heads, queries, keys), and what is added to them for it. The second result is the scores after the softmax.

    With `zeroed` a query that may look at nothing looks at nothing (see `zero_where_hidden`).
    """

    heads: int
    size: int
    zeroed: bool

    def __call__(self, node: ImportNode) -> Imported:
        """Means (N, queries, heads * value size) and scores."""
        q, k, v, *mask = node.inputs
        if any(node.rank(value) != 3 for value in (q, k, v)):
            node.refuse("attention over values with other axes than (N, steps, channels)")
        scaled = node.step(Mul(), q, node.scalar_like(q, 1.0 / float(np.sqrt(self.size))), suffix="scaled")
        queries = self._split(node, scaled, (0, 2, 1, 3), "queries")
        keys = self._split(node, k, (0, 2, 3, 1), "keys")
        scores = node.step(MatMul(), queries, keys, suffix="scores")
        if mask:
            scores = node.step(Add(), scores, mask[1], suffix="masked")
        weights = node.step(Softmax(-1), scores, suffix="weights")
        if mask and self.zeroed:
            weights = zero_where_hidden(node, weights, mask[0])
        means = node.step(MatMul(), weights, self._split(node, v, (0, 2, 1, 3), "values"), suffix="means")
        joined = node.step(Transpose((0, 2, 1, 3)), means, suffix="steps_first")
        return node.step(Reshape(), joined, node.vector([0, 0, -1]), suffix="joined"), weights

    def _split(self, node: ImportNode, value: Value, order: tuple[int, ...], suffix: str) -> Value:
        parts = node.step(Reshape(), value, node.vector([0, 0, self.heads, -1]), suffix=f"{suffix}_of_heads")
        return node.step(Transpose(order), parts, suffix=suffix)


def _attention_mask(layer: Layer, query: Held, key: Held, value: Held) -> list[Endpoint]:
    """Which keys may be looked at (N, 1 or heads, queries, keys), and what is added to the scores: 0, or -1e9 where
    some mask hides a key. Nothing without masks.

    Not minus infinity: a query that may look at nothing looks at everything evenly, in Keras too.
    """
    parts: list[Endpoint] = []
    for name, held, axis in (("query", query, -1), ("value", value, -2), ("key", key, -2)):
        stated = layer.kwargs.get(f"{name}_mask")
        mask = stated.value if isinstance(stated, Held) else held.mask
        if name == "key" and mask == value.mask:
            continue  # the values' mask has said it
        if mask is not None:
            parts.append(layer.add("ExpandDims", f"{name}_mask", [mask, layer.constant(f"{name}_mask_axis", axis)]))
    stated = layer.argument(3, "attention_mask")
    if isinstance(stated, Held):
        parts.append(layer.add("Cast", "stated_mask", [stated.value], DstT=DType.BOOL))
    if layer.kwargs.get("use_causal_mask"):
        parts.append(layer.apply(import_causal, "causal_mask", [query.value, value.value]))
    if not parts:
        return []
    whole = parts[0]
    for place, part in enumerate(parts[1:]):
        whole = layer.add("LogicalAnd", f"mask_{place}", [whole, part])
    return [
        layer.apply(_over_heads, "mask", [whole]), layer.apply(_over_heads, "added_mask", [penalty(layer, whole)])
    ]  # fmt: skip


def _over_heads(node: ImportNode) -> Imported:
    """(N, queries, keys) with an axis for heads; masks that have one already stay."""
    value = node.input(0)
    rank = node.rank(value)
    return node.emit(Unsqueeze(), value, node.vector([1])) if rank == 3 else value


def import_causal(node: ImportNode) -> Imported:
    """(1, queries, keys): true where the key does not come after the query."""
    ends = []
    for value, axis in zip(node.inputs, (2, 1), strict=True):
        size = node.step(Gather(0), node.step(Shape(), value), node.constant(1, DType.INT64), suffix="size")
        zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
        places = node.step(Range(), zero, size, one, suffix="places")
        ends.append(node.step(Unsqueeze(), places, node.vector([0, axis]), suffix="spread"))
    return node.emit(GreaterOrEqual(), *ends)


def attention(layer: Layer) -> list[Endpoint]:
    """Products of queries and keys (times a learned scale) as scores."""
    if layer.config.get("score_mode", "dot") != "dot":
        raise Refusal(f"score_mode {layer.config['score_mode']!r}; only 'dot' is read")
    query, value, key = _query_value_key(layer)
    scores = layer.add("BatchMatMulV2", "scores", [query.value, key.value], adj_x=False, adj_y=True)
    if layer.config.get("use_scale"):
        scores = layer.add("Mul", "scaled", [scores, layer.weight(0)])
    return _weighted(layer, scores, query, value)


def additive_attention(layer: Layer) -> list[Endpoint]:
    """Sums of tanh(query + key), times a learned scale, as scores."""
    query, value, key = _query_value_key(layer)
    rows = layer.add("ExpandDims", "rows", [query.value, layer.constant("row_axis", -2)])
    columns = layer.add("ExpandDims", "columns", [key.value, layer.constant("column_axis", -3)])
    found = layer.add("Tanh", "tanh", [layer.add("AddV2", "sum", [rows, columns])])
    if layer.config.get("use_scale", True):
        found = layer.add("Mul", "scaled", [found, layer.weight(0)])
    scores = layer.add("Sum", "scores", [found, layer.constant("score_axis", [-1])], keep_dims=False)
    return _weighted(layer, scores, query, value)


def _query_value_key(layer: Layer) -> tuple[Held, Held, Held]:
    operands = layer.operands
    if len(operands) not in (2, 3):
        raise Refusal(f"{len(operands)} operands, expected query, value and perhaps key")
    return operands[0], operands[1], operands[-1]


def _weighted(layer: Layer, scores: Endpoint, query: Held, value: Held) -> list[Endpoint]:
    """The values' means by the softmax of the scores; 0 for queries that the query's mask hides."""
    masks = layer.kwargs.get("mask")
    stated = [held.value if isinstance(held, Held) else None for held in masks] if isinstance(masks, list) else []
    query_mask = stated[0] if stated else query.mask
    value_mask = stated[1] if len(stated) > 1 else value.mask
    parts = []
    if value_mask is not None:
        parts.append(layer.add("ExpandDims", "value_mask", [value_mask, layer.constant("value_mask_axis", -2)]))
    if layer.kwargs.get("use_causal_mask") or layer.config.get("causal"):
        parts.append(layer.apply(import_causal, "causal_mask", [query.value, value.value]))
    if parts:
        whole = parts[0] if len(parts) == 1 else layer.add("LogicalAnd", "mask", parts)
        scores = layer.add("AddV2", "masked", [scores, penalty(layer, whole)])
    weights = layer.add("Softmax", "weights", [scores])
    found = layer.add("BatchMatMulV2", "mean", [weights, value.value], adj_x=False, adj_y=False)
    if query_mask is not None:
        kept = layer.add("ExpandDims", "kept", [query_mask, layer.constant("kept_axis", -1)])
        found = layer.add("Mul", "kept_mean", [found, layer.add("Cast", "ones", [kept], DstT=layer.dtype)])
        layer.mask = query_mask
    return [found, weights] if layer.kwargs.get("return_attention_scores") else [found]


LAYERS: Mapping[str, Callable[[Layer], Any]] = {
    "AdditiveAttention": additive_attention,
    "Attention": attention,
    "MultiHeadAttention": multi_head_attention,
}

__all__ = ["LAYERS"]
