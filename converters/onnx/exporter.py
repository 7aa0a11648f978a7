"""From a graph to ONNX records: every ONNX name and rule begins here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphir.converters.onnx.context import Export, ExportNode, OnnxGraph, OnnxNode, Refusal, opset_of_source
from graphir.converters.onnx.export_types import check_types, type_text
from graphir.converters.onnx.ops import export_table
from graphir.converters.onnx.records import FIELD, OPSET
from graphir.errors import ExportFailure, Gap, UnsupportedOpError
from graphir.graph import Graph, Node
from graphir.tensor import Tensor
from graphir.types import ANYTHING, TensorType, Type

DEFAULT_OPSET = 23
OLDEST_OPSET = 13
# onnxruntime 1.31 has no kernels for these operators as of the opset named.
WITHOUT_KERNEL_FROM = {"MaxRoiPool": 22, "RoiAlign": 22}


@dataclass
class OnnxModel(OnnxGraph):
    """An ONNX model as plain records, its weights still lazy."""

    opset: int
    domains: dict[str, int] = field(default_factory=dict)


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
    return OnnxModel(**vars(records), opset=opset, domains=export.domains)


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
    table, source = export_table(), opset_of_source(graph)
    for node in graph.nodes:
        function = table.get(type(node.op))
        before = len(export.nodes)
        try:
            if function is None:
                raise Refusal("ONNX has no such operator and no composition is known")
            function(ExportNode(export, node))
            made = export.nodes[before:]
            if source != export.opset:  # at its own opset a model comes back as it was
                check_types(made, _known_types(node, made, export), export.opset)
        except Refusal as error:
            export.refused.setdefault((node.op.name, str(error)), []).append(node.name)
    inputs = [(value.name, value.type) for value in graph.inputs]
    outputs = _outputs(graph, export)
    inner = _declared_types(graph, export, {name for name, _ in outputs})
    metadata = dict(graph.metadata)
    return OnnxGraph(graph.name, export.nodes, inputs, outputs, {}, value_info=inner, metadata=metadata)


def _known_types(node: Node, made: Sequence[OnnxNode], export: Export) -> dict[str, str]:
    """The types, as texts, of a node's operands and results and of the constants that were made for it."""
    found = {value.name: type_text(value.type) for value in (*node.inputs, *node.outputs) if value is not None}
    for name in (name for one in made for name in one.inputs):
        tensor = export.initializers.get(name)
        if tensor is not None and name not in found:
            found[name] = type_text(tensor.type)
    return found


def _declared_types(graph: Graph, export: Export, outputs: set[str]) -> list[tuple[str, Type]]:
    """The types of inner values of which the source stated one too."""
    stated = [
        value
        for value in graph.values
        if value.producer is not None and value.declared != ANYTHING and value.name not in outputs
    ]
    made = {name for node in export.nodes for name in node.outputs} if stated else set()
    return [(value.name, value.type) for value in stated if value.name in made and _open(value.type) != ANYTHING]


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
