"""What a format is to everybody else: one row of the table, a source that opens its models, a target that writes them.

Nothing outside a format's folder compares names of formats or knows its classes; what differs among them is said here.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from graphir.converters.options import ModelOptions
from graphir.structure.record import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphir.analysis.padding_fixes import Fixes
    from graphir.converters.glance import Glance
    from graphir.converters.kernel.live import Live
    from graphir.graph import Graph
    from graphir.tensor import Tensor
    from graphir.types import DType

PathLike = str | os.PathLike[str]


@record
class Description:
    """What a model says of itself. `name` is what it is called in one line, `place` the same by the names of its files;
    no `framework` means that its graph's metadata tell. `container` is the version of the files that hold its weights,
    `remark` what is to be said beside (`without parameters`)."""

    name: str
    place: str
    framework: str = ""
    version: str = ""
    producer: str = ""
    container: str = ""
    remark: str = ""

    @property
    def made_by(self) -> str:
        """Framework and version in words: `MXNet 1.9.1`."""
        return f"{self.framework} {self.version}".rstrip()


class Reference(ABC):
    """What computes a model for a comparison, whatever is compared with it.

    `label` names it in a report, `outputs` are the model's, in order. A candidate may lack those that it `may_lack`:
    losses, which have no meaning at inference. One that is `recorded` has answers for its own inputs only, one that is
    `quantized` computes with 8-bit numbers, and one that `insists` was requested: no other may replace it. Where it
    `computes_all`, values inside cost nothing beside the outputs. `keys` are those of outputs that are maps or
    sequences.
    """

    label: str
    outputs: Sequence[str]
    may_lack: frozenset[str] = frozenset()
    recorded = False
    quantized = False
    insists = False
    computes_all = False
    keys: Mapping[str, tuple[object, ...]] = MappingProxyType({})

    @abstractmethod
    def values(self) -> list[str]:
        """Return the names of all values that `stream` can give, in the order of computation."""

    @abstractmethod
    def stream(self, feeds: Mapping[str, NDArray[Any]], names: Iterable[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the named values, each once and as soon as it is computed, so that few are in memory at a time."""

    def slices(self, names: Sequence[str], feeds: Mapping[str, NDArray[Any]], most: int) -> list[list[str]] | None:
        """Return the names in parts of at most so many bytes, if a run for each part costs less than holding more."""
        return None

    def run(
        self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the model's outputs in order, or the named values."""
        names = list(self.outputs if outputs is None else outputs)
        results = dict(self.stream(feeds, names))
        return {name: results[name] for name in names}

    def close(self) -> None:  # noqa: B027
        """End processes and remove files; nothing to do for what only holds arrays."""


@record
class Judge:
    """One of those that can compute a model, in the order in which they are asked.

    `reference` makes it; without one the graph that was imported stands for the model, and with a `note` that says so
    the import counts as not proven. Where it fails in one of the
    ways of `gives_way` the next judge is asked, and the report says the text there (with `{error}`), if there is one.
    `note` is what a report says of a comparison with this judge.
    """

    reference: Callable[[], Reference] | None = None
    gives_way: Mapping[type[Exception], str] = field(default_factory=dict)
    note: str = ""


@record
class Source:
    """A model that was opened: its graph, the files that were read, and how many nodes it has of each of its own
    operators, those of subgraphs included.

    `folded` are those of its weights, by name, that are part of others in the graph; `runnable` is the file that
    onnxruntime runs as it is, if this is one. `is_graph` says that the file states the graph itself, so that nothing
    was translated.
    """

    format: str
    graph: Graph
    files: Sequence[str]
    description: Description
    operators: Mapping[str, int]
    folded: Mapping[str, Tensor] = field(default_factory=dict)
    runnable: Path | None = None
    is_graph: bool = False

    def parameters(self) -> dict[str, Tensor]:
        """Return the weights that it holds, by its own names."""
        from graphir.analysis.contents import weights

        return weights(self.graph, used=False)

    def cut(self, outputs: Sequence[str] | None, inputs: Sequence[str], given: ModelOptions) -> Source:
        """Return the part of it that computes these outputs from these inputs, as a model; see `parts.cut_graph`.

        Who can compute the whole model cannot compute the part: a format that has a way to overrides this."""
        from graphir.analysis.contents import count_operators
        from graphir.converters.parts import cut_graph

        graph = cut_graph(self.graph, outputs, inputs, given)
        return Source(
            self.format, graph, self.files, self.description, count_operators(graph), is_graph=self.is_graph
        )

    def judges(self, against: str, live: Live | None = None) -> list[Judge]:
        """Return who can compute it, other than its graph in onnxruntime. `against` is `auto`, `live` or `reference`,
        `live` says where a live framework runs.

        A format that has nobody leaves this as it is: its import then counts as not proven, unless the file states
        the graph itself. Raises VerificationError for a live framework that was asked for and is not there.
        """
        if self.is_graph:
            return []
        return [Judge(note=f"the imported graph was the reference: nothing else computes {self.format} models")]

    def planner(self, dtypes: Mapping[str, Any] | None = None) -> Any | None:
        """Return its own records with their sizes, for the memory planner of its framework; None where that has none.

        Raises ShapeError for sizes that are not known.
        """
        return None

    def missing(self) -> str:
        """Return what to say where elements of parameters are needed and none were found, "" if there are any."""
        return ""


@record
class Ready:
    """What will be written: `operators` counts the target's nodes, `version` is the release or opset in words, `write`
    writes and gives the files. `libraries` are the versions of what else the result depends on, for the record.

    `judges` gives who can compute what was written, other than onnxruntime; none where it is to. `graph` is what was
    written, where the files cannot be read as a graph again, `proven` what that is held against where it has other
    outputs than the source.
    """

    operators: Mapping[str, int]
    write: Callable[[], list[Path]]
    version: str = ""
    opset: int | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    judges: Callable[[str, Live | None], list[Judge]] = lambda against, live: []
    graph: Graph | None = None
    proven: Graph | None = None


class Target(Protocol):
    """How a format's files are written. `suffix` is what their names end in, `options` are what `save` takes, with the
    types of each; `runs` says whether onnxruntime runs the files as they are."""

    suffix: str
    options: Mapping[str, tuple[type, ...]]
    runs: bool

    def named(self, options: Mapping[str, Any]) -> str:
        """Return what these options ask for, in words: `ONNX opset 17`."""
        ...

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the files that are written to `path` whatever the model, besides those for large weights."""
        ...

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the graph in the target's terms; nothing is written. Raises ExportFailure or UnsupportedOpError."""
        ...


class StoredArray(Protocol):
    """One array of a file; `bare_name` is its name without what says its role, `storage` how it is laid out."""

    @property
    def name(self) -> str: ...
    @property
    def bare_name(self) -> str: ...
    @property
    def tensor(self) -> Tensor: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def sparse(self) -> object | None: ...
    @property
    def storage(self) -> str: ...


class StoredArrays(Protocol):
    """A file of arrays. `container` is its kind, `empty` are the names of arrays that hold nothing, `trailing` counts
    bytes behind the last one; `named` says whether the file has names for them."""

    @property
    def path(self) -> str: ...
    @property
    def entries(self) -> Sequence[StoredArray]: ...
    @property
    def container(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def empty(self) -> Sequence[str]: ...
    @property
    def trailing(self) -> int: ...
    @property
    def named(self) -> bool: ...


@record
class Manner:
    """How a model is read: without `simplified` its graph has a value for each of the model's own where the format can
    tell, without `settled` open sizes stay unknown. `tell` is told what is being done."""

    simplified: bool = True
    settled: bool = True
    tell: Callable[[str], None] = lambda stage: None


def _whole(glance: Glance) -> bool:
    return False


@record
class Format:
    """A row of the table: a format's name for options, what people call it (`MXNet`), and what its models are
    (`MXNet symbol and .params`).

    Reading: `recognizes` looks at what is there; where nobody recognizes it, `suffixes` decide, and a folder is taken
    by the row that `takes_folders`. `is_part` tells of what is recognized whether it is a part of a model only (its
    weights), which is found from the model's own file. `takes_text` says whether a text is a model itself, not a name
    of one, `takes` which of the options that not every model has it knows (`inputs` and `outputs`: it cuts its models
    itself), `origin` what a graph's metadata tell of a model of this format that it came from. Where onnxruntime runs
    the files as they are, `check_run` refuses those that it must not.
    `other_json` are members by which JSON is known that belongs to the framework but is no such model, and what to say
    then; `arrays` opens files that hold arrays only, `capture_script` gives one that records a model in an old
    environment, `fixes` says how padding is mended in the framework's terms, `live` names the framework that computes
    models in an interpreter of its own, if one does. `outline` gives the graph of what the files state, each node an
    operator of the source, for pictures of models that cannot be imported. A row whose files have little that tells
    them is `asked_last`.
    """

    name: str
    brand: str
    title: str
    recognizes: Callable[[Glance], bool]
    source: Callable[[PathLike, ModelOptions, Manner], Source] | None = None
    target: Target | None = None
    suffixes: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()
    takes_folders: bool = False
    is_part: Callable[[Glance], bool] = _whole
    takes_text: Callable[[str], bool] = lambda text: False
    check_run: Callable[[PathLike], None] | None = None
    origin: Callable[[Mapping[str, str]], str] = lambda metadata: ""
    other_json: Mapping[str, str] = field(default_factory=dict)
    arrays: Callable[[PathLike], StoredArrays] | None = None
    capture_script: Callable[[], str] | None = None
    fixes: Callable[[], Fixes] | None = None
    outline: Callable[[PathLike, ModelOptions], Graph] | None = None
    live: str = ""
    asked_last: bool = False

    @property
    def runs(self) -> bool:
        """Whether onnxruntime runs the files as they are."""
        return self.check_run is not None
