"""An MXNet model opened: its symbol's records, its parameters, and what was decided in finding them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.converters.mxnet.files.checkpoint import (
    arrays_beside,
    find_checkpoint,
    is_symbol_text,
    lone_parameters,
    match_structural_names,
)
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import open_params, read_params
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, count_operators
from graphir.decisions import DecisionKind
from graphir.errors import FormatError, GraphirError, ImportFailure, ShapeError, UnsupportedOpError
from graphir.graph import Decision, Graph, Value
from graphir.inference.given import parse_dims
from graphir.safety.arguments import PathLike
from graphir.safety.collector import paused_collector
from graphir.safety.foreign_text import listing, unicode_text
from graphir.safety.limits import bounded
from graphir.structure.record import mutable_record
from graphir.tensor import Tensor

if TYPE_CHECKING:
    from graphir.converters.mxnet.importing.importer import Importer

BESIDE_SHOWN = 5


@mutable_record
class MXNetSource:
    """A symbol and its parameters by plain name (None: there are none).

    `files` are those that were read, `container` the version of the parameter file (`V2`).
    """

    symbol: NNVMGraph
    tensors: dict[str, Tensor] | None
    name: str = "graph"
    files: list[str] = field(default_factory=list)
    container: str = ""
    notes: list[Decision] = field(default_factory=list)

    @bounded
    def to_graph(
        self,
        shapes: Mapping[str, object] | None = None,
        *,
        dtypes: Mapping[str, object] | None = None,
        keep_loss: bool = False,
        training: bool = False,
        keep_given: bool = False,
        simplified: bool = True,
        settled: bool = True,
        strict: bool = False,
    ) -> Graph:
        """Return the graph. Raises as `graphir.converters.mxnet.from_symbol` does.

        Without `settled` the sizes that nothing fixes stay unknown: none is named, none chosen to fit the weights.
        With `keep_given` inputs whose shapes are given stay, labels too, even if nothing depends on them.
        """
        from graphir.converters.mxnet.importing.importer import Choices, Importer
        from graphir.passes.pipelines import import_from_mxnet

        tensors, notes = self.tensors or None, list(self.notes)  # a symbol written alone has an empty file beside it
        if tensors is not None and self._is_structural(tensors):
            tensors = self._matched(tensors, shapes, notes)

        def imported(guess: bool) -> Importer:
            choices = Choices(
                keep_loss, keep_given, settle=settled, guess=guess, training=training, strict=strict
            )
            return Importer(self.symbol, tensors, shapes, choices, dtypes=dtypes, graph=Graph(self.name))

        with paused_collector():
            try:
                graph = _run(imported)
            except (ImportFailure, ShapeError) as error:
                self._note_fitting(error, tensors, shapes)
                raise
            graph.decisions[:0] = notes
            if simplified:
                import_from_mxnet().run(graph)
        return graph

    def _note_fitting(
        self, error: GraphirError, tensors: dict[str, Tensor] | None, shapes: Mapping[str, object] | None
    ) -> None:
        """Note on an error the shapes that the weights fit, where others were given."""
        from graphir.converters.mxnet.importing.importer import Choices, Importer

        if not tensors or not shapes or isinstance(error, UnsupportedOpError):
            return
        with suppress(GraphirError):
            graph = Importer(self.symbol, tensors, None, Choices(settle=True, guess=True), graph=Graph(self.name)).run()
            known = {value.name: value.shape for value in graph.inputs if value.shape and value.name in shapes}
            fits = " ".join(f"-i {name}:{','.join(map(str, shape))}" for name, shape in known.items())
            if any(shape != parse_dims(shapes[name]) for name, shape in known.items()):
                error.add_note(f"the weights fit {fits}")

    def operators(self) -> dict[str, int]:
        """Return how many nodes the symbol has of each operator."""
        return count_operators(self.symbol)

    def no_parameters(self) -> str:
        """Return what to say where elements are needed and no parameters were found."""
        symbol = Path(self.files[0]) if self.files else None
        if symbol is None:
            return "no parameters were given with the symbol"
        prefix = symbol.name.removesuffix(".json").removesuffix("-symbol")
        beside = [file.name for file in arrays_beside(symbol)]
        shown = listing(beside, BESIDE_SHOWN)
        what = f"its folder holds {shown}: name the right one with -p" if beside else "its folder holds no arrays"
        return f"beside {symbol.name} there is neither {prefix}-0000.params (of any epoch) nor {prefix}.params; {what}"

    def plain_tensors(self, shapes: Mapping[str, object] | None = None) -> dict[str, Tensor]:
        """Return the parameters by the symbol's names. Raises ImportFailure if there are none."""
        if self.tensors is None:
            raise ImportFailure(f"{self.name}: there are no parameters beside the symbol; name them with -p")
        if self._is_structural(self.tensors):
            return self._matched(self.tensors, shapes, [])
        return self.tensors

    def _variables(self) -> list[str]:
        return list(dict.fromkeys(node.name for node in self.symbol.nodes if node.op == VARIABLE))

    def _is_structural(self, tensors: Mapping[str, Tensor]) -> bool:
        """Return whether the file names parameters by gluon's structure (`features.0.weight`), not by the symbol's
        names."""
        variables = set(self._variables())
        return bool(tensors) and not any(name in variables for name in tensors) and any("." in name for name in tensors)

    def _matched(
        self, tensors: Mapping[str, Tensor], shapes: Mapping[str, object] | None, notes: list[Decision]
    ) -> dict[str, Tensor]:
        from graphir.converters.mxnet.importing.importer import Importer

        bare = Importer(self.symbol, None, shapes).run()
        known = {value.name: _only_fit(value, tensors) for value in bare.values}
        inputs = {value.name for value in bare.inputs}
        arguments = [name for name in self._variables() if name in bare and name not in inputs]
        names = match_structural_names(arguments, known, tensors)
        notes.append(
            Decision(
                DecisionKind.PARAMETER_NAMES,
                "-",
                f"the file names its {len(tensors)} parameters by gluon's structure; they were matched to the symbol's "
                "names by kind, shape and order (blocks that look alike are taken in order)",
            )
        )
        return {names[name]: tensor for name, tensor in tensors.items() if name in names}


def _run(imported: Callable[[bool], Importer]) -> Graph:
    """Return the graph. Where ranks that were only likely make the import fail, one without them; if it fails too, the
    first failure is the answer."""
    importer = imported(True)
    try:
        return importer.run()
    except GraphirError as error:
        if not importer.guessed:
            raise
        with suppress(GraphirError):
            return imported(False).run()
        raise error


def _only_fit(value: Value, tensors: Mapping[str, Tensor]) -> tuple[int, ...] | None:
    """Return the value's shape if it is known, or if what is known of it fits arrays of one shape only."""
    shape = value.shape
    if shape is None:
        return None
    fitting = {
        tensor.shape
        for tensor in tensors.values()
        if len(tensor.shape) == len(shape)
        and all(size == dim or not isinstance(dim, int) for size, dim in zip(tensor.shape, shape, strict=True))
    }
    if all(isinstance(dim, int) for dim in shape):
        return tuple(dim for dim in shape if isinstance(dim, int))
    return fitting.pop() if len(fitting) == 1 else None


def open_source(symbol: object, params: PathLike | Mapping[str, object] | None = None) -> MXNetSource:
    """Open a model.

    `symbol` is a path (a symbol file, a prefix, a folder, a .params file), JSON text, or an object with `tojson()`. For
    a path the parameters beside it are found as MXNet names them, the newest epoch, unless `params` says which.
    """
    if isinstance(symbol, str | os.PathLike) and not is_symbol_text(symbol):
        return _open_path(Path(symbol), params)
    return MXNetSource(read_symbol(symbol), None if params is None else plain_names(params))


def _open_path(path: Path, params: PathLike | Mapping[str, object] | None) -> MXNetSource:
    notes: list[Decision] = []
    if path.is_file() and not path.name.endswith(".params") and params is not None:
        symbol_path = path
    else:
        found = find_checkpoint(path)
        symbol_path = found.symbol
        if params is None and found.params is not None:
            params = found.params
            if found.others:
                others = ", ".join(other.name for other in found.others)
                notes.append(
                    Decision(DecisionKind.CHECKPOINT, found.params.name, f"the newest of several; not taken: {others}")
                )
    symbol = read_symbol(symbol_path)
    if params is None:
        params = _lone_parameters(symbol, symbol_path, notes)
    container = ""
    if isinstance(params, str | os.PathLike):
        opened = open_params(params)
        params, container, file = opened.tensors(), opened.container, [str(params)]
    else:
        file = []
    source = MXNetSource(symbol, None if params is None else plain_names(params))
    source.container = container
    source.name = unicode_text(symbol_path.name.removesuffix(".json").removesuffix("-symbol")) or "graph"
    source.files = [str(symbol_path), *file]
    source.notes = notes
    return source


def _lone_parameters(symbol: NNVMGraph, path: Path, notes: list[Decision]) -> Path | None:
    """Parameters whose file has a name of its own: the only ones beside the only symbol, and for its variables."""
    lone = lone_parameters(path)
    if lone is None:
        return None
    try:
        held = {entry.bare_name for entry in open_params(lone).entries}
    except FormatError:
        return None  # nobody asked for this file, and what it is it need not be
    if not any(node.op == VARIABLE and node.name in held for node in symbol.nodes):
        return None
    notes.append(
        Decision(
            DecisionKind.CHECKPOINT,
            lone.name,
            "taken as the only .params beside the symbol, whose names for them it has",
        )
    )
    return lone


def plain_names(params: PathLike | Mapping[str, object]) -> dict[str, Tensor]:
    """Parameters by name without `arg:` and `aux:`. Values may be arrays, NDArrays or Tensors."""
    if isinstance(params, Mapping):
        named = {str(key): _as_tensor(value) for key, value in params.items()}
    else:
        named = dict(read_params(params))
    return {key[4:] if key.startswith(("arg:", "aux:")) else key: tensor for key, tensor in named.items()}


def _as_tensor(value: object) -> Tensor:
    asnumpy = getattr(value, "asnumpy", None)
    return Tensor.of(asnumpy() if asnumpy is not None else value)
