"""From a graph to ONNX records: every ONNX name and rule begins here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.onnx.exporting.choice import (
    casts_for,
    decisions_of,
    make_runnable,
    note_raised,
    note_releases,
    note_start,
    refusal,
)
from graphir.converters.onnx.exporting.context import (
    Casts,
    Export,
    ExportFunction,
    ExportNode,
    opset_of_source,
    unchanged_opset,
)
from graphir.converters.onnx.exporting.opsets import DEFAULT_OPSET as DEFAULT_OPSET
from graphir.converters.onnx.exporting.opsets import OLDEST_OPSET as OLDEST_OPSET
from graphir.converters.onnx.exporting.opsets import ir_version, newest_run
from graphir.converters.onnx.exporting.opsets import newest_opset as newest_opset
from graphir.converters.onnx.exporting.types import type_text, types_of
from graphir.converters.onnx.files.notes import needs_metadata
from graphir.converters.onnx.files.records import FIELD, OnnxGraph, OnnxModel, OnnxNode
from graphir.converters.onnx.ops import export_table
from graphir.errors import ExportFailure
from graphir.graph import Graph, Node
from graphir.ops.detection import RoiAlign
from graphir.plugins import own_operator
from graphir.safety.counted import counted
from graphir.tensor import Tensor
from graphir.types import ANYTHING, TensorType, Type


def export_graph(graph: Graph, *, opset: int | None = None, runnable: bool = True) -> OnnxModel:
    """Return the graph in ONNX's terms.

    Without an opset it is that of the ONNX model that the graph came from, 13 at least, for other graphs 17; where that
    cannot say a node, the lowest one that can. What onnxruntime has no kernels for is cast around, but for an ONNX
    model's own nodes, unless `runnable` is False. What was decided stands in `graph.decisions` afterwards. Raises
    UnsupportedOpError with every operator that the opset cannot say or onnxruntime not run, and ExportFailure for an
    opset out of range and for parameters without elements.
    """
    if opset is not None and not OLDEST_OPSET <= opset <= newest_opset():
        raise ExportFailure(f"opset {opset} is out of range: {OLDEST_OPSET} to {newest_opset()} can be written")
    # What `for_onnx` rewrites has one of these; without them its passes are not loaded.
    if opset_of_source(graph) is None and any(node.subgraphs or isinstance(node.op, RoiAlign) for node in graph.nodes):
        from graphir.passes.pipelines import for_onnx

        with for_onnx().on_copy(graph) as lowered:
            return _exported(lowered, opset, runnable)
    return _exported(graph, opset, runnable)


def _exported(graph: Graph, opset: int | None, runnable: bool) -> OnnxModel:
    export, records = _export_chosen(graph, opset, runnable)
    note_releases(export)
    unranked = [value for value in graph.inputs if isinstance(value.type, TensorType) and value.shape is None]
    if unranked and not any(key.startswith(FIELD) for key in graph.metadata):
        from graphir.analysis.examples import example_shape

        raise ExportFailure(
            f"ONNX wants the number of axes of every input; unknown are {', '.join(value.name for value in unranked)}: "
            f"give their shapes, as in {' '.join(f'-i {value.name}:{example_shape(value)}' for value in unranked[:5])}"
        )
    records.outputs = [(name, _stated_type(f"output {name}", type_)) for name, type_ in records.outputs]
    records.inputs = [(name, _stated_type(f"input {name}", type_)) for name, type_ in records.inputs]
    records.initializers = _initializers(graph, export)
    model = OnnxModel(**vars(records), opset=export.opset, domains=export.domains)
    notes = _has_inner_metadata(model)
    model.ir_version = ir_version(graph.metadata, opset_of_source(graph), export.opset, export.domains, has_notes=notes)
    stated = set(graph.decisions)
    graph.decisions.extend(decision for decision in decisions_of(export) if decision not in stated)
    return model


def _export_chosen(graph: Graph, opset: int | None, runnable: bool) -> tuple[Export, OnnxGraph]:
    """Return the export at the opset that was asked for, or else at the lowest that says the whole graph."""
    source = opset_of_source(graph)
    start = opset or max(source or DEFAULT_OPSET, OLDEST_OPSET)
    has_chosen_opset = opset is not None
    source_opset = unchanged_opset(graph)
    casts = casts_for(source_opset, start, runnable)
    export, records = _attempt(graph, start, casts, has_chosen_opset=has_chosen_opset)
    if not export.refused:
        note_start(export, source, start)
        return export, records
    if has_chosen_opset:
        raise refusal(export.refused, f"opset {start}")
    reasons = {node: reason for (_, reason), nodes in export.refused.items() for node in nodes}
    newest = max(newest_run(), start)
    least: dict[Node, int] = {}
    never: dict[tuple[str, str], list[Node]] = {}
    for node, first_reason in reasons.items():
        least[node], last_reason = _least_opset(node, range(start + 1, newest + 1), source_opset, runnable)
        if not least[node]:
            never.setdefault((node.op.name, last_reason or first_reason), []).append(node)
    if never:
        raise refusal(never, f"opset {start} to {newest}" if newest > start else f"opset {start}")
    for higher in range(max(least.values()), newest + 1):
        export, records = _attempt(graph, higher, casts_for(source_opset, higher, runnable))
        if not export.refused:
            note_raised(export, start, {node: reasons[node] for node, version in least.items() if version == higher})
            return export, records
    raise refusal(export.refused, f"opset {higher}, which other nodes need at least")


def _attempt(graph: Graph, opset: int, casts: Casts, *, has_chosen_opset: bool = False) -> tuple[Export, OnnxGraph]:
    export = Export(graph, opset, _export_subgraph, casts=casts, has_chosen_opset=has_chosen_opset)
    return export, _export_records(graph, export)


def _least_opset(node: Node, opsets: Iterable[int], source: int | None, runnable: bool) -> tuple[int, str]:
    """Return the first of rising opsets that says a node by itself; 0 if there is none, and what the newest lacks."""
    reason = ""
    assert node.graph is not None
    for opset in opsets:
        trial = Export(node.graph, opset, _export_subgraph, casts=casts_for(source, opset, runnable), alone=True)
        _export_node(node, trial)
        if not trial.refused:
            return opset, ""
        reason = next(iter(trial.refused))[1]
    return 0, reason


def _export_subgraph(graph: Graph, outer: Export) -> OnnxGraph:
    """Return a graph inside a node of another. What cannot be said joins what `outer` refused."""
    export = Export(graph, outer.opset, _export_subgraph, outer)
    records = _export_records(graph, export)
    records.inputs = [(name, _open(type_)) for name, type_ in records.inputs]
    records.outputs = [(name, _open(type_)) for name, type_ in records.outputs]
    records.initializers = _initializers(graph, export)
    return records


def _export_records(graph: Graph, export: Export) -> OnnxGraph:
    """Nodes, inputs and outputs; the initializers are left to the caller, who knows whether anything was refused."""
    for node in counted(graph.nodes, "node"):
        _export_node(node, export)
    inputs = [(value.name, value.type) for value in graph.inputs]
    outputs = _outputs(graph, export)
    inner = _declared_types(graph, export, {name for name, _ in outputs})
    metadata = dict(graph.metadata)
    return OnnxGraph(graph.name, export.nodes, inputs, outputs, {}, value_info=inner, metadata=metadata)


def _export_node(node: Node, export: Export) -> None:
    """Add what a node becomes to the export, or why it cannot be said to what was refused."""
    function = export_table().get(type(node.op)) or _of_plugin(node)
    before = len(export.nodes)
    try:
        if function is None:
            raise Refusal("ONNX has no such operator and no composition is known")
        function(ExportNode(export, node))
        records = export.nodes[before:]
        # at its own opset a model comes back as it was
        known, casts = _known_types(node, records, export), export.casts is Casts.ANY
        types = types_of(records, known, export.opset, checked=not export.is_own, casts=casts)
        if export.casts is not Casts.UNCHECKED:
            del export.nodes[before:]
            make_runnable(export, records, types, node.name)
    except Refusal as error:
        export.refused.setdefault((node.op.name, str(error)), []).append(node)


def _of_plugin(node: Node) -> ExportFunction | None:
    """Return how an operator of a plugin is written: as the plugin says, or in its own domain."""
    operator = own_operator(node.op.name, node.op.domain) if node.op.domain else None
    if operator is None or operator.cls is not type(node.op):
        return None
    from graphir.converters.onnx.ops.foreign import export_own

    return operator.export or export_own


def _known_types(node: Node, records: Sequence[OnnxNode], export: Export) -> dict[str, str]:
    """Return the types, as texts, of a node's operands and results and of the constants that were made for it."""
    types = {value.name: type_text(value.type) for value in (*node.inputs, *node.outputs) if value is not None}
    types.update(export.inner_types)
    export.inner_types.clear()
    for name in (name for record in records for name in record.inputs):
        tensor = export.initializers.get(name)
        if tensor is not None and name not in types:
            types[name] = type_text(tensor.type)
    return types


def _declared_types(graph: Graph, export: Export, outputs: set[str]) -> list[tuple[str, Type]]:
    """Return the types of inner values of which the source stated one too."""
    stated = [
        value
        for value in graph.values
        if value.producer is not None and value.declared != ANYTHING and value.name not in outputs
    ]
    names = {name for node in export.nodes for name in node.outputs} if stated else set()
    return [(value.name, value.type) for value in stated if value.name in names and _open(value.type) != ANYTHING]


def _outputs(graph: Graph, export: Export) -> list[tuple[str, Type]]:
    """Names and types of the outputs; an output that is an input, a parameter or there already gets an Identity."""
    outputs: list[tuple[str, Type]] = []
    seen: set[str] = set()
    for value in graph.outputs:
        name = value.name
        is_input = value.producer is None and value.tensor is None and graph.is_input(value) and graph.parent is None
        if (value.producer is None and not is_input) or name in seen:
            name = export.names.fresh(f"{value.name}_output")
            export.append("Identity", (value.name,), (name,), name, {})
        seen.add(name)
        outputs.append((name, value.type))
    return outputs


def _stated_type(what: str, type_: Type) -> Type:
    if isinstance(type_, TensorType) and type_.dtype is None:
        raise ExportFailure(
            f"the dtype of {what} is unknown, and ONNX requires one; state it, as in -i name:1,3:float32"
        )
    return type_


def _open(type_: Type) -> Type:
    """Return the type where ONNX can say it; in a subgraph nothing has to be said."""
    return ANYTHING if isinstance(type_, TensorType) and type_.dtype is None else type_


def _has_inner_metadata(graph: OnnxGraph) -> bool:
    if needs_metadata(graph.metadata):
        return True
    inner = (value for node in graph.nodes for value in node.attributes.values() if isinstance(value, OnnxGraph))
    return any(map(_has_inner_metadata, inner))


def _used_names(nodes: list[OnnxNode]) -> set[str]:
    """Return the names that nodes read, those inside their subgraphs included."""
    names: set[str] = set()
    for node in nodes:
        names.update(node.inputs)
        for attribute in node.attributes.values():
            if isinstance(attribute, OnnxGraph):
                names |= _used_names(attribute.nodes)
    return names


def _initializers(graph: Graph, export: Export) -> dict[str, Tensor]:
    used = _used_names(export.nodes)
    initializers: dict[str, Tensor] = {}
    missing = []
    for value in graph.parameters:
        if value.name not in used:
            continue
        if value.tensor is None:
            missing.append(f"{value.name} {value.type}")
        else:
            initializers[value.name] = value.tensor
    if missing:
        shown = "\n  ".join(missing)
        raise ExportFailure(
            f"{len(missing)} parameter(s) have no elements; give the weights (-p model-0000.params):\n  {shown}"
        )
    for name, tensor in export.initializers.items():
        if name in used:
            initializers[name] = tensor
    return initializers
