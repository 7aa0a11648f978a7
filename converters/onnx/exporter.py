"""From a graph to ONNX records: every ONNX name and rule begins here."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.converters.onnx.context import Export, ExportNode, OnnxGraph, OnnxNode, Refusal
from graphir.converters.onnx.ops import export_table
from graphir.converters.onnx.records import FIELD, OPSET
from graphir.errors import ExportFailure, Gap, UnsupportedOpError
from graphir.graph import Graph
from graphir.tensor import Tensor
from graphir.types import ANYTHING, TensorType, Type

DEFAULT_OPSET = 23
OLDEST_OPSET = 13
# onnxruntime 1.31 has no kernels for these operators as of the opset named.
WITHOUT_KERNEL_FROM = {"MaxRoiPool": 22, "RoiAlign": 22}


@dataclass
class OnnxModel(OnnxGraph):
    """An ONNX model as plain records, its weights still lazy. `value_info` are types of inner values to be stated."""

    opset: int
    metadata: dict[str, str] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)
    value_info: list[tuple[str, Type]] = field(default_factory=list)


def newest_opset() -> int:
    """The newest opset of the default domain that the installed onnx knows."""
    import onnx.defs

    return int(onnx.defs.onnx_opset_version())


def default_opset(graph: Graph) -> int:
    """The newest opset that the onnxruntime of a year ago runs, or the newest at which it has every kernel needed.

    A graph that came from a newer opset stays there.
    """
    source = graph.metadata.get(OPSET, "")
    newest = max(DEFAULT_OPSET, int(source)) if source.isdecimal() else DEFAULT_OPSET
    limits = (WITHOUT_KERNEL_FROM[node.op.name] - 1 for node in graph.nodes if node.op.name in WITHOUT_KERNEL_FROM)
    return min(limits, default=newest)


def export_graph(graph: Graph, *, opset: int | None = None) -> OnnxModel:
    """The graph in ONNX's terms.

    Raises UnsupportedOpError with every operator that the opset cannot say, and ExportFailure for an opset out of range
    and for parameters without elements.
    """
    opset = default_opset(graph) if opset is None else opset
    if not OLDEST_OPSET <= opset <= newest_opset():
        raise ExportFailure(f"opset {opset} is out of range: {OLDEST_OPSET} to {newest_opset()} can be written")
    export = Export(graph, opset)
    records = _export_records(graph, export)
    if export.refused:
        gaps = [Gap(op, reason, tuple(nodes)) for (op, reason), nodes in export.refused.items()]
        count = sum(len(gap.nodes) for gap in gaps)
        raise UnsupportedOpError(f"{count} node(s) cannot be written at opset {opset}:", gaps)
    unranked = [value.name for value in graph.inputs if isinstance(value.type, TensorType) and value.shape is None]
    if unranked and not any(key.startswith(FIELD) for key in graph.metadata):
        raise ExportFailure(
            f"ONNX wants the number of axes of every input; unknown are {', '.join(unranked)}: "
            f"give their shapes, as in -i {unranked[0]}:1,3,224,224"
        )
    records.outputs = [(name, _stated(f"output {name}", type_)) for name, type_ in records.outputs]
    records.inputs = [(name, _stated(f"input {name}", type_)) for name, type_ in records.inputs]
    records.initializers = _initializers(graph, export)
    return OnnxModel(**vars(records), opset=opset, metadata=dict(graph.metadata), domains=export.domains)


def export_subgraph(graph: Graph, outer: Export) -> OnnxGraph:
    """A graph inside a node of another. What cannot be said joins what `outer` refused."""
    export = Export(graph, outer.opset, outer)
    records = _export_records(graph, export)
    records.inputs = [(name, _open(type_)) for name, type_ in records.inputs]
    records.outputs = [(name, _open(type_)) for name, type_ in records.outputs]
    records.initializers = _initializers(graph, export)
    return records


def _export_records(graph: Graph, export: Export) -> OnnxGraph:
    """Nodes, inputs and outputs; the initializers are left to the caller, who knows whether anything was refused."""
    table = export_table()
    for node in graph.nodes:
        function = table.get(type(node.op))
        try:
            if function is None:
                raise Refusal("ONNX has no such operator and no composition is known")
            function(ExportNode(export, node))
        except Refusal as error:
            export.refused.setdefault((node.op.name, str(error)), []).append(node.name)
    inputs = [(value.name, value.type) for value in graph.inputs]
    return OnnxGraph(graph.name, export.nodes, inputs, _outputs(graph, export), {})


def _outputs(graph: Graph, export: Export) -> list[tuple[str, Type]]:
    """Names and types of the outputs; an output that is an input, a parameter or there already gets an Identity."""
    found: list[tuple[str, Type]] = []
    seen: set[str] = set()
    for value in graph.outputs:
        name = value.name
        is_input = value.producer is None and value.tensor is None and value in graph.inputs and graph.parent is None
        if (value.producer is None and not is_input) or name in seen:
            name = export.names.fresh(f"{value.name}_output")
            export.append("Identity", (value.name,), (name,), name, {})
        seen.add(name)
        found.append((name, value.type))
    return found


def _stated(what: str, type_: Type) -> Type:
    if isinstance(type_, TensorType) and type_.dtype is None:
        raise ExportFailure(
            f"the dtype of {what} is unknown, and ONNX requires one; state it, as in -i name:1,3:float32"
        )
    return type_


def _open(type_: Type) -> Type:
    """The type where ONNX can say it; in a subgraph nothing has to be said."""
    return ANYTHING if isinstance(type_, TensorType) and type_.dtype is None else type_


def _used_names(nodes: list[OnnxNode]) -> set[str]:
    """The names that nodes read, those inside their subgraphs included."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.inputs)
        for attribute in node.attributes.values():
            if isinstance(attribute, OnnxGraph):
                found |= _used_names(attribute.nodes)
    return found


def _initializers(graph: Graph, export: Export) -> dict[str, Tensor]:
    used = _used_names(export.nodes)
    found: dict[str, Tensor] = {}
    missing = []
    for value in graph.parameters:
        if value.name not in used:
            continue
        if value.tensor is None:
            missing.append(f"{value.name} {value.type}")
        else:
            found[value.name] = value.tensor
    if missing:
        shown = "\n  ".join(missing)
        raise ExportFailure(
            f"{len(missing)} parameter(s) have no elements; give the weights (-p model-0000.params):\n  {shown}"
        )
    for name, tensor in export.initializers.items():
        if name in used:
            found[name] = tensor
    return found


__all__ = [
    "DEFAULT_OPSET",
    "OLDEST_OPSET",
    "OnnxModel",
    "default_opset",
    "export_graph",
    "export_subgraph",
    "newest_opset",
]
