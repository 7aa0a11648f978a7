"""MXNet's row in the table of formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import Description, Format, Judge, Manner, PathLike, Ready, Source
from graphir.converters.options import ModelOptions
from graphir.safety.collector import paused_collector
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.analysis.padding_fixes import Fixes
    from graphir.converters.glance import Glance
    from graphir.converters.kernel.live import Live
    from graphir.converters.mxnet.files.params import ParamsFile
    from graphir.converters.mxnet.memory.plan import Planned
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.graph import Graph
    from graphir.tensor import Tensor

NPY, NDARRAY_LIST = b"\x93NUMPY", (0x112).to_bytes(8, "little")
VERSION_NOT_STATED = 800
SYMBOL, PARAMS = "-symbol.json", "-0000.params"
ARRAYS = (".params", ".npz", ".npy")


@record
class MXNetModel(Source):
    """A symbol with its parameters, and the graph that was made of them."""

    opened: MXNetSource | None = None
    shapes: Mapping[str, object] | None = None

    def parameters(self) -> dict[str, Tensor]:
        """Return the parameters by the symbol's names; none where there is no file of them."""
        assert self.opened is not None
        return {} if self.opened.tensors is None else self.opened.plain_tensors(self.shapes)

    def planner(self, dtypes: Mapping[str, Any] | None = None) -> Planned:
        """Return the symbol as its file has it, with the sizes of its inputs and parameters."""
        from graphir.converters.mxnet.memory.entries import known_sizes
        from graphir.converters.mxnet.memory.plan import Planned
        from graphir.types import TensorType

        assert self.opened is not None
        weights = self.opened.tensors or {}
        shapes: dict[str, Any] = {name: tensor.shape for name, tensor in weights.items()}
        for value in self.graph.inputs:
            sizes = known_sizes(value.type) if isinstance(value.type, TensorType) else None
            if sizes is not None:
                shapes[value.name] = sizes
        shapes |= self.shapes or {}
        held = {node.name for node in self.opened.symbol.nodes}
        shapes = {name: shape for name, shape in shapes.items() if name in held}
        return Planned(self.opened.symbol, shapes, dtypes, weights)

    def judges(self, against: str, live: Live | None = None) -> list[Judge]:
        """Live MXNet and the numpy reference. Raises ImportFailure if there are no parameters."""
        from graphir.converters.mxnet.references import judges

        assert self.opened is not None
        return judges(self.opened.symbol, self.opened.plain_tensors(self.shapes), against, live)

    def missing(self) -> str:
        """Where parameters were looked for in vain."""
        assert self.opened is not None
        return "" if self.opened.tensors is not None else self.opened.no_parameters()


def model_of(opened: MXNetSource, options: ModelOptions, manner: Manner) -> MXNetModel:
    """Return an opened symbol, or the part of it that is chosen, as a source."""
    from graphir.converters.mxnet.part import graph_of, part_of

    if options.is_cut:
        opened, graph = part_of(opened, options, manner)
    else:
        graph = graph_of(opened, options, manner)
    name = " + ".join(Path(file).name for file in opened.files)
    description = Description(
        name, name, "MXNet", version_text(opened.symbol.version), container=opened.container,
        remark="" if opened.tensors is not None else "without parameters",
    )  # fmt: skip
    return MXNetModel("mxnet", graph, list(opened.files), description, opened.operators(), opened=opened,
                      shapes=options.shapes)  # fmt: skip


def open_model(path: PathLike, options: ModelOptions, manner: Manner) -> MXNetModel:
    """Return a symbol file, a prefix, a folder, a .params file, or the JSON text of a symbol."""
    with paused_collector():
        from graphir.converters.mxnet.source import open_source

        opened = open_source(path, options.params)
        manner.tell("building the graph")
        return model_of(opened, options, manner)


def outline_symbol(path: PathLike, options: ModelOptions) -> Graph:
    """Return the symbol's nodes as the file has them. A variable that is called like the only node that reads it, and
    is not its first operand, counts as a weight where there are no parameters."""
    from graphir.converters.kernel.outline import StatedNode, outline
    from graphir.converters.mxnet.files.records import VARIABLE
    from graphir.converters.mxnet.source import open_source

    opened = open_source(path, options.params)
    nodes, tensors = opened.symbol.nodes, opened.tensors or {}
    called_like_reader = {
        source for node in nodes for source, _ in node.inputs[1:] if nodes[source].name.startswith(f"{node.name}_")
    }
    variables = {index: node.name for index, node in enumerate(nodes) if node.op == VARIABLE}
    weights = {
        index: (name, tensors.get(name))
        for index, name in variables.items() if name in tensors or index in called_like_reader
    }  # fmt: skip
    stated = [
        StatedNode(index, node.name, node.source_op or node.op, node.inputs, tuple(node.attrs.items()))
        for index, node in enumerate(nodes) if node.op != VARIABLE
    ]  # fmt: skip
    inputs = {index: name for index, name in variables.items() if index not in weights}
    return outline(opened.name, stated, inputs, weights, opened.symbol.heads)


def version_text(version: int) -> str:
    """MXNet's number in a symbol file for people.

    >>> version_text(10901), version_text(800)
    ('1.9.1', '0.8.0 or older')
    """
    from graphir.converters.mxnet.schema.upgrade import version_name

    return "0.8.0 or older" if version == VERSION_NOT_STATED else version_name(version)


class MXNetTarget:
    """`prefix-symbol.json` and `prefix-0000.params`."""

    suffix = SYMBOL
    options: Mapping[str, tuple[type, ...]] = {}
    runs = False

    def named(self, options: Mapping[str, Any]) -> str:
        """`MXNet`."""
        return "MXNet"

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the symbol and its parameters."""
        return [path, os.fspath(path).removesuffix(SYMBOL) + PARAMS]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the symbol's records, counted by MXNet's operators."""
        from graphir.converters.mxnet import check_name, to_records, write
        from graphir.converters.mxnet.files.records import count_operators
        from graphir.converters.mxnet.schema.upgrade import RUNNING_VERSION, version_name

        check_name(path)
        symbol, params = to_records(graph)
        version = version_name(RUNNING_VERSION)
        judges = partial(written_judges, path)
        return Ready(count_operators(symbol), lambda: write(symbol, params, path), version, judges=judges)


def written_judges(path: PathLike, against: str, live: Live | None) -> list[Judge]:
    """Return MXNet's side of files that were written: they are what is to be proved."""
    from graphir.converters.mxnet.references import judges
    from graphir.converters.mxnet.source import open_source

    opened = open_source(Path(path))
    return judges(opened.symbol, opened.plain_tensors(), against, live)


def recognizes(glance: Glance) -> bool:
    """Symbols are JSON with nodes and heads, parameters lists of arrays; where there is no file, a prefix will do."""
    if glance.path.name.endswith(".params"):  # those of MXNet's first versions begin with nothing that tells them
        return not glance.is_folder
    if glance.mode is None:
        return _is_prefix(glance.path)
    if glance.head.startswith((NPY, NDARRAY_LIST)):
        return True
    if glance.archive:
        return all(name.endswith(".npy") for name in glance.archive)
    if not glance.json_start or not glance.has(b'"heads"'):
        return False
    if glance.json_start.startswith(b'"nodes"') and not glance.has(b'"format"'):
        return True  # what may be large is parsed by its reader only
    return {"nodes", "heads"} <= glance.document.keys()


def is_part(glance: Glance) -> bool:
    """Arrays, which belong to the symbol beside them; a prefix names both."""
    return glance.is_file and not glance.json_start


def _is_prefix(place: Path) -> bool:
    name = place.name
    try:
        return bool(name) and (os.path.exists(f"{place}{SYMBOL}") or any(_are_params(name, place.parent)))
    except (OSError, ValueError):
        return False  # no such folder, which is said where nobody takes it


def _are_params(prefix: str, folder: Path) -> Iterator[bool]:
    """For each file of a folder whether it holds parameters of that prefix."""
    return (file.startswith(f"{prefix}-") and file.endswith(".params") for file in os.listdir(folder))


def takes_text(text: str) -> bool:
    """Return whether a text is the JSON of a symbol."""
    from graphir.converters.mxnet.files.checkpoint import is_symbol_text

    return is_symbol_text(text)


def open_arrays(path: PathLike) -> ParamsFile:
    """Return a file of arrays, or that beside the symbol which a file, a folder or a prefix means."""
    from graphir.converters.mxnet.files.checkpoint import find_checkpoint
    from graphir.converters.mxnet.files.params import open_params
    from graphir.errors import ImportFailure

    place = Path(path)
    if place.suffix in ARRAYS or (place.is_file() and not _is_json(place)):
        return open_params(place)
    found = find_checkpoint(place).params
    if found is None:
        raise ImportFailure(f"{path}: there are no parameters beside the symbol")
    return open_params(found)


def _is_json(place: Path) -> bool:
    """Return whether the arrays lie in another file."""
    with open(place, "rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def capture_script() -> str:
    """Return a script that records inputs, outputs and layers where there is an old MXNet."""
    from graphir.converters.mxnet.live.capture import script

    return script()


def fixes() -> Fixes:
    """Return how padding is mended in the framework's terms."""
    from graphir.converters.mxnet.padding_fixes import MXNetFixes

    return MXNetFixes()


FORMAT = Format(
    name="mxnet",
    brand="MXNet",
    title="MXNet symbol and .params",
    recognizes=recognizes,
    source=open_model,
    target=MXNetTarget(),
    suffixes=(".json", *ARRAYS),
    takes=frozenset({"params", "keep_loss", "inputs", "outputs"}),
    takes_folders=True,
    is_part=is_part,
    takes_text=takes_text,
    arrays=open_arrays,
    capture_script=capture_script,
    fixes=fixes,
    outline=outline_symbol,
    live="MXNet",
)
