"""SavedModel folders, and `.meta` files with their checkpoints: a signature's graph, and its variables' elements.

Which tensor of the checkpoint a variable has, the model itself says: by the nodes that restore it. Variables that no
such node assigns are looked up by the names of the saved objects, then by their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphir.converters.tensorflow.files.bundle import Bundle
from graphir.converters.tensorflow.files.reader import TFSource, read_graph, read_message
from graphir.converters.tensorflow.files.records import Endpoint, Signature, TFGraph, TFNode, needed_nodes
from graphir.converters.tensorflow.files.tensors import TensorSource
from graphir.converters.tensorflow.files.wire import Message, decode
from graphir.converters.tensorflow.importing.inline import called, flatten
from graphir.converters.tensorflow.importing.order import find_outputs
from graphir.converters.tensorflow.importing.state import runs_writes
from graphir.errors import FormatError, ImportFailure
from graphir.safety.foreign_text import unicode_text
from graphir.tensor import Tensor
from graphir.types import DType, Unknown

FILES = ("saved_model.pb", "saved_model.pbtxt")
SERVING = "serve"
DEFAULT_SIGNATURE = "serving_default"
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"
HOLDERS = frozenset({"VarHandleOp", "Variable", "VariableV2"})
_ASSIGNS = frozenset({"Assign", "AssignVariableOp"})
_PASSES_ON = frozenset({"Identity", "Cast"})
_STATEFUL = frozenset({"RestoreV2", "RestoreSlice", "Restore", "SaveV2", "SaveSlices", "Save", "MergeV2Checkpoints"})


def open_saved_model(
    folder: Path, signature: str | None = None, outputs: Sequence[str] | None = None, file: Path | None = None
) -> TFSource:
    """Open a SavedModel with one signature chosen: the one named, else serving_default, else the only one.

    `outputs` are nodes that are wanted too; `file` is its protobuf where that has an unusual name. Raises
    ImportFailure with the list of signatures where it is not clear which is meant, and for a checkpoint that is
    missing; FormatError for broken files.
    """
    path = file or next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        raise ImportFailure(f"{folder}: no SavedModel: it holds neither {' nor '.join(FILES)}")
    text = read_message(path, "SavedModel")
    version = text.get("saved_model_schema_version", 0)
    graphs: list[Message] = text.get("meta_graphs", [])
    if not graphs:
        raise FormatError(f"a SavedModel (version {version}) without a graph", path=path)
    meta = _choose_served(graphs)
    prefix = folder / "variables" / "variables"
    return _open_meta(meta, path, prefix, signature, outputs, unicode_text(folder.resolve().name) or "graph")


def open_meta_graph(
    path: Path, signature: str | None = None, outputs: Sequence[str] | None = None
) -> TFSource:
    """Open a `.meta` file of tf.train.Saver, with the checkpoint of the same prefix beside it. Raises as above."""
    prefix = path.with_name(path.name.removesuffix(".meta"))
    meta = read_message(path, "MetaGraphDef")
    if not meta.get("graph_def"):
        raise FormatError("a MetaGraphDef without a graph", path=path)
    return _open_meta(meta, path, prefix, signature, outputs, unicode_text(prefix.name), "TensorFlow MetaGraph")


def _choose_served(graphs: list[Message]) -> Message:
    """Return the graph with the tag `serve` alone, else with it among others, else the first."""

    def tags(meta: Message) -> list[str]:
        return list(meta.get("meta_info_def", {}).get("tags", ()))

    ordered = sorted(graphs, key=lambda meta: (SERVING not in tags(meta), len(tags(meta))))
    return ordered[0]


def _open_meta(
    meta: Message,
    path: Path,
    prefix: Path,
    signature: str | None,
    outputs: Sequence[str] | None,
    name: str,
    kind: str = "TensorFlow SavedModel",
) -> TFSource:
    graph = read_graph(meta.get("graph_def", {}), TensorSource(path))
    nodes = {node.name: node for node in graph.nodes}
    wanted = [Endpoint.of(output) for output in outputs or ()]
    stated = _stated_signatures(meta)
    if stated or signature is not None:
        chosen = _choose_signature(stated, path, signature, graph)
    else:
        chosen = Signature("", {}, {}) if wanted else _infer_signature(graph, path)
    _check_endpoints(chosen, nodes, path)
    wanted += chosen.outputs.values()
    writes = runs_writes(graph, wanted)
    holders = [node for node in _find_reached(nodes, wanted, controls=True) if node.op in HOLDERS]
    bundle = Bundle(prefix, path) if holders else None
    variables = {} if bundle is None else _read_variables(meta, graph, holders, bundle)
    files = [str(path), *([] if bundle is None else bundle.files)]
    reached = _find_reached(nodes, [*chosen.inputs.values(), *wanted], controls=writes)
    placed, chosen, names = _rename_inputs(reached, chosen)
    subgraph = TFGraph(placed, graph.functions, graph.producer)
    return TFSource(subgraph, name, chosen, files, variables, names, kind)


def _stated_signatures(meta: Message) -> dict[str, Message]:
    return {
        name: entry
        for name, entry in meta.get("signature_def", {}).items()
        if entry.get("outputs") and not name.startswith("__")
    }


def _choose_signature(
    stated: Mapping[str, Message], path: Path, wanted: str | None, graph: TFGraph
) -> Signature:
    chosen = wanted or (DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in stated else "")
    if not chosen and len({_endpoints(entry) for entry in stated.values()}) == 1:
        chosen = next(iter(stated))
    if not chosen:
        lines = "\n  ".join(f"{name}: {_format_signature(entry)}" for name, entry in sorted(stated.items()))
        raise ImportFailure(
            f"{path}: {len(stated)} signatures and none called {DEFAULT_SIGNATURE}; choose one (signature=..., on the "
            f"command line --signature):\n  {lines}"
        )
    if chosen not in stated:
        known = ", ".join(sorted(stated)) or "none"
        raise ImportFailure(f"{path}: there is no signature {chosen!r}; there are: {known}")
    entry = stated[chosen]
    for side in ("inputs", "outputs"):
        nameless = [name for name, info in entry.get(side, {}).items() if not info.get("name")]
        if "" in entry.get(side, {}):
            raise FormatError(f"one of the {side} of signature {chosen} has no name", path=path)
        if nameless:
            raise ImportFailure(
                f"{path}: {', '.join(nameless)} of signature {chosen} is a sparse or composite tensor, which is not "
                "supported"
            )
    positions = {node.name: position for position, node in enumerate(graph.nodes)}
    given = {name: Endpoint.of(info["name"]) for name, info in entry.get("inputs", {}).items()}
    gives = {name: Endpoint.of(info["name"]) for name, info in entry.get("outputs", {}).items()}
    in_file = sorted(given, key=lambda name: (positions.get(given[name].node, len(positions)), name))
    return Signature(
        chosen,
        {name: given[name] for name in _sort_names(in_file)},
        {name: gives[name] for name in _sort_names(sorted(gives))},
    )


def _sort_names(names: Sequence[str]) -> list[str]:
    """Return the names in their order; those that differ by a number at the end only, by that number.

    Signatures are mappings: the numbers that TensorFlow gave hold the order of a function's arguments and results.

    >>> _sort_names(["output_0", "output_10", "output_2"]), _sort_names(["b", "a_1", "a"])
    (['output_0', 'output_2', 'output_10'], ['b', 'a_1', 'a'])
    """
    parts = [re.fullmatch(r"(.*?)(?:_(\d+))?", name, re.DOTALL) for name in names]
    stems = [(part[1], int(part[2] or 0), part[0]) for part in parts if part]
    if len({stem for stem, *_ in stems}) != 1:
        return list(names)
    return [name for *_, name in sorted(stems)]


def _endpoints(entry: Message) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, info.get("name", "")) for name, info in entry.get("outputs", {}).items()))


def _format_signature(entry: Message) -> str:
    return f"({', '.join(entry.get('inputs', {}))}) -> ({', '.join(entry.get('outputs', {}))})"


def _infer_signature(graph: TFGraph, path: Path) -> Signature:
    """Return what a training graph computes from its inputs: results that nothing uses, but for saving and updating."""
    nodes = {node.name: node for node in graph.nodes}
    outputs = {}
    for name in find_outputs(graph.nodes):
        reached = _find_reached(nodes, [Endpoint(name)])
        ops = {node.op for node in reached}
        if "Placeholder" in ops and not ops & (_ASSIGNS | _STATEFUL) and not nodes[name].op.startswith(
            ("Assign", "Apply", "ResourceApply", "VarIsInitialized", "IsVariableInitialized")
        ):
            outputs[name] = Endpoint(name)
    if not outputs:
        raise ImportFailure(f"{path}: it states no signature, and no result depends on an input")
    return Signature("", {}, outputs)


def _check_endpoints(signature: Signature, nodes: Mapping[str, TFNode], path: Path) -> None:
    lost = [
        f"{name} ({endpoint})"
        for name, endpoint in [*signature.inputs.items(), *signature.outputs.items()]
        if endpoint.node not in nodes
    ]
    if lost:
        raise ImportFailure(f"{path}: signature {signature.name} names nodes that are not there: {', '.join(lost)}")


def _find_reached(nodes: Mapping[str, TFNode], wanted: Iterable[Endpoint], *, controls: bool = False) -> list[TFNode]:
    """Return the nodes that the endpoints need; see `needed_nodes`."""
    return needed_nodes(nodes, (endpoint.node for endpoint in wanted), controls=controls)


def _rename_inputs(nodes: list[TFNode], signature: Signature) -> tuple[list[TFNode], Signature, dict[str, str]]:
    """Return placeholders under the names that the signature has for them, which are those that users know.

    The third result are the names that they had.
    """
    taken = {node.name for node in nodes}
    names: dict[str, str] = {}
    for wanted, endpoint in signature.inputs.items():
        if wanted not in taken and endpoint.node not in names and endpoint.slot == 0:
            names[endpoint.node] = wanted
            taken.add(wanted)

    def moved(endpoint: Endpoint) -> Endpoint:
        return Endpoint(names.get(endpoint.node, endpoint.node), endpoint.slot)

    placed = [
        replace(
            node,
            name=names.get(node.name, node.name),
            inputs=tuple(map(moved, node.inputs)),
            controls=tuple(names.get(control, control) for control in node.controls),
        )
        for node in nodes
    ]
    moved_signature = Signature(
        signature.name,
        {name: moved(endpoint) for name, endpoint in signature.inputs.items()},
        {name: moved(endpoint) for name, endpoint in signature.outputs.items()},
    )
    return placed, moved_signature, {new: old for old, new in names.items()}


def _read_variables(
    meta: Message, graph: TFGraph, holders: Sequence[TFNode], bundle: Bundle
) -> dict[str, Tensor]:
    """Return the elements of the variables that the bundle has, by node."""
    restored = _find_restores(graph)
    by_object: dict[str, str] | None = None
    tensors: dict[str, Tensor] = {}
    for node in holders:
        key, part = restored.get(node.name, ("", ""))
        if not key:
            by_object = _find_object_keys(meta, bundle) if by_object is None else by_object
            shared = node.attrs.get("shared_name") or node.name
            shared = shared if isinstance(shared, str) else node.name
            known = (by_object.get(shared, ""), shared, node.name, f"{shared}/.ATTRIBUTES/{VALUE}")
            key = next((name for name in known if name in bundle), "")
        if key in bundle:
            tensors[node.name] = tensor = bundle.tensor(key, part)
            _check_variable(node, tensor, key, bundle)
    return tensors


def _check_variable(node: TFNode, tensor: Tensor, key: str, bundle: Bundle) -> None:
    """Raise ImportFailure for a tensor that is not what the variable's node states."""
    dtype, shape = node.attrs.get("dtype"), node.attrs.get("shape")
    fits = shape is None or (
        len(shape) == len(tensor.shape)
        and all(isinstance(dim, Unknown) or dim == size for dim, size in zip(shape, tensor.shape, strict=True))
    )
    if not fits or (isinstance(dtype, DType) and dtype is not tensor.dtype):
        stated = "?" if shape is None else str([str(dim) for dim in shape])
        raise ImportFailure(
            f"variable {node.name} is {dtype}{stated} in the graph, but {key} is {tensor.type} in {bundle.index}: the "
            "checkpoint belongs to another model"
        )


def _find_restores(graph: TFGraph) -> dict[str, tuple[str, str]]:
    """Return by variable's node what the graph itself restores it from: the tensor's name and the slice of it."""
    restoring = {
        name
        for name, function in graph.functions.items()
        if any(node.op == "RestoreV2" for node in function.nodes)
    }
    if not restoring and not any(node.op == "RestoreV2" for node in graph.nodes):
        return {}
    kept = []
    for node in graph.nodes:
        call = called(node, graph.functions)
        if call is None or call.name in restoring:
            kept.append(node)
    nodes = {node.name: node for node in flatten(TFGraph(kept, graph.functions, graph.producer)).nodes}
    restores: dict[str, tuple[str, str]] = {}
    for node in nodes.values():
        if node.op not in _ASSIGNS or len(node.inputs) < 2:
            continue
        source = node.inputs[1]
        while source.node in nodes and nodes[source.node].op in _PASSES_ON:
            source = nodes[source.node].inputs[0]
        restore = nodes.get(source.node)
        if restore is not None and restore.op == "RestoreV2":
            name, part = (_read_text(nodes, restore.inputs[slot], source.slot) for slot in (1, 2))
            restores.setdefault(node.inputs[0].node, (name, part))
    return restores


def _read_text(nodes: Mapping[str, TFNode], endpoint: Endpoint, index: int) -> str:
    """Return one element of a constant of texts, "" where it is none."""
    node = nodes.get(endpoint.node)
    value = None if node is None else node.attrs.get("value")
    if not isinstance(value, Tensor) or index >= value.size:
        return ""
    text = value.numpy().reshape(-1)[index]
    return text if isinstance(text, str) else ""


def _find_object_keys(meta: Message, bundle: Bundle) -> dict[str, str]:
    """Return the checkpoint's key of every variable by its name, as the saved objects state it; without ambiguous
    names."""
    saved = meta.get("object_graph_def", {}).get("nodes", ())
    if not saved or OBJECT_GRAPH not in bundle:
        return {}
    tensor = bundle.tensor(OBJECT_GRAPH)
    if tensor.dtype is not DType.STRING or tensor.size != 1:
        raise FormatError(f"{OBJECT_GRAPH} is {tensor.type}, expected one text", path=bundle.index)
    text = tensor.numpy().reshape(-1)[0]
    data = text.encode() if isinstance(text, str) else text
    tracked = decode(memoryview(data), "TrackableObjectGraph").get("nodes", ())
    keys_by_name: dict[str, str] = {}
    twice: set[str] = set()
    for saved_object, entry in zip(saved, tracked, strict=False):
        name = saved_object.get("variable", {}).get("name", "")
        keys = [part.get("checkpoint_key", "") for part in entry.get("attributes", ()) if part.get("name") == VALUE]
        if name and keys:
            twice |= {name} & set(keys_by_name)
            keys_by_name[name] = keys[0]
    return {name: key for name, key in keys_by_name.items() if name not in twice}
