"""Attention, and caches of keys and values."""

from __future__ import annotations

import numpy as np

from graphir.converters.pytorch.exporting.context import ExportNode, Expr, call, row, table
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.ops import attention as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType

NARROW = (DType.FLOAT16, DType.BFLOAT16)


def export_attention(node: ExportNode[ir.Attention]) -> None:
    """F.scaled_dot_product_attention. What that does not compute is written by what ONNX defines it by."""
    op, dtype = node.op, node.dtype()
    mask, lengths, past = (node.optional(slot) for slot in (3, 6, 4))
    if op.softcap or op.left_window_size >= 0 or op.right_window_size >= 0 or lengths is not None or node.is_read(3):
        node.refuse("torch's attention has no caps, windows, lengths and scores")
    if op.softmax_precision not in (None, dtype) and (dtype not in NARROW or op.softmax_precision is not DType.FLOAT32):
        node.refuse("torch's attention has no other precision of the softmax")
    queries, keys, values = (_in_heads(node, slot) for slot in range(3))
    if past is not None:
        keys = node.step(call("torch.cat", f"({node.tensor(4)}, {keys})", dim="2"), "keys")
        values = node.step(call("torch.cat", f"({node.tensor(5)}, {values})", dim="2"), "values")
    length, total = (node.node.outputs[3].shape or (None,) * 4)[-2:]
    options: dict[str, str | None] = {}
    if mask is not None:
        shape = mask.shape or ()
        if op.is_causal or mask.dtype not in (dtype, DType.BOOL) or len(shape) < 2 or shape[-1] != total:
            node.refuse("torch's attention has no such mask")
        options["attn_mask"] = str(node.tensor(3))
    elif op.is_causal and past is not None:
        sizes = [None if size is None else node.export.size(size) for size in (length, total)]
        if None in sizes:
            node.refuse("the lengths of what is causal are open")
        ones = call("torch.ones", *sizes, dtype="torch.bool", device=node.device)
        options["attn_mask"] = f"{ones}.tril({node.size(4, 2)})"
    elif op.is_causal:
        options["is_causal"] = "True"
    heads = [node.node.outputs[slot].shape for slot in (1, 3)]
    size = node.node.outputs[1].shape[-1] if node.node.outputs[1].shape else None
    default = float(np.float32(size**-0.5)) if isinstance(size, int) and size > 0 else None
    options["scale"] = None if op.scale is None or op.scale == default else float_text(op.scale)
    options["enable_gqa"] = None if heads[0] and heads[1] and heads[0][1] == heads[1][1] else "True"
    result = call("F.scaled_dot_product_attention", queries, keys, values, **options)
    node.emit(result if node.rank() == 4 else f"{result}.transpose(1, 2).flatten(2)")
    node.emit(keys, 1)
    node.emit(values, 2)


def _in_heads(node: ExportNode[ir.Attention], slot: int) -> Expr:
    """Return queries, keys or values (batch, heads, length, size)."""
    if node.rank(slot) == 4:
        return node.tensor(slot)
    heads = node.op.kv_num_heads if slot else node.op.q_num_heads
    return Expr(f"{node.tensor(slot).atom}.unflatten(2, ({heads}, -1)).transpose(1, 2)")


def export_tensor_scatter(node: ExportNode[ir.TensorScatter]) -> None:
    """A function of the file."""
    op = node.op
    axis = normalize_axis(op.axis, node.rank()) - node.rank()
    starts = None if node.optional(2) is None else node.tensor(2)
    options = {
        "axis": None if axis == -2 else str(axis),
        "circular": "True" if op.mode is ir.WriteMode.CIRCULAR else None,
    }
    node.emit(call(node.function("write_to_cache"), node.tensor(0), node.tensor(1), starts, **options))


EXPORTS = table(row(ir.Attention, export_attention), row(ir.TensorScatter, export_tensor_scatter))
