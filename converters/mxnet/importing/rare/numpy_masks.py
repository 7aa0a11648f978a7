"""Assignments to the elements that a mask chooses, which MXNet runs on values on the way and not on inputs."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.arithmetic import truth
from graphir.converters.mxnet.importing.sizes import static_size
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.indexing import CumSum, Gather
from graphir.ops.shape import Expand, Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import DType


def _text(node: ImportNode, name: str, default: str | None = None) -> str:
    """An attribute that MXNet's registry has no type for."""
    result: str | None = node.attrs[name] or default
    if result is None:
        node.refuse(f"{name} is missing; MXNet has no default for it")
    return result


def _place(node: ImportNode) -> tuple[int, int]:
    """The first axis of the data that the mask covers, and how many follow behind the mask's last."""
    text = _text(node, "start_axis", "0")
    data, mask = node.input(0), node.input(1)
    try:
        start = int(text)
    except ValueError:
        node.refuse(f"start_axis {text!r}, expected a number")
    rest = node.rank(data) - node.rank(mask) - start
    if start < 0 or rest < 0:
        node.refuse(f"a mask {mask.type} from axis {start} on, for data {data.type}")
    return start, rest


def _mask(node: ImportNode, rest: int) -> Value:
    """Whether an element is chosen, as bool that broadcasts to the data."""
    mask = node.input(1)
    mask = mask if mask.dtype is DType.BOOL else truth(node, mask)
    rank = node.rank(mask)
    return node.step(Unsqueeze(), mask, node.vector(range(rank, rank + rest)), suffix="mask") if rest else mask


def import_assign_scalar(node: ImportNode) -> Value:
    """A number in place of the chosen elements."""
    text, (_, rest) = _text(node, "value"), _place(node)
    try:
        number = float(text)
    except ValueError:
        node.refuse(f"value {text!r}, expected a number")
    data = node.input(0)
    return node.emit(ir.Where(), _mask(node, rest), node.scalar_like(data, number), data)


def import_assign_tensor(node: ImportNode) -> Value:
    """The rows of a tensor, one after another, in place of what is chosen; a single row or element everywhere."""
    start, rest = _place(node)
    data, value = node.input(0), node.input(2)
    if None not in (data.dtype, value.dtype) and data.dtype is not value.dtype:
        node.refuse(f"data of {data.dtype} and elements of {value.dtype}, which MXNet wants to be one")
    mask, rank = _mask(node, rest), node.rank(value)
    if all(size == 1 for size in node.shape(value)):
        return node.emit(ir.Where(), mask, node.step(Reshape(), value, node.vector([])), data)
    if start:
        node.refuse(f"elements {value.type} from axis {start} on: only one element, or axis 0, is known")
    if rank not in (rest, rest + 1):
        node.refuse(f"elements {value.type}, expected {rest} or {rest + 1} axes")
    if rank == rest or static_size(value, 0) == 1:
        return node.emit(ir.Where(), mask, value, data)
    node.decide(DecisionKind.CHECK, "that there are as many rows as elements are chosen, which MXNet checks, is not")
    return node.emit(ir.Where(), mask, _rows(node, value), data)


def _rows(node: ImportNode, value: Value) -> Value:
    """For each place of the mask the row that is next; behind the last one a row of zeros, so that there is one."""
    mask = node.input(1)
    bits = mask if mask.dtype is DType.BOOL else truth(node, mask)
    flat = node.step(Reshape(), node.cast(bits, DType.INT64, suffix="bits"), node.vector([-1]), suffix="flat")
    count = node.step(CumSum(), flat, node.constant(0, DType.INT64), suffix="count")
    next_ = node.step(ir.Max(), node.step(ir.Sub(), count, node.vector([1])), node.vector([0]), suffix="next")
    sizes = [node.step(Shape(1), value, suffix="row_sizes")] if node.rank(value) > 1 else []
    shape = node.step(Concat(0), node.vector([1]), *sizes, suffix="row_shape") if sizes else node.vector([1])
    empty = node.step(Expand(), node.scalar_like(value, 0), shape, suffix="empty")
    rows = node.step(Concat(0), value, empty, suffix="rows")
    indices = node.step(Reshape(), next_, node.step(Shape(), mask), suffix="places")
    return node.step(Gather(), rows, indices, suffix="chosen")


IMPORTS: dict[str, ImportFunction] = {
    "_npi_boolean_mask_assign_scalar": import_assign_scalar,
    "_npi_boolean_mask_assign_tensor": import_assign_tensor,
}
