"""If, Loop and Scan, whose bodies are subgraphs."""

from __future__ import annotations

from typing import Any

from graphir.converters.onnx.exporting.context import ExportNode, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops.control import If, Loop, Scan
from graphir.types import DType, TensorType, Type


def import_if(node: ImportNode) -> None:
    """Read If. Where the branches give different shapes, the result's is what they have in common
    (`inference.control`).

    A branch that the known condition rules out may be invalid for the shapes at hand; the other one then stands in.
    """
    condition = node.known(0)
    branches = [_branch(node, name, condition) for name in ("then_branch", "else_branch")]
    counts = [len(branch.outputs) for branch in branches]
    if counts[0] != counts[1]:
        node.refuse(f"then_branch gives {counts[0]} values and else_branch {counts[1]}")
    node.emit(If(counts[0]), node.input(0), subgraphs=branches)


def _branch(node: ImportNode, name: str, condition: tuple[int, ...] | None) -> Graph:
    live = None if condition is None or len(condition) != 1 else ("then_branch" if condition[0] else "else_branch")
    if live in (None, name):
        return node.subgraph(name)
    subgraph = node.subgraph_if_valid(name)
    if subgraph is None:
        node.decide(DecisionKind.DEAD_BRANCH, f"{name} never runs and does not fit the shapes; {live} stands in for it")
        assert live is not None
        subgraph = node.subgraph(live)
    return subgraph


def import_loop(node: ImportNode) -> None:
    """Read Loop. Carried values keep their dtype; their shape may change from one iteration to the next.

    The iteration's number and the condition are scalars, or vectors of one element where the body says so.
    """
    carried = [node.input(slot) for slot in range(2, len(node.inputs))]
    given = [TensorType(DType.INT64), TensorType(DType.BOOL), *map(_without_shape, carried)]
    body = node.subgraph("body", given)
    count = len(carried)
    if len(body.inputs) != count + 2 or len(body.outputs) < count + 1:
        node.refuse(
            f"its body takes {len(body.inputs)} and gives {len(body.outputs)} values, which does not fit {count} "
            "carried values"
        )
    node.emit(Loop(len(body.outputs) - 1), node.optional(0), node.optional(1), *carried, subgraphs=[body])


def _without_shape(value: Value) -> Type:
    return TensorType(value.dtype, None) if isinstance(value.type, TensorType) else value.type


def import_scan(node: ImportNode) -> None:
    """Read Scan from opset 9 on."""
    count = node.attribute("num_scan_inputs")
    states = len(node.inputs) - count
    fields: dict[str, tuple[int, ...]] = {
        name: node.ints(name)
        for name in ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")
    }
    _import_scan(node, states, count, fields)


def _import_scan(node: ImportNode, states: int, count: int, fields: dict[str, tuple[int, ...]]) -> None:
    if states < 0:
        node.refuse(f"num_scan_inputs is {count}, but there are {len(node.inputs)} operands")
    if len(fields["scan_input_axes"] or (0,) * count) != count:
        node.refuse(f"scan_input_axes has {len(fields['scan_input_axes'])} entries, expected {count}")
    values = [node.input(slot) for slot in range(len(node.inputs))]
    axes = fields["scan_input_axes"] or (0,) * count
    slices = [_slice_type(node, value, axis) for value, axis in zip(values[states:], axes, strict=True)]
    body = node.subgraph("body", [*(value.type for value in values[:states]), *slices])
    if len(body.inputs) != len(values) or len(body.outputs) < states:
        node.refuse(
            f"its body takes {len(body.inputs)} and gives {len(body.outputs)} values, which does not fit "
            f"{len(values)} operands"
        )
    node.emit(Scan(count, len(body.outputs), **fields), *values, subgraphs=[body])


def _slice_type(node: ImportNode, value: Value, axis: int) -> Type:
    if value.shape is None:
        return TensorType(value.dtype, None)
    if not -len(value.shape) <= axis < len(value.shape):
        node.refuse(f"{value.name} is {value.type}, which has no axis {axis}")
    index = axis % len(value.shape)
    return TensorType(value.dtype, (*value.shape[:index], *value.shape[index + 1 :]))


def import_scan_8(node: ImportNode) -> None:
    """Read Scan-8, which has a batch axis in front: the newest Scan for each element of the batch, itself in a Scan."""
    if node.optional(0) is not None:
        node.refuse("sequence_lens of Scan-8 is not supported")
    count = node.attribute("num_scan_inputs")
    directions = node.ints("directions")
    values = [node.input(slot) for slot in range(1, len(node.inputs))]
    states = len(values) - count
    if states < 0:
        node.refuse(f"num_scan_inputs is {count}, but there are {len(values)} operands")
    around = node.new_subgraph(f"{node.name}_element")
    inputs = [around.add_input(node.fresh_name("element"), _slice_type(node, value, 0)) for value in values]
    slices = [_slice_type(node, value, 0) for value in inputs[states:]]
    body = node.subgraph("body", [*(value.type for value in inputs[:states]), *slices], parent=around)
    results = len(body.outputs)
    op = Scan(count, results, scan_input_directions=directions)
    names = [node.fresh_name(f"{node.name}_inner") for _ in range(results)]
    inner = around.add_node(op, inputs, name=f"{node.name}_inner", output_names=names, subgraphs=[body])
    around.set_outputs(inner.outputs)
    node.emit(Scan(len(values), results), *values, subgraphs=[around])


def export_if(node: ExportNode[If]) -> None:
    """Write If."""
    node.emit(
        "If", node.input_names(), every_output=True, then_branch=node.subgraph(0), else_branch=node.subgraph(1)
    )


def export_loop(node: ExportNode[Loop]) -> None:
    """Write Loop."""
    node.emit("Loop", node.input_names(), every_output=True, body=node.subgraph(0))


def export_scan(node: ExportNode[Scan]) -> None:
    """Write Scan."""
    op = node.op
    axes: dict[str, Any] = {
        "scan_input_axes": op.scan_input_axes or None,
        "scan_input_directions": op.scan_input_directions or None,
        "scan_output_axes": op.scan_output_axes or None,
        "scan_output_directions": op.scan_output_directions or None,
    }
    node.emit(
        "Scan",
        node.input_names(),
        every_output=True,
        num_scan_inputs=op.num_scan_inputs,
        body=node.subgraph(0),
        **axes,
    )


EXPORTS = table(row(If, export_if), row(Loop, export_loop), row(Scan, export_scan))
IMPORTS: ImportTable = {
    "If": {1: import_if},
    "Loop": {1: import_loop},
    "Scan": {8: import_scan_8, 9: import_scan},
}
