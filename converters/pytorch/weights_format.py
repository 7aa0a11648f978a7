"""PyTorch's weights alone: a model's, by the keys of a state_dict of the same network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import Format, Judge, PathLike, Ready
from graphir.decisions import DecisionKind
from graphir.errors import ArgumentError, ExportFailure, VerificationError

if TYPE_CHECKING:
    from graphir.converters.glance import Glance
    from graphir.converters.kernel.live import Live
    from graphir.converters.pytorch.exporting.exporter import TorchModule
    from graphir.converters.pytorch.matching import KeyedLayer, LayerMatch
    from graphir.graph import Graph
    from graphir.tensor import Tensor

MOST_SHOWN = 12


class WeightsTarget:
    """`weights.safetensors`, with the keys of the file that `like` names. `like_graph` is a model of that network whose
    parameters are called by these keys, which `read_graph` reads."""

    suffix = ".safetensors"
    options: Mapping[str, tuple[type, ...]] = {
        **dict.fromkeys(("like", "like_graph", "names"), (str, os.PathLike)), "read_graph": (FunctionType,),
    }  # fmt: skip
    runs = False

    def named(self, options: Mapping[str, Any]) -> str:
        """`PyTorch weights`."""
        return "PyTorch weights"

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the file."""
        return [path]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the tensors by their new keys. Raises ExportFailure with all that have no partner, or several."""
        from graphir.analysis.contents import count_operators
        from graphir.converters.pytorch.exporting.exporter import export_copy
        from graphir.converters.pytorch.files import name_row, write_files
        from graphir.converters.pytorch.matching import COUNTER

        if options.get("like") is None:
            raise ArgumentError(f"{path}: weights alone have the keys of another file: name it by --like")
        like = options["read_graph"](options["like_graph"]) if options.get("like_graph") else None
        module = export_copy(graph)
        renamed = rename(module, options["like"], like)
        way = "order, kind and shape" if like is None else "graph"
        count = sum(not key.endswith(COUNTER) for key in renamed)
        text = f"{count} tensors have keys of {os.path.basename(options['like'])}, matched by {way}"
        graph.decide(DecisionKind.PARAMETER_NAMES, "-", text)
        tensors = {key: entry.tensor for key, entry in renamed.items()}
        rows = [name_row(entry.source, key, entry.tensor) for key, entry in renamed.items()]
        write = partial(write_files, path, tensors, lambda: rows, options.get("names"))
        return Ready(
            count_operators(module.graph), write, "weights",
            judges=partial(judges, renamed, graph, like), graph=like,
        )  # fmt: skip


@dataclass(frozen=True)
class Renamed:
    """A tensor and what it is called in the source."""

    tensor: Tensor
    source: str | None


def rename(module: TorchModule, like: PathLike, graph: Graph | None = None) -> dict[str, Renamed]:
    """Return a module's tensors by the keys of a file of the same network, in that file's order. Raises ExportFailure
    where tensors have no partner or nothing tells them apart."""
    from graphir.converters.pytorch.exporting.exporter import export_copy
    from graphir.converters.pytorch.matching import COUNTER, LayerSequence, layers_of, match_by_order, match_graphs
    from graphir.serial.weights import WeightsHeader
    from graphir.tensor import Tensor

    entries = WeightsHeader.open(Path(like)).entries
    shapes = {key: tuple(entry.shape) for key, entry in entries.items()}
    keys: Mapping[str, str] = {}
    if graph is None:
        match = match_by_order(LayerSequence(module.export), layers_of(shapes))
    else:
        other = export_copy(graph)
        match, keys = match_graphs(LayerSequence(module.export), LayerSequence(other.export)), other.export.sources
    _check(match, like)
    tensors, result = module.export.tensors, {}
    for layer, partner in match.pairs.items():
        for name, _ in partner.shapes:
            old, new = (f"{key}.{name}" if name else key for key in (layer, partner.key))
            result[keys.get(new, new)] = Renamed(tensors[old], module.export.sources.get(old))
    _check_keys({key: entry.tensor.shape for key, entry in result.items()}, shapes, like)
    counter = Renamed(Tensor.of(0), None)
    return {key: result.get(key, counter) for key in shapes if key in result or key.endswith(COUNTER)}


def _check(match: LayerMatch, like: PathLike) -> None:
    """Raise ExportFailure unless each layer has a single partner."""
    if match.is_complete:
        return
    parts = [("layers of the model without a partner", match.left), (f"layers of {like} without one", match.missing)]
    parts += [("layers that nothing tells apart: give --like-graph", layers) for layers in match.ambiguous]
    raise ExportFailure("\n".join(["the networks do not match, and nothing was written:", *_listed(parts)]))


def _listed(parts: Sequence[tuple[str, Sequence[KeyedLayer]]]) -> list[str]:
    lines = []
    for title, layers in parts:
        lines += [f"  {title}:"] if layers else []
        lines += [f"    {layer.shown}" for layer in layers[:MOST_SHOWN]]
        lines += [f"    and {len(layers) - MOST_SHOWN} more"] if len(layers) > MOST_SHOWN else []
    return lines


def _check_keys(
    given: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]], like: PathLike
) -> None:
    """Raise ExportFailure for keys that the file has and the network of the graph does not, or with other shapes."""
    from graphir.converters.pytorch.matching import COUNTER

    differing = {key: shape for key, shape in wanted.items() if given.get(key) != shape and not key.endswith(COUNTER)}
    differing |= {key: shape for key, shape in given.items() if key not in wanted}
    if differing:
        shown = ", ".join(f"{key} {list(shape)}" for key, shape in list(differing.items())[:MOST_SHOWN])
        raise ExportFailure(f"the keys of {like} are not those of the graph's parameters: {shown}")


def judges(
    renamed: Mapping[str, Renamed], graph: Graph, like: Graph | None, against: str, live: Live | None
) -> list[Judge]:
    """Return torch in a child process, which runs the other network with the weights that were written. Raises
    VerificationError without a graph of it."""
    if like is None:
        raise VerificationError("weights alone compute nothing: give a model of the other network by --like-graph")
    from graphir.converters.pytorch.exporting.exporter import export_copy
    from graphir.converters.pytorch.live.process import LiveTorch, live_python
    from graphir.passes.clone import clone

    other = clone(like)
    for key, entry in renamed.items():
        if key in other:
            other.set_tensor(other[key], entry.tensor)
    for mine, theirs in ((graph.inputs, other.inputs), (graph.outputs, other.outputs)):
        if len(mine) != len(theirs):
            raise VerificationError(f"the networks have {len(mine)} and {len(theirs)} inputs or outputs")
        for place, value in enumerate(theirs):
            other.rename(value, other.fresh_name(f"graphir_end_{place}"))
        for value, model in zip(theirs, mine, strict=True):
            if model.name in other:
                other.rename(other[model.name], other.fresh_name(f"{model.name}_inside"))
            other.rename(value, model.name)
    module = export_copy(other)
    python = live_python(live)
    return [Judge(partial(LiveTorch, module.text("the other network"), module, python, live))]


def recognizes(glance: Glance) -> bool:
    """Never: weights alone are no model."""
    return False


FORMAT = Format(
    name="state_dict",
    brand="PyTorch weights",
    title="PyTorch weights with the keys of another file",
    recognizes=recognizes,
    target=WeightsTarget(),
    live="PyTorch",
)
