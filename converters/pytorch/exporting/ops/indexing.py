"""Elements by index, by condition or by value, and running sums and products."""

from __future__ import annotations

from itertools import pairwise

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportFunction,
    ExportNode,
    Expr,
    binary,
    call,
    dtype_text,
    list_of,
    row,
    table,
)
from graphir.converters.pytorch.exporting.state import SHORT_CONSTANT
from graphir.converters.pytorch.exporting.unsigned import UNSIGNED, computable_tensor, restored
from graphir.graph import Value
from graphir.ops import activation, elementwise, reduction, shape
from graphir.ops import indexing as ir
from graphir.ops.indexing import Reduction
from graphir.types import DType

# What gives no number below 0, and what gives numbers of its first operand, rounded perhaps.
COUNTS = (reduction.ArgMax, reduction.ArgMin, ir.NonZero, activation.Relu, elementwise.Abs)
KEEPS_SIGNS = (
    *(elementwise.Cast, elementwise.Identity, elementwise.Floor, elementwise.Round, elementwise.Ceil),
    *(shape.Reshape, shape.Squeeze, shape.Unsqueeze, shape.Transpose, shape.Flatten),
)
MOST_STEPS = 8


def is_index_from_front(value: Value, steps: int = MOST_STEPS) -> bool:
    """Return whether no element is below 0, as far as the nodes that made a value show it."""
    numbers = None if value.known is None else value.known.integers()
    if numbers is not None:
        return all(number >= 0 for number in numbers)
    if value.dtype is not None and value.dtype.value.startswith("u"):
        return True
    if value.tensor is not None:
        return value.dtype is not None and bool((value.tensor.numpy() >= 0).all())
    node = value.producer
    if node is None or not steps:
        return False
    if isinstance(node.op, elementwise.Clip) and len(node.inputs) > 1 and (low := node.inputs[1]) is not None:
        return is_index_from_front(low, steps - 1)
    first = node.inputs[0] if node.inputs else None
    keeps = isinstance(node.op, KEEPS_SIGNS) and first is not None and is_index_from_front(first, steps - 1)
    return isinstance(node.op, COUNTS) or keeps


def subscript(data: Expr, axis: int, rank: int, index: str) -> str:
    """`data[:, index]`."""
    if axis == rank - 1 and axis > 1:
        return f"{data.atom}[..., {index}]"
    return f"{data.atom}[{':, ' * axis}{index}]"


def export_gather(node: ExportNode[ir.Gather]) -> None:
    """nn.Embedding of a constant table, else an index. One below 0 counts from the end, which is an error of
    nn.Embedding."""
    rank = node.rank()
    axis, table, indices = node.axis(node.op.axis, rank), node.weight(0), node.input(1)
    if table is not None and axis == 0 and rank == 2 and node.dtype().is_float and indices.tensor is None:
        layer = node.layer("nn.Embedding", list(table.shape), {}, {"weight": (table, node.input(0))})
        node.emit(f"{layer}({_from_front(node, 1, node.size(0, 0))})")
        return
    data, known = node.tensor(), node.ints_if_known(1)
    if indices.rank == 0 and known is not None:
        node.emit(subscript(data, axis, rank, known[0]))
    elif indices.rank == 1 and known is not None and 0 < len(known) <= SHORT_CONSTANT:
        node.emit(subscript(data, axis, rank, _as_slice(node.known(1)) or list_of(known)))
    else:
        node.emit(subscript(data, axis, rank, node.tensor(1)))


def _as_slice(indices: tuple[int, ...] | None) -> str | None:
    """Indices one behind the other as a slice."""
    if indices is None or len(indices) < 2 or indices[0] < 0:
        return None
    step = indices[1] - indices[0]
    if step < 1 or any(second - first != step for first, second in pairwise(indices)):
        return None
    return f"{indices[0] or ''}:{indices[-1] + 1}" + (f":{step}" if step > 1 else "")


def _from_front(node: AnyNode, slot: int, size: Expr) -> Expr:
    """Indices that count from the front."""
    return node.tensor(slot) if is_index_from_front(node.input(slot)) else binary("%", node.tensor(slot), size)


def export_gather_elements(node: ExportNode[ir.GatherElements]) -> None:
    """gather."""
    axis = node.axis(node.op.axis, node.rank())
    indices = _from_front(node, 1, node.size(0, axis))
    node.emit(restored(node, f"{computable_tensor(node).atom}.gather({axis}, {indices})"))


def export_gather_nd(node: ExportNode[ir.GatherND]) -> None:
    """An index of one tensor for each axis."""
    if node.op.batch_dims:
        node.emit(call(node.function("gather_nd"), node.tensor(0), node.tensor(1), str(node.op.batch_dims)))
    else:
        node.emit(f"{node.tensor(0).atom}[{node.tensor(1).atom}.unbind(-1)]")


# What scatter_reduce calls the ways to combine elements.
FOLDS = {Reduction.ADD: '"sum"', Reduction.MUL: '"prod"', Reduction.MAX: '"amax"', Reduction.MIN: '"amin"'}


def _foldable(node: AnyNode, slot: int, reduction: Reduction) -> Expr:
    if reduction in (Reduction.MAX, Reduction.MIN) and node.dtype() is DType.UINT64:
        node.refuse("the larger of two numbers of uint64 is not written for scattered elements")
    return computable_tensor(node, slot)


def export_scatter_elements(node: ExportNode[ir.ScatterElements]) -> None:
    """scatter, or scatter_reduce."""
    op, axis = node.op, node.axis(node.op.axis, node.rank())
    indices = _from_front(node, 1, node.size(0, axis))
    if node.dtype(1) is not DType.INT64:
        indices = Expr(node.cast(indices, DType.INT64))
    data, updates = (_foldable(node, slot, op.reduction) for slot in (0, 2))
    method = "scatter" if op.reduction is Reduction.NONE else "scatter_reduce"
    node.emit(restored(node, call(f"{data.atom}.{method}", str(axis), indices, updates, FOLDS.get(op.reduction))))


def export_scatter_nd(node: ExportNode[ir.ScatterND]) -> None:
    """index_put, which can add up; a function of the file for other ways to combine elements."""
    op = node.op
    data, updates = (_foldable(node, slot, op.reduction) for slot in (0, 2))
    if op.reduction in (Reduction.NONE, Reduction.ADD):
        accumulate = "True" if op.reduction is Reduction.ADD else None
        text = call(f"{data.atom}.index_put", f"{node.tensor(1).atom}.unbind(-1)", updates, accumulate=accumulate)
    else:
        text = call(node.function("scatter_nd"), data, node.tensor(1), updates, FOLDS[op.reduction])
    node.emit(restored(node, text))


def export_one_hot(node: ExportNode[ir.OneHot]) -> None:
    """Whether each number is the index, as the two values; F.one_hot takes no index outside."""
    depth = node.number(1)
    depth = Expr(f"int({node.tensor(1)})") if depth is None or depth.endswith(".0") else depth
    indices = node.tensor(0) if node.dtype(0) is DType.INT64 else Expr(node.cast(node.tensor(0), DType.INT64))
    axis = None if node.op.axis in (-1, node.rank()) else str(node.op.axis)
    hot = call(node.function("one_hot"), indices, depth, axis=axis)
    values, dtype = node.optional(2), node.dtype(2)
    tensor = None if values is None else values.tensor
    if tensor is not None and tensor.numpy().tolist() == [0, 1]:
        node.emit(hot if dtype is DType.BOOL else node.cast(hot, dtype))
        return
    both = node.tensor(2)
    node.emit(call("torch.where", hot, f"{both.atom}[1]", f"{both.atom}[0]"))


def export_compress(node: ExportNode[ir.Compress]) -> None:
    """An index by condition; a condition that may be shorter than the axis by the places where it holds."""
    data, axis = node.tensor(), node.op.axis
    if axis is None:
        size = None
        data, axis, rank = (data if node.rank() == 1 else Expr(f"{data.atom}.flatten()")), 0, 1
        size = node.shape()[0] if node.rank() == 1 else None
    else:
        rank = node.rank()
        axis = node.axis(axis, rank)
        size = node.shape()[axis]
    condition = node.tensor(1)
    if size is None or node.shape(1) != (size,):
        condition = Expr(f"{condition.atom}.nonzero().squeeze(1)")
    node.emit(subscript(data, axis, rank, condition))


def export_nonzero(node: AnyNode) -> None:
    """The transposed nonzero; of a scalar one row, as onnxruntime gives it."""
    data = node.tensor() if node.dtype() not in UNSIGNED else binary("!=", node.tensor(), "0")
    data = data if node.rank() else Expr(f"{data.atom}.reshape(1)")
    node.emit(f"{data.atom}.nonzero().T")


def export_unique(node: ExportNode[ir.Unique]) -> None:
    """torch.unique; a function of the file where more than the sorted elements is read."""
    axis, data = node.op.axis, node.tensor()
    dim = None if axis is None else str(node.axis(axis, node.rank()))
    if node.op.sorted and not any(map(node.is_read, (1, 2, 3))):
        node.emit(call("torch.unique", data, dim=dim))
        return
    node.emit_all(call(node.function("unique"), data, dim, is_sorted=None if node.op.sorted else "False"))


def cumulative(method: str, empty: int) -> ExportFunction:
    """cumsum or cumprod; without the elements themselves of a tensor moved by one, backwards of one turned round."""

    def export_cumulative(node: ExportNode[ir.CumSum | ir.CumProd]) -> None:
        op, dtype, axis = node.op, node.dtype(), node.known(1)
        place = f"{node.tensor(1).atom}.item()" if axis is None else str(node.axis(axis[0], node.rank()))
        text = computable_tensor(node).atom
        text += f".flip({place})" if op.reverse else ""
        text = call(node.function("shifted"), text, place, str(empty)) if op.exclusive else text
        narrow = not dtype.is_float and dtype is not DType.INT64 and dtype not in UNSIGNED
        text = call(f"{text}.{method}", place, dtype=dtype_text(dtype) if narrow else None)
        node.emit(restored(node, f"{text}.flip({place})" if op.reverse else text))

    return export_cumulative


EXPORTS = table(
    row(ir.Gather, export_gather),
    row(ir.GatherElements, export_gather_elements),
    row(ir.GatherND, export_gather_nd),
    row(ir.ScatterElements, export_scatter_elements),
    row(ir.ScatterND, export_scatter_nd),
    row(ir.OneHot, export_one_hot),
    row(ir.Compress, export_compress),
    row(ir.NonZero, export_nonzero),
    row(ir.Unique, export_unique),
    row(ir.CumSum, cumulative("cumsum", 0)),
    row(ir.CumProd, cumulative("cumprod", 1)),
)
