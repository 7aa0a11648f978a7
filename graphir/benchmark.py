"""A model timed in onnxruntime, or two in turns: how long a run takes on each provider with each batch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.detection import detect_format
from graphir.converters.opening import check_taken, read_model
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS
from graphir.errors import ArgumentError, GraphirError, ImportFailure, VerificationError
from graphir.graph import Graph
from graphir.inputs.draws import make_feeds
from graphir.inputs.files import chosen, read_feeds
from graphir.inputs.sizes import batch_sizes
from graphir.report.benchmark import Benched, BenchmarkReport, BenchmarkRow, ProviderRatio, short
from graphir.runtime.benchmark import measure
from graphir.runtime.fallbacks import describe_fallbacks
from graphir.runtime.machine import load, machine_facts
from graphir.runtime.prepared import Prepared
from graphir.runtime.providers import provider_names
from graphir.runtime.session import OnnxSession
from graphir.runtime.timing import Latency, ratio_of
from graphir.safety.arguments import PathLike, expect, expect_items, expect_path, short_forms, with_stated
from graphir.safety.foreign_text import one_line
from graphir.safety.limits import Stated, bounded
from graphir.safety.memory import memory_for
from graphir.structure.record import record
from graphir.types import format_shape

# Threads of a session that has just run wait busily for the next run; those of another model would lose cores to them.
IN_TURNS = {"session.force_spinning_stop": "1"}
LETTERS = "AB"


@record
class BenchOptions:
    """How models are timed, the same for the library and the command; see `bench`. Raises ArgumentError for what does
    not say how."""

    providers: Sequence[str] = ("cpu",)
    batches: Sequence[int] = ()
    seconds: float = 10.0
    warm_up: int | None = None
    threads: int = 0
    seed: int = 0
    feeds: Mapping[str, Any] | PathLike | None = None
    io_binding: bool | None = None
    tf32: bool = False
    progress: Callable[[str], None] = lambda stage: None

    def __post_init__(self) -> None:
        if not expect_items(self.providers, str, "providers", "the name of a provider"):
            raise ArgumentError("providers: expected at least one, found none")
        for batch in expect_items(self.batches, int, "batches", "a number of items"):
            if isinstance(batch, bool) or batch < 1:
                raise ArgumentError(f"batches: expected numbers of items, 1 or more, found {batch}")
        if not 0 < expect(self.seconds, (int, float), "seconds") < float("inf"):
            raise ArgumentError(f"seconds: expected a finite number above 0, found {self.seconds}")
        for name in ("threads", "seed"):
            if expect(getattr(self, name), int, name) < 0:
                raise ArgumentError(f"{name}: expected a number that is 0 or more, found {getattr(self, name)}")
        if self.warm_up is not None and expect(self.warm_up, int, "warm_up") < 0:
            raise ArgumentError(f"warm_up: expected a number that is 0 or more, found {self.warm_up}")
        if self.feeds is not None and not isinstance(self.feeds, Mapping):
            expect_path(self.feeds, "feeds (if not a mapping of arrays by name)")
        if self.feeds is not None and self.batches:
            raise ArgumentError("feeds have their own batch: leave the batches out, or the feeds")


_SHORT_FORMS = {
    **{name: ("timing", name) for name in ("warm_up", "threads", "seed", "io_binding", "tf32")},
    **{name: ("model_options", name) for name in ("dtypes", "format", "signature", "inputs", "outputs")},
    **{f"other_{name}": ("other_options", name) for name in ("params", "shapes", "format", "signature")},
}
_KINDS = {"timing": BenchOptions, "model_options": ModelOptions, "other_options": ModelOptions}


@bounded
@short_forms(_SHORT_FORMS, _KINDS)
def bench(
    model: Graph | PathLike,
    other: Graph | PathLike | None = None,
    *,
    providers: Sequence[str] | str = ("cpu",),
    batches: Sequence[int] = (),
    seconds: float = 10.0,
    feeds: Mapping[str, Any] | PathLike | None = None,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    timing: BenchOptions | None = None,
    model_options: ModelOptions | None = None,
    other_options: ModelOptions | None = None,
    progress: Callable[[str], None] | None = None,
    limits: Stated = None,
) -> BenchmarkReport:
    """Time a model in onnxruntime; with `other` two models in turns, and how much longer the other takes.

    A model is a Graph or a path to anything that `load` reads; what is no ONNX is converted first. Each of `providers`
    (`cpu`, `cuda`, onnxruntime's own names) is measured by itself with each of `batches`, which is put where the inputs
    have an open first size; without any it is 1. `seconds` is the time for all of it together, after the models are
    opened: the least number of runs (two to warm up, three that count, of each) is made whatever it takes. Inputs are
    `feeds` (by name, or an .npz) or drawn from a seed.

    `params` and `shapes` are as for `load`. What else can be chosen about the model stands in `model_options`, and
    about the other one in `other_options`; without shapes of its own it has the same. The rest about the timing stands
    in `timing`: `warm_up` is the number of runs that come before those that count, after the first (None takes a tenth
    of the time); `threads` are onnxruntime's within an operator, 0 leaves them to it; `seed` draws the inputs and
    orders the turns and the resamples of the ratio's interval; with `io_binding` inputs and outputs stay on the device
    (None: where that is no CPU); `tf32` is for CUDA.

    Raises ProviderError for a provider that was asked for and is absent, VerificationError for inputs that cannot be
    made or do not fit, ArgumentError (also for what both a keyword and an object of options state), and what `load` and
    `save` raise. A field of these objects may be a keyword of the call as well: `threads=2`, `other_params=...`.
    """
    how = with_stated(
        timing, BenchOptions, "timing", providers=(providers,) if isinstance(providers, str) else providers,
        batches=batches, seconds=seconds, feeds=feeds,
    )  # fmt: skip
    how = how if progress is None else replace(how, progress=progress)
    chosen = with_stated(model_options, ModelOptions, "model_options", params=params, shapes=shapes)
    models = [(model, chosen)]
    if other is not None:
        chosen_options = with_stated(other_options, ModelOptions, "other_options")
        if chosen_options.shapes is None:
            chosen_options = replace(chosen_options, shapes=chosen.shapes)
        models.append((other, chosen_options))
    return bench_models(models, how)


def bench_models(models: Sequence[tuple[Any, ModelOptions]], how: BenchOptions) -> BenchmarkReport:
    """Time one model or two, each with what is chosen of it; see `bench`."""
    for provider in how.providers:
        provider_names(provider)  # one that is missing is refused before anything is read
    facts = machine_facts(gpu=any(provider.lower() != "cpu" for provider in how.providers))
    with memory_for("the benchmark"), tempfile.TemporaryDirectory(prefix="graphir-") as folder:
        opened = [
            _open_contestant(model, options, Path(folder, f"{LETTERS[index]}.onnx"), how)
            for index, (model, options) in enumerate(models)
        ]
        bench_run = _Bench(opened, how)
        for provider in how.providers:
            bench_run.on(provider)
    return BenchmarkReport(
        [contestant.about for contestant in opened], bench_run.rows, bench_run.pairs, {**facts, "load_after": load()},
        {"providers": list(how.providers), "batches": list(how.batches), "seconds": how.seconds,
         "warm_up": how.warm_up, "threads": how.threads, "seed": how.seed, "tf32": how.tf32},
        list(dict.fromkeys(bench_run.notes)),
    )  # fmt: skip


@record
class Contestant:
    """A model as a file that onnxruntime opens, and its graph; without one (None), `refusal` says why it has none."""

    about: Benched
    path: PathLike
    graph: Graph | None
    options: ModelOptions
    refusal: str = ""


def _open_contestant(model: Any, options: ModelOptions, target: Path, how: BenchOptions) -> Contestant:
    """Open a model; where onnxruntime is to run it, `target`, named by its letter, becomes its file."""
    started, letter = time.perf_counter(), target.stem
    if isinstance(model, Graph):
        how.progress(f"writing {model.name} as ONNX")
        _save(model, target)
        about = Benched(letter, model.name or "a graph", "a graph", time.perf_counter() - started)
        return Contestant(about, target, model, options)
    name = options.format or detect_format(expect_path(model, "the model (if not a Graph)"))
    row = FORMATS.get(name)
    if row is None:
        raise ImportFailure(f"unknown format {name!r}; expected one of {', '.join(FORMATS)}")
    check_taken(model, row, options)
    if row.check_run is not None:
        row.check_run(model)
        graph, refusal = _graph_of(model, replace(options, format=name))
        return Contestant(Benched(letter, Path(model).name, row.brand, None), model, graph, options, refusal)
    how.progress(f"converting {model}")
    source = read_model(model, replace(options, format=name))
    _save(source.graph, target)
    described = source.description
    about = Benched(letter, described.place, described.made_by, time.perf_counter() - started)
    return Contestant(about, target, source.graph, options)


def _save(graph: Graph, path: Path) -> None:
    from graphir.converters.onnx import save

    save(graph, path, weights="auto")


def _graph_of(path: PathLike, options: ModelOptions) -> tuple[Graph | None, str]:
    """Return a file that onnxruntime runs need not be one that becomes a graph; what is stated of its inputs must
    fit."""
    try:
        return read_model(path, options).graph, ""
    except GraphirError as error:
        if options.shapes or options.dtypes:
            raise
        return None, str(error).splitlines()[0]


@record
class _Opened:
    """A model in onnxruntime, and the seconds that this took."""

    contestant: Contestant
    session: OnnxSession
    seconds: float


@record
class _Bench:
    """Rows, pairs and notes, as they come."""

    contestants: Sequence[Contestant]
    how: BenchOptions
    rows: list[BenchmarkRow] = field(default_factory=list)
    pairs: list[ProviderRatio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def on(self, provider: str) -> None:
        """Measure all batches on a provider."""
        self.how.progress(f"opening on {short(provider)}")
        opened = [self._session(contestant, provider) for contestant in self.contestants]
        for batch in self.how.batches or (None,):
            self._measure(provider, batch, opened)
        for item in opened:
            self.notes.extend(describe_fallbacks(item.session, item.contestant.path, [provider]))

    def _session(self, contestant: Contestant, provider: str) -> _Opened:
        started = time.perf_counter()
        session = OnnxSession(
            contestant.path, providers=[provider], threads=self.how.threads,
            tf32=self.how.tf32, entries=IN_TURNS if len(self.contestants) > 1 else {},
        )  # fmt: skip
        return _Opened(contestant, session, time.perf_counter() - started)

    def _measure(self, provider: str, batch: int | None, opened: Sequence[_Opened]) -> None:
        of = "" if batch is None else f", batch {batch}"
        self.how.progress(f"timing on {short(provider)}{of}")
        fed = self._feeds(batch, opened)
        calls = [
            model.session.prepared(feeds, bound=self.how.io_binding)
            for model, (feeds, _) in zip(opened, fed, strict=True)
        ]
        cells = len(self.how.providers) * max(1, len(self.how.batches))
        placed: list[dict[str, int]] = []
        with _name_failure(provider, batch, {} if self.how.feeds is not None else _types(fed[0][0])):
            samples = measure(
                calls, seconds=self.how.seconds / cells, seed=self.how.seed, warm_up=self.how.warm_up,
                before_timing=lambda: placed.extend(model.session.placement() for model in opened),
            )  # fmt: skip
            self._look_at(calls, opened)
        for index, model in enumerate(opened):
            feeds, items = fed[index]
            row = BenchmarkRow(
                model.contestant.about.letter, provider, items, _types(feeds), model.session.providers, placed[index],
                calls[index].bound, model.seconds, samples.first[index], samples.warm_ups,
                Latency.of(samples.timed[index]),
            )  # fmt: skip
            self.rows.append(row)
        if len(opened) > 1:
            first, second = samples.timed
            self.pairs.append(ProviderRatio(provider, self.rows[-1].batch, ratio_of(first, second, self.how.seed)))

    def _feeds(self, batch: int | None, opened: Sequence[_Opened]) -> list[tuple[dict[str, Array], int | None]]:
        """Return each model's feeds and batch. Inputs of the same name and type are fed with the same numbers."""
        fed: list[tuple[dict[str, Array], int | None]] = []
        for model in opened:
            feeds, items = self._own_feeds(batch, model)
            for before, _ in fed:
                same = {name for name, array in feeds.items() if _type_of(before.get(name)) == _type_of(array)}
                feeds |= {name: before[name] for name in same}
            fed.append((feeds, items))
        sizes = [sorted(array.size for array in feeds.values()) for feeds, _ in fed]
        if sizes[1:] and sizes[0] != sizes[1]:
            self.notes.append("the models' inputs differ in their sizes: the ratio compares different work")
        return fed

    def _own_feeds(self, batch: int | None, model: _Opened) -> tuple[dict[str, Array], int | None]:
        session, contestant = model.session, model.contestant
        if self.how.feeds is not None:
            return chosen(read_feeds(self.how.feeds), list(session.inputs)), None
        graph = contestant.graph
        if graph is None:
            self.notes.append(
                f"{contestant.about.name} is run but not read by graphir ({contestant.refusal}): its inputs are drawn "
                "without a look at what it does with them"
            )
            graph = _inputs_alone(session)
        sizes = batch_sizes(graph, 1 if batch is None else batch)
        if batch is not None and not sizes and not _has_batch(graph, batch):
            raise VerificationError(_no_batch(batch, contestant.about.name, graph))
        drawn = make_feeds(graph, seed=self.how.seed, sizes=sizes)
        return {name: drawn[name] for name in session.inputs}, batch or (1 if sizes else None)

    def _look_at(self, calls: Sequence[Prepared], opened: Sequence[_Opened]) -> None:
        """Outputs that are no numbers may come from numbers that cost another time."""
        for call, model in zip(calls, opened, strict=True):
            names = [
                name
                for name, array in zip(model.session.outputs, call.outputs(), strict=True)
                if isinstance(array, np.ndarray) and array.dtype.kind == "f" and not np.isfinite(array).all()
            ]
            if names:
                about = model.contestant.about
                self.notes.append(f"{about.letter} gives infinities or NaN on these inputs ({', '.join(names)})")


@contextmanager
def _name_failure(provider: str, batch: int | None, drawn: Mapping[str, str]) -> Iterator[None]:
    """Say of a run that fails where it was made, and on which inputs if they were drawn."""
    try:
        yield
    except VerificationError as error:
        error.add_note(f"while timing on {short(provider)}" + ("" if batch is None else f" with batch {batch}"))
        if drawn:
            shown = ", ".join(f"{one_line(name)} {type_}" for name, type_ in drawn.items())
            error.add_note(f"open sizes were chosen, the first model was fed with {shown}: state them with -i")
        raise


def _inputs_alone(session: OnnxSession) -> Graph:
    """Return a graph of a session's inputs and nothing else."""
    from graphir.types import DType, TensorType, parse_shape

    graph = Graph("inputs")
    for name, shape in session.inputs.items():
        dtype = session.input_dtypes[name]
        if dtype is None:
            raise VerificationError(f"input {name} is no tensor: nothing can be drawn for it")
        open_sizes = parse_shape(",".join(str(size) if isinstance(size, int) else "?" for size in shape))
        graph.add_input(name, TensorType(DType.of(dtype), open_sizes))
    return graph


def _no_batch(batch: int, name: str, graph: Graph) -> str:
    """Return why a model cannot run in batches, and which of its inputs could be opened."""
    shown = ", ".join(f"{value.name} {value.type}" for value in graph.inputs) or "none"
    advice = "leave the batches out"
    first = next((value for value in graph.inputs if value.shape), None)
    if first is not None:
        opened = ",".join(["N", *map(str, (first.shape or ())[1:])])
        advice += f", or open one where the model allows it, as in -i {first.name}:{opened}"
    return f"batch {batch}: no input of {name} has an open first size (inputs: {shown}); {advice}"


def _has_batch(graph: Graph, batch: int) -> bool:
    return bool(graph.inputs) and all(value.shape is not None and value.shape[:1] == (batch,) for value in graph.inputs)


def _types(feeds: Mapping[str, Array]) -> dict[str, str]:
    return {name: f"{array.dtype}{format_shape(array.shape)}" for name, array in feeds.items()}


def _type_of(array: Array | None) -> tuple[Any, ...] | None:
    return None if array is None else (array.dtype, array.shape)
