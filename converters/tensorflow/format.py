"""TensorFlow's row in the table of formats, Keras included. Its models are read only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graphir.converters.formats import Format, Manner, PathLike, Source
from graphir.converters.options import ModelOptions

if TYPE_CHECKING:
    from graphir.analysis.padding_fixes import Fixes
    from graphir.converters.glance import Glance
    from graphir.graph import Graph

SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
# Operators that give what they hold.
HOLDERS = ("Const", "Variable", "VariableV2", "VarHandleOp")
HDF5 = b"\x89HDF\r\n\x1a\n"


def open_model(path: PathLike, options: ModelOptions, manner: Manner) -> Source:
    """Open a graph, a SavedModel or a model of Keras. SAME stays as the model states it where it is not to be
    simplified."""
    from graphir.converters.tensorflow import read
    from graphir.passes.pipelines import explicit_padding

    model = read(path, options)
    if manner.simplified:
        explicit_padding().run(model.graph)
    return model


def outline_graph(path: PathLike, options: ModelOptions) -> Graph:
    """Return the nodes of the graph as the file has them, without what only holds a value."""
    from graphir.converters.kernel.outline import StatedNode, outline
    from graphir.converters.tensorflow.opening import open_model

    opened = open_model(path, options.signature, options.outputs)
    nodes = opened.graph.nodes
    inputs = {node.name: node.name for node in nodes if node.op in ("Placeholder", "PlaceholderWithDefault")}
    weights = {node.name: (node.name, opened.variables.get(node.name)) for node in nodes if node.op in HOLDERS}
    stated = [
        StatedNode(node.name, node.name, node.op, [(read.node, read.slot) for read in node.inputs])
        for node in nodes if node.name not in inputs and node.name not in weights
    ]  # fmt: skip
    ends = [] if opened.signature is None else [(end.node, end.slot) for end in opened.signature.outputs.values()]
    return outline(opened.name, stated, inputs, weights, ends)


def recognizes(glance: Glance) -> bool:
    """Return whether this is TensorFlow's: graphs by the fields of their messages or the words of their text form,
    Keras's archives by their configuration, a folder by the SavedModel in it."""
    if glance.is_folder:
        return any((glance.path / name).is_file() for name in SAVED_MODEL)
    if not len(glance.content):
        return False
    from graphir.converters.tensorflow.files.recognition import looks_like_tensorflow

    if glance.archive:
        return "config.json" in glance.archive
    return glance.head.startswith(HDF5) or looks_like_tensorflow(glance.content)


def origin(metadata: Mapping[str, str]) -> str:
    """Return which kind of model a graph came from: `TensorFlow SavedModel`."""
    return metadata.get("tensorflow.format", "")


def fixes() -> Fixes:
    """Return the fixes of padding in the framework's terms."""
    from graphir.converters.tensorflow.padding_fixes import TensorFlowFixes

    return TensorFlowFixes()


FORMAT = Format(
    name="tensorflow",
    brand="TensorFlow",
    title="TensorFlow graphs",
    recognizes=recognizes,
    source=open_model,
    suffixes=(".pb", ".pbtxt", ".meta", ".keras", ".h5", ".hdf5"),
    takes=frozenset({"signature", "inputs", "outputs"}),
    origin=origin,
    other_json={
        "class_name": "a Keras architecture without its weights; save the whole model (model.save)",
        "modelTopology": "a TensorFlow.js model, which graphir does not read",
    },
    fixes=fixes,
    outline=outline_graph,
    live="TensorFlow",
)
