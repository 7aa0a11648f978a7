"""Attention as batch_dot, masks and softmax. What may be attended is 0 or 1, of which the logarithm is the bias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, ExportTable
from graphir.converters.mxnet.exporting.ops.steps import computing, emit_first, held, is_used
from graphir.ops.attention import Attention
from graphir.safety.limits import charge_elements
from graphir.types import DType

Array = NDArray[Any]


@dataclass
class _Mask:
    """What is known of the mask: factors of 0 and 1, addends, and whether a query may be left without any key."""

    factors: list[Entry] = field(default_factory=list)
    addends: list[Entry] = field(default_factory=list)
    may_be_empty: bool = False


class _Heads:
    """The operands as (batch, heads, length, size), in the dtype in which the products are computed."""

    def __init__(self, node: ExportNode) -> None:
        self.node = node
        self.op: Attention = node.op
        self.packed = node.rank() == 3
        self.dtype = held(node)
        self.wide = computing(node)
        self.past = 0
        if node.operand(4) is not None:
            (self.past,) = node.sizes(node.shape(4)[2:3], node.value(4).name)

    def split(self, slot: int, heads: int | None) -> Entry:
        """An operand with an axis of heads."""
        entry = self.node.entry(slot)
        if not self.packed:
            return entry
        apart = self.node.step("Reshape", entry, suffix="heads", shape=(0, 0, heads, -1))
        return self.node.step("transpose", apart, suffix="by_head", axes=(0, 2, 1, 3))

    def with_past(self, slot: int, past: int) -> Entry:
        """Keys or values behind those of the past."""
        entry = self.split(slot, self.op.kv_num_heads)
        if self.node.operand(past) is None:
            return entry
        return self.node.step("Concat", self.node.entry(past), entry, suffix="present", dim=2, num_args=2)

    def widened(self, entry: Entry) -> Entry:
        """In the dtype of the products: MXNet multiplies no matrices of float16 on a CPU."""
        return entry if self.wide is self.dtype else self.node.export.cast(entry, self.wide)

    def narrowed(self, entry: Entry) -> Entry:
        """Back in the operands' dtype."""
        return entry if self.wide is self.dtype else self.node.export.cast(entry, self.dtype)

    def repeated(self, entry: Entry) -> Entry:
        """Every head of keys as often as heads of queries share it."""
        times = self._sharing()
        return entry if times == 1 else self.node.step("repeat", entry, suffix="shared", repeats=times, axis=1)

    def _sharing(self) -> int:
        if self.packed:
            return (self.op.q_num_heads or 1) // (self.op.kv_num_heads or 1)
        queries, keys = self.node.sizes((self.node.shape(0)[1], self.node.shape(1)[1]), "the heads")
        return queries // keys

    def lengths(self) -> tuple[int, int]:
        """The number of queries and of all keys."""
        place = 1 if self.packed else 2
        found = self.node.shape(0)[place], self.node.shape(1)[place]
        queries, keys = self.node.sizes(found, "the sequences, of which the mask depends,")
        return queries, keys + self.past


def export_attention(node: ExportNode) -> None:
    """softmax(scale * Q K' + bias) V, with everything that the operator can mask."""
    op: Attention = node.op
    heads = _Heads(node)
    queries = heads.widened(heads.split(0, op.q_num_heads))
    keys, values = heads.with_past(1, 4), heads.with_past(2, 5)
    for slot, entry in ((1, keys), (2, values)):
        if is_used(node, slot):
            node.bind(entry, slot, carried=heads.dtype)
    scale = op.scale
    if scale is None:
        size = node.shape()[-1] if not heads.packed else node.shape()[-1] // (op.q_num_heads or 1)
        scale = 1 / math.sqrt(node.sizes((size,), "a head")[0])
    scaled = node.step("_mul_scalar", queries, suffix="scaled", scalar=scale)
    shared = heads.widened(heads.repeated(keys))
    raw = capped = node.step("batch_dot", scaled, shared, suffix="scores", transpose_b=True)
    if op.softcap > 0:
        bent = node.step("Activation", node.step("_div_scalar", raw, scalar=op.softcap), act_type="tanh")
        capped = node.step("_mul_scalar", bent, suffix="capped", scalar=op.softcap)
    mask = _mask(node, heads)
    bias = _bias(node, heads, mask)
    biased = capped if bias is None else node.step("broadcast_add", capped, bias, suffix="masked")
    precise = op.softmax_precision if op.softmax_precision is DType.FLOAT64 else heads.wide
    chances = node.step("softmax", node.export.cast(biased, precise) if precise is not heads.wide else biased, axis=-1)
    if precise is not heads.wide:
        chances = node.export.cast(chances, heads.wide)
    if bias is not None and mask.may_be_empty:
        chances = _without_empty_rows(node, chances, bias)
    _bind_result(node, heads, node.step("batch_dot", chances, heads.widened(heads.repeated(values)), suffix="attended"))
    if is_used(node, 3):
        shown = (raw, capped, biased, chances)[op.qk_matmul_output_mode]
        node.bind(heads.narrowed(shown), 3, carried=heads.dtype)


def _bind_result(node: ExportNode, heads: _Heads, attended: Entry) -> None:
    attended = heads.narrowed(attended)
    if not heads.packed:
        node.bind(attended)
        return
    by_place = node.step("transpose", attended, suffix="by_place", axes=(0, 2, 1, 3))
    emit_first(node, "Reshape", by_place, shape=(0, 0, -1))


def _mask(node: ExportNode, heads: _Heads) -> _Mask:
    """Everything that hides keys from queries."""
    op: Attention = node.op
    found = _Mask()
    lengths = node.operand(6)
    windows = op.is_causal or op.left_window_size >= 0 or op.right_window_size >= 0
    if windows and lengths is None:
        _add_fixed_windows(node, heads, found)
    if lengths is not None:
        _add_lengths(node, heads, found, windows)
    if node.operand(3) is not None:
        _add_stated(node, heads, found)
    return found


def _positions(heads: _Heads) -> Array:
    """Key less query, (queries, keys), of which the first query stands at 0."""
    queries, keys = heads.lengths()
    charge_elements(queries * keys, f"the mask of {queries} queries and {keys} keys")
    return np.arange(keys)[None, :] - np.arange(queries)[:, None]


def _add_fixed_windows(node: ExportNode, heads: _Heads, mask: _Mask) -> None:
    """Causal and window limits where the queries' places are known: a constant."""
    op: Attention = node.op
    ahead = _positions(heads) - heads.past
    allowed = np.ones(ahead.shape, bool)
    if op.is_causal:
        allowed &= ahead <= 0
    if op.left_window_size >= 0:
        allowed &= -ahead <= op.left_window_size
    if op.right_window_size >= 0:
        allowed &= ahead <= op.right_window_size
    if not allowed.all():
        mask.factors.append(node.constant(allowed.astype(np.float32), heads.wide, "allowed"))
        mask.may_be_empty |= not allowed.any(axis=1).all()


def _add_lengths(node: ExportNode, heads: _Heads, mask: _Mask, windows: bool) -> None:
    """Keys behind each row's length, and limits relative to it: the last query stands at the last key that counts."""
    op: Attention = node.op
    queries, keys = heads.lengths()
    column = node.step("Reshape", node.export.cast(node.entry(6), heads.wide), suffix="lengths", shape=(-1, 1, 1, 1))

    def compared(op_name: str, numbers: Array, suffix: str) -> None:
        constant = node.constant(numbers.astype(np.float32)[None, None], heads.wide, suffix)
        mask.factors.append(node.step(op_name, constant, column, suffix=f"{suffix}_allowed"))

    node.charge(keys, "its mask")
    compared("broadcast_lesser", np.arange(keys)[None, :], "key")
    mask.may_be_empty = True
    if not windows:
        return
    ahead = _positions(heads) + queries
    if op.is_causal:
        compared("broadcast_lesser_equal", ahead, "causal")
    if op.left_window_size >= 0:
        compared("broadcast_greater_equal", ahead + op.left_window_size, "left")
    if op.right_window_size >= 0:
        compared("broadcast_lesser_equal", ahead - op.right_window_size, "right")


def _add_stated(node: ExportNode, heads: _Heads, mask: _Mask) -> None:
    """The mask operand; it may be shorter than the keys, of which it then hides the rest."""
    value = node.value(3)
    boolean = value.dtype is DType.BOOL
    entry = node.export.raw(value)
    if node.export.carried(value) is not heads.wide:
        entry = node.export.cast(entry, heads.wide)
    shape = node.shape(3)
    _, keys = heads.lengths()
    if shape[-1] != keys:
        *leading, own = node.sizes(shape, value.name)
        node.charge(math.prod(leading) * (keys - own), "its mask")
        rest = np.full((*leading, keys - own), 0.0 if boolean else -math.inf, np.float32)
        hidden = node.constant(rest, heads.wide, "hidden")
        entry = node.step("Concat", entry, hidden, suffix="mask", dim=len(shape) - 1, num_args=2)
    (mask.factors if boolean else mask.addends).append(entry)
    mask.may_be_empty = True


def _bias(node: ExportNode, heads: _Heads, mask: _Mask) -> Entry | None:
    """What is added to the scores, (queries, keys) or with axes before; None if nothing is hidden."""
    addends = list(mask.addends)
    if mask.factors:
        addends.append(node.step("log", _joined(node, "broadcast_mul", mask.factors, "allowed"), suffix="bias"))
    return _joined(node, "broadcast_add", addends, "bias") if addends else None


def _joined(node: ExportNode, op: str, entries: Sequence[Entry], suffix: str) -> Entry:
    first, *others = entries
    for other in others:
        first = node.step(op, first, other, suffix=suffix)
    return first


def _without_empty_rows(node: ExportNode, chances: Entry, bias: Entry) -> Entry:
    """0 for the queries that see no key, where softmax is NaN."""
    best = node.step("max", bias, suffix="best", axis=-1, keepdims=True)
    sees = node.step("_greater_scalar", best, suffix="sees", scalar=-math.inf)
    wide = node.step("broadcast_mul", node.step("ones_like", chances, suffix="whole"), sees, suffix="seeing")
    return node.step("where", wide, chances, node.step("zeros_like", chances, suffix="unseen"), suffix="chances")


EXPORTS: ExportTable = {Attention: export_attention}

__all__ = ["EXPORTS"]
