"""Sequences as Python lists, and values that may be absent as None."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, Expr, binary, call, list_of, row, table
from graphir.converters.pytorch.exporting.ops.control import LoopInProgress
from graphir.ops import sequence as ir
from graphir.types import OptionalType, SequenceType


def integer(node: AnyNode, slot: int) -> Expr:
    """Return a scalar operand as a Python integer."""
    return node.number(slot) or Expr(f"int({node.tensor(slot)})")


def export_insert(node: ExportNode[ir.SequenceInsert]) -> None:
    """A new list: what others have of the old one stays."""
    sequence, tensor = node.tensor(), node.tensor(1)
    if node.optional(2) is None:
        node.emit(list_of([f"*{sequence.atom}", tensor]))
    elif node.known(2) == (0,):
        node.emit(list_of([tensor, f"*{sequence.atom}"]))
    else:
        position = node.number(2) or node.step(integer(node, 2), "position")
        parts = f"{sequence.atom}[:{position}]", list_of([tensor]), f"{sequence.atom}[{position}:]"
        node.emit(binary("+", binary("+", parts[0], parts[1]), parts[2]))


def export_erase(node: ExportNode[ir.SequenceErase]) -> None:
    """A new list without one element."""
    sequence, known = node.tensor().atom, node.known(1)
    if node.optional(1) is None or known == (-1,):
        node.emit(f"{sequence}[:-1]")
    elif known == (0,):
        node.emit(f"{sequence}[1:]")
    elif known is not None:
        node.emit(binary("+", f"{sequence}[:{known[0]}]", f"{sequence}[{known[0] + 1}:]"))
    else:
        position = node.step(binary("%", integer(node, 1), f"len({node.tensor()})"), "position")
        node.emit(binary("+", f"{sequence}[:{position}]", f"{sequence}[{position} + 1 :]"))


def export_concat(node: ExportNode[ir.ConcatFromSequence]) -> None:
    """torch.cat, or torch.stack along a new axis."""
    function, axis = "torch.stack" if node.op.new_axis else "torch.cat", node.op.axis
    node.emit(call(function, node.tensor(), dim=str(axis) if axis else None))


def export_split(node: ExportNode[ir.SplitToSequence]) -> None:
    """split, or unbind where parts of one element lose their axis."""
    op, data, split = node.op, node.tensor().atom, node.optional(1)
    axis = None if op.axis == 0 else str(op.axis)
    if split is None:
        parts = call(f"{data}.split", "1", axis) if op.keepdims else call(f"{data}.unbind", axis)
    elif split.rank == 0:
        if not op.keepdims and node.known(1) in (None, (1,)):
            node.refuse("for keepdims=0 with parts of 1, ONNX keeps the axis that onnxruntime drops")
        parts = call(f"{data}.split", integer(node, 1), axis)
    else:
        parts = call(f"{data}.split", node.int_list(1), axis)
    node.emit(f"list({parts})")


def export_map(node: ExportNode[ir.SequenceMap]) -> None:
    """A loop over the elements, which appends to lists."""
    body, export = node.node.subgraphs[0], node.export
    loop = LoopInProgress(node, body)
    for output, result in enumerate(node.node.outputs):
        loop.collect(output, result, is_list=True)
    over = []
    for slot, given in enumerate(body.inputs):
        if isinstance(node.input(slot).type, SequenceType):
            over.append((loop.value(given), node.tensor(slot)))
        else:
            export.bind(given, node.tensor(slot))
    loop.write(loop.over(over))


def export_has_element(node: ExportNode[ir.OptionalHasElement]) -> None:
    """Whether the value is not None."""
    value = node.optional(0)
    has = str(value is not None)
    if value is not None and isinstance(value.type, OptionalType):
        has = f"{node.tensor().atom} is not None"
    node.emit(f"torch.tensor({has}, device={node.device})")


EXPORTS = table(
    row(ir.SequenceConstruct, lambda node: node.emit(list_of(node.tensors()))),
    row(ir.SequenceEmpty, lambda node: node.alias(Expr("[]"))),
    row(ir.SequenceAt, lambda node: node.emit(f"{node.tensor().atom}[{integer(node, 1)}]")),
    row(ir.SequenceInsert, export_insert),
    row(ir.SequenceErase, export_erase),
    row(ir.SequenceLength, lambda node: node.emit(f"torch.tensor(len({node.tensor()}), device={node.device})")),
    row(ir.ConcatFromSequence, export_concat),
    row(ir.SplitToSequence, export_split),
    row(ir.SequenceMap, export_map),
    row(ir.Optional, lambda node: node.alias(node.tensor() if node.optional(0) is not None else Expr("None"))),
    row(ir.OptionalGetElement, lambda node: node.alias(node.tensor())),
    row(ir.OptionalHasElement, export_has_element),
)
