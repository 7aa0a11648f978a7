"""TensorFlow without TensorFlow: frozen graphs are read. Import only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.converters.options import ModelOptions
from graphir.safety.limits import bounded, current, limited

if TYPE_CHECKING:
    from graphir.converters.tensorflow.source import TensorFlowModel
    from graphir.graph import Graph


@bounded
def load(
    source: str | os.PathLike[str] | bytes,
    *,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
    simplified: bool = True,
    fold_weights: bool = True,
) -> Graph:
    """Return the graph of a frozen GraphDef (a .pb or .pbtxt file, or its bytes), of a SavedModel folder, or of a .meta
    file with the checkpoint beside it. Weights stay in the files.

    `shapes` and `dtypes` are those of inputs by name and win over the file's; `outputs` names the nodes (or `node:1`)
    whose results are wanted, without it the signature's, or those that nothing uses; `inputs` names those at which the
    graph is cut: they become inputs, and what computes them is left out; `signature` chooses among those of
    a SavedModel (without it serving_default, or the only one). A variable that the graph writes becomes an input and
    an output. The graph has the IR's layout: channels first, with
    transposes where values come in and go out channels last; unless `simplified`, around each operator. What scales and
    shifts a layer's channels goes into its weights, unless `fold_weights` is off. What the import assumed, dropped or
    rewrote stands in `graph.decisions`.

    Raises FormatError for a file that is not what it should be, UnsupportedOpError listing every node that cannot be
    imported, and ImportFailure listing every other problem (unfrozen variables, cycles, missing nodes).
    """
    options = ModelOptions(shapes=shapes, dtypes=dtypes, signature=signature, inputs=inputs, outputs=outputs)
    return read(source, options, simplified=simplified, fold_weights=fold_weights).graph


def read(
    source: str | os.PathLike[str] | bytes,
    options: ModelOptions,
    *,
    simplified: bool = True,
    fold_weights: bool = True,
) -> TensorFlowModel:
    """Return what `load` reads, by these options, with the model's own operators and weights, and which of these were
    folded into others."""
    from graphir.analysis.contents import used_weights, weights
    from graphir.converters.formats import Description
    from graphir.converters.tensorflow.importing.cut_types import types_at_cuts
    from graphir.converters.tensorflow.importing.importer import Importer
    from graphir.converters.tensorflow.importing.names import give_back_names, layer_name
    from graphir.converters.tensorflow.opening import open_model
    from graphir.converters.tensorflow.source import TensorFlowModel
    from graphir.passes.pipelines import import_from_tensorflow
    from graphir.safety.collector import paused_collector

    shapes, dtypes, inputs, outputs = options.shapes, options.dtypes, options.inputs, options.outputs
    signature = options.signature
    with paused_collector():
        if inputs:
            with limited(current()):  # the model is read twice, which is no fault of it
                whole = open_model(source, signature, outputs)
                shapes, dtypes = types_at_cuts(whole, inputs, outputs, shapes, dtypes)
        opened = open_model(source, signature, outputs, training=options.training)
        operators = opened.operators()
        graph = Importer(opened, shapes, dtypes=dtypes, inputs=inputs, outputs=outputs, state=options.state).run()
        floats = {name: tensor for name, tensor in weights(graph).items() if tensor.dtype.is_float and tensor.shape}
        if simplified:
            pipeline = import_from_tensorflow(
                layer_name, give_back_names, fold_weights=fold_weights, training=options.training
            )
            pipeline.run(graph)
    left = {name for value in used_weights(graph) for name in (value.name, *value.sources)}
    folded = {name: tensor for name, tensor in floats.items() if name not in left}
    file_name = "" if isinstance(source, bytes) else Path(source).name
    return TensorFlowModel(
        "tensorflow", graph, list(opened.files), Description(graph.name, file_name, opened.kind), operators, folded,
        source=source, signature=signature, weights=floats,
    )  # fmt: skip


__all__ = ["load", "read"]
