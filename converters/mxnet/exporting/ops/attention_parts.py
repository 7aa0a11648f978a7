"""What stands beside attention: rotary positions, caches, recurrences and causal convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, ExportTable
from graphir.converters.mxnet.exporting.ops.padding import padded
from graphir.converters.mxnet.exporting.ops.steps import computing, emit_as, is_used, wide
from graphir.ops import attention as ir
from graphir.ops.base import normalize_axis
from graphir.safety.limits import charge_nodes
from graphir.types import DType

LONGEST = 512


def export_rotary_embedding(node: ExportNode) -> None:
    """The two halves (or every second element) as real and imaginary part, turned, and put together again."""
    op: ir.RotaryEmbedding = node.op
    packed = node.rank() == 3
    data = node.entry(0)
    size = node.shape()[-1]
    if packed:
        data = node.step("Reshape", data, suffix="heads", shape=(0, 0, op.num_heads, -1))
        size = size // (op.num_heads or 1)
    (whole,) = node.sizes((size,), "a head")
    turned = op.rotary_embedding_dim or whole
    caches = [_angles(node, slot, 2 if packed else 1) for slot in (1, 2)]
    real, imaginary = _pairs(node, data, turned)
    cosines, sines = caches

    def product(left: Entry, right: Entry) -> Entry:
        return node.step("broadcast_mul", left, right, suffix="product")

    first = node.step("elemwise_sub", product(real, cosines), product(imaginary, sines), suffix="real")
    second = node.step("elemwise_add", product(real, sines), product(imaginary, cosines), suffix="imaginary")
    parts = [first, second]
    if op.interleaved:
        both = node.step("stack", first, second, suffix="both", axis=4, num_args=2)
        parts = [node.step("Reshape", both, suffix="turned", shape=(0, 0, 0, -1))]
    if turned < whole:
        parts.append(node.step("slice_axis", data, suffix="rest", axis=3, begin=turned, end="None"))
    joined = parts[0]
    if len(parts) > 1 and packed:
        joined = node.step("Concat", *parts, suffix="joined", dim=3, num_args=len(parts))
    if packed:
        node.emit("Reshape", joined, shape=(0, 0, -1))
    elif len(parts) > 1:
        node.emit("Concat", *parts, dim=3, num_args=len(parts))
    else:
        node.bind(joined)


def _angles(node: ExportNode, slot: int, heads: int) -> Entry:
    """Cosines or sines of each place, with an axis of 1 for the heads."""
    entry = node.entry(slot)
    if node.operand(3) is not None:
        entry = node.step("take", entry, node.entry(3), suffix=f"angles{slot}", axis=0, mode="clip")
    return node.step("expand_dims", entry, suffix=f"angle{slot}", axis=heads)


def _pairs(node: ExportNode, data: Entry, turned: int) -> tuple[Entry, Entry]:
    op: ir.RotaryEmbedding = node.op
    if not op.interleaved:
        half = turned // 2
        return (
            node.step("slice_axis", data, suffix="first", axis=3, begin=0, end=half),
            node.step("slice_axis", data, suffix="second", axis=3, begin=half, end=turned),
        )
    every: tuple[int | None, ...] = (None,) * 3
    found = [
        node.step("slice", data, suffix=name, begin=(*every, start), end=(*every, turned), step=(*every, 2))
        for name, start in (("even", 0), ("odd", 1))
    ]
    return found[0], found[1]


def export_tensor_scatter(node: ExportNode) -> None:
    """A choice, at each place of the cache, between what it holds and the row of the update that belongs there."""
    op: ir.TensorScatter = node.op
    axis = normalize_axis(op.axis, node.rank())
    cache = (0, *node.sizes(node.shape()[1:], node.value(0).name))
    (count,) = node.sizes(node.shape(1)[axis : axis + 1], node.value(1).name)
    places = _rows_of_update(node, cache[axis])
    update = node.export.raw(node.value(1))
    order = (0, axis, *(place for place in range(1, len(cache)) if place != axis))
    moved = tuple(cache[place] for place in order)
    if axis != 1:
        update = node.step("transpose", update, suffix="rows", axes=order)
    others = math.prod(size for place, size in enumerate(cache) if place not in (0, axis))
    update = node.step("Reshape", update, suffix="table", shape=(-1, others))
    row = node.step("_minimum_scalar", node.step("_maximum_scalar", places, scalar=0), suffix="row", scalar=count - 1)
    rows = node.export.cast(node.step("_contrib_arange_like", places, suffix="rows", axis=0), DType.INT64)
    starts = node.step("expand_dims", node.step("_mul_scalar", rows, scalar=count), suffix="starts", axis=1)
    chosen = node.step("take", update, node.step("broadcast_add", row, starts, suffix="place"), suffix="chosen", axis=0)
    chosen = node.step("Reshape", chosen, suffix="apart", shape=moved)
    if axis != 1:
        back = tuple(order.index(place) for place in range(len(order)))
        chosen = node.step("transpose", chosen, suffix="update", axes=back)
    inside = node.step(
        "elemwise_mul",
        node.step("_greater_equal_scalar", places, suffix="behind", scalar=0),
        node.step("_lesser_scalar", places, suffix="before", scalar=count),
        suffix="inside",
    )
    column = tuple(size if place in (0, axis) else 1 for place, size in enumerate(cache))
    held_cache = node.export.raw(node.value(0))
    written = node.step("broadcast_like", node.step("Reshape", inside, suffix="column", shape=column), held_cache)
    node.emit("where", written, chosen, held_cache, carried=node.export.carried(node.value(0)))


def _rows_of_update(node: ExportNode, size: int) -> Entry:
    """Which row of the update belongs to each place of the cache, (batch, size); others are out of range."""
    node.charge(size, "the places of its cache")
    places = node.constant(np.arange(size, dtype=np.int64)[None], suffix="places")
    if node.operand(2) is None:
        rows = node.step("_contrib_arange_like", node.export.raw(node.value(0)), suffix="batch", axis=0)
        nothing = node.step("zeros_like", node.export.cast(rows, DType.INT64))
        return node.step("broadcast_add", places, node.step("expand_dims", nothing, axis=1), suffix="rows")
    begin = node.step("expand_dims", node.export.cast(node.entry(2), DType.INT64), suffix="begin", axis=1)
    found = node.step("broadcast_sub", places, begin, suffix="rows")
    circular = node.op.mode is ir.WriteMode.CIRCULAR
    return node.step("_mod_scalar", found, suffix="around", scalar=size) if circular else found


def export_causal_convolution(node: ExportNode) -> None:
    """Convolution of each channel behind its past, or behind padding whose windows at the end are cut off."""
    op: ir.CausalConvWithState = node.op
    channels, _, width = node.sizes(node.shape(1), node.value(1).name)
    data, dtype = wide(node, 0), computing(node)
    pad = width - 1
    if width > 1 and (node.operand(3) is not None or is_used(node, 1)):
        data, pad = _behind_past(node, data, width), 0
    if width > 1 and is_used(node, 1):
        state = node.step("slice_axis", data, suffix="state", axis=2, begin=1 - width, end="None")
        emit_as(node, state, dtype, 1)
    operands = [wide(node, slot) for slot in (1, 2) if node.operand(slot) is not None]
    attributes: dict[str, Any] = {"kernel": (width,), "stride": (1,), "dilate": (1,), "pad": (pad,)}
    attributes |= {"num_filter": channels, "num_group": channels, "no_bias": node.operand(2) is None}
    found = node.step("Convolution", data, *operands, **attributes)
    if pad:
        found = node.step("slice_axis", found, suffix="causal", axis=2, begin=0, end=-pad)
    if op.activation is not ir.ConvActivation.NONE:
        gate = node.step("Activation", found, suffix="gate", act_type="sigmoid")
        found = node.step("elemwise_mul", found, gate, suffix="gated")
    emit_as(node, found, dtype)


def _behind_past(node: ExportNode, data: Entry, width: int) -> Entry:
    if node.operand(3) is not None:
        before = wide(node, 3)
    else:
        return padded(node, data, node.shape(), computing(node), [(0, 0), (0, 0), (width - 1, 0)], 0.0)
    return node.step("Concat", before, data, suffix="behind", dim=2, num_args=2)


def export_linear_attention(node: ExportNode) -> None:
    """The recurrence, place after place: a state that each key writes to and each query reads from."""
    op: ir.LinearAttention = node.op
    (length,) = node.sizes(node.shape()[1:2], f"{node.value(0).name} (its length)")
    if length > LONGEST:
        node.refuse(f"a recurrence over {length} places; up to {LONGEST} are written out one by one")
    heads = op.kv_num_heads
    (width,) = node.sizes((node.shape()[2] // op.q_num_heads,), "a head")
    (value_width,) = node.sizes((node.shape(2)[2] // heads,), "a head")
    scale = op.scale or 1 / math.sqrt(width)
    queries = node.step("_mul_scalar", wide(node, 0), suffix="scaled", scalar=scale)
    places = [
        _places(node, queries, length, (-1, op.q_num_heads // heads, width), "query"),
        _places(node, wide(node, 1), length, (-1, width, 1), "key"),
        _places(node, wide(node, 2), length, (-1, 1, value_width), "value"),
    ]
    decays = _decays(node, length, width)
    rates = _rates(node, length)
    shape = (-1, width, value_width)
    state = node.step("Reshape", wide(node, 3), suffix="past", shape=shape) if node.operand(3) is not None else None
    results = []
    for query, key, value, decay, rate in zip(*places, decays, rates, strict=True):
        if state is not None and decay is not None:
            state = node.step("broadcast_mul", state, decay, suffix="decayed")
        if rate is not None:
            if state is not None:
                read = node.step("batch_dot", key, state, suffix="read", transpose_a=True)
                value = node.step("elemwise_sub", value, read, suffix="correction")
            value = node.step("broadcast_mul", value, rate, suffix="corrected")
        written = node.step("batch_dot", key, value, suffix="written")
        state = written if state is None else node.step("elemwise_add", state, written, suffix="state")
        results.append(node.step("batch_dot", query, state, suffix="attended"))
    assert state is not None
    stacked = node.step("stack", *results, suffix="places", axis=1, num_args=length)
    columns = op.q_num_heads // heads * value_width
    by_place = node.step("Reshape", stacked, suffix="rows", shape=(-1, heads, length, columns))
    turned = node.step("transpose", by_place, suffix="by_place", axes=(0, 2, 1, 3))
    emit_as(node, node.step("Reshape", turned, suffix="joined", shape=(0, 0, -1)), computing(node))
    if is_used(node, 1):
        whole = node.step("Reshape", state, suffix="present", shape=(-1, heads, width, value_width))
        emit_as(node, whole, computing(node), 1)


def _places(node: ExportNode, entry: Entry, length: int, shape: tuple[int, ...], suffix: str) -> list[Entry]:
    """What each place has of (batch, length, heads * ...), reshaped."""
    charge_nodes(length, f"node {node.node.name!r} ({node.op.name}): its places, one by one")
    index = node.export.append("SliceChannel", f"{node.stem}_{suffix}s", [entry], {"num_outputs": length, "axis": 1})
    return [node.step("Reshape", (index, place), suffix=suffix, shape=shape) for place in range(length)]


def _decays(node: ExportNode, length: int, width: int) -> list[Entry | None]:
    """By what the state shrinks at each place: a number for each head, or one for each row of its state."""
    if node.operand(4) is None:
        return [None] * length
    heads = node.op.kv_num_heads
    entry = node.step("exp", wide(node, 4), suffix="decay")
    rows = 1 if node.shape(4)[2] == heads else width
    return list(_places(node, entry, length, (-1, rows, 1), "decay"))


def _rates(node: ExportNode, length: int) -> list[Entry | None]:
    """How much of its correction each place writes."""
    if node.operand(5) is None:
        return [None] * length
    heads, entry = node.op.kv_num_heads, wide(node, 5)
    if node.shape(5)[2] != heads:
        entry = node.step("broadcast_axis", entry, suffix="rates", axis=2, size=heads)
    return list(_places(node, entry, length, (-1, 1, 1), "rate"))


EXPORTS: ExportTable = {
    ir.RotaryEmbedding: export_rotary_embedding,
    ir.TensorScatter: export_tensor_scatter,
    ir.CausalConvWithState: export_causal_convolution,
    ir.LinearAttention: export_linear_attention,
}

__all__ = ["EXPORTS"]
