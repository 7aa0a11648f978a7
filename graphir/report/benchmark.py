"""What came out of a benchmark: records, and the same as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphir.runtime.timing import Latency, Ratio
from graphir.safety.foreign_text import in_one_line, one_line
from graphir.structure.look import of_width
from graphir.structure.printed import Printed
from graphir.structure.record import record

from .text import WIDTH, number, table, wrapped

# Columns that a narrow terminal goes without, the first first.
GOES_FIRST = ("min", "p90", "mean", "runs", "p99")
NOTHING_STATED = "as many as onnxruntime chooses"


@record
class Benched:
    """One of the models: its letter in tables, what it is called and was made by, and the seconds that it took to read
    it and to write it as ONNX (None where onnxruntime opens the file as it is)."""

    letter: str
    name: str
    made_by: str
    read_seconds: float | None


@record
class BenchmarkRow:
    """One model on one provider with one batch.

    `provider` is the requested provider, `providers` those that the session has and `nodes` how many nodes it
    placed on each. `start_seconds` is what onnxruntime took to open the model, `first_seconds` the first run after
    that, of this batch. `batch` is None where the model's inputs have no open size to put it; `inputs` are the types
    that the model was fed with. `bound` says that inputs and outputs stayed on the device.
    """

    letter: str
    provider: str
    batch: int | None
    inputs: Mapping[str, str]
    providers: tuple[str, ...]
    nodes: Mapping[str, int]
    bound: bool
    start_seconds: float
    first_seconds: float
    warm_ups: int
    latency: Latency

    @property
    def runs_per_second(self) -> float:
        """Return the runs per second of consecutive runs, one over the mean latency."""
        return 1 / self.latency.mean

    @property
    def items_per_second(self) -> float | None:
        """Return runs per second times the batch; None if the batch is unknown."""
        return None if self.batch is None else self.batch * self.runs_per_second


@record
class ProviderRatio:
    """The second model's times beside the first's, on one provider with one batch."""

    provider: str
    batch: int | None
    ratio: Ratio


@record
class BenchmarkReport(Printed):
    """Models timed: `rows` by provider, batch and model; `pairs` where there are two models. `notes` say what the
    numbers do not, `machine` is as `graphir.runtime.machine` gives it, with the load before and after."""

    models: Sequence[Benched]
    rows: Sequence[BenchmarkRow]
    pairs: Sequence[ProviderRatio]
    machine: Mapping[str, Any]
    options: Mapping[str, Any]
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data; times in seconds."""
        return {
            "models": [
                {"letter": model.letter, "name": model.name, "made_by": model.made_by,
                 "read_seconds": model.read_seconds}
                for model in self.models
            ],
            "rows": [_row_json(row) for row in self.rows],
            "ratios": [_pair_json(pair) for pair in self.pairs],
            "machine": dict(self.machine),
            "options": dict(self.options),
            "notes": list(self.notes),
        }  # fmt: skip

    def to_text(self, width: int = WIDTH) -> str:
        """Return the tables in at most `width` characters per line, if omitting columns suffices."""
        with of_width(None):  # it fits by leaving columns out
            times = _latencies(self, width)
        parts = [*_heading(self, width), "", times]
        if self.pairs:
            parts += ["", *(wrapped(_pair_text(pair), width=width) for pair in self.pairs)]
        parts += ["", _starts(self, width)]
        if self.notes:
            parts += ["", *(wrapped(f"note: {note}", width=width) for note in self.notes)]
        return "\n".join(parts)


def _heading(report: BenchmarkReport, width: int) -> list[str]:
    facts, options = report.machine, report.options
    models = [f"{model.letter}  {one_line(model.name)} ({one_line(model.made_by)})" for model in report.models]
    cores = f"{facts['usable_cores']} of {facts['cores']} cores"
    loads = f", load {facts['load']} before and {facts['load_after']} after" if facts["load"] is not None else ""
    devices = "".join(f", {name}" for name in facts.get("gpus", ()))
    lines = [
        *models,
        f"machine  {facts['cpu']}, {cores}{loads}{devices}",
        f"with  onnxruntime {facts['onnxruntime']}, Python {facts['python']}, threads: "
        f"{options['threads'] or NOTHING_STATED}",
    ]
    seen = dict.fromkeys((row.letter, row.batch, tuple(row.inputs.items())) for row in report.rows)
    for letter, batch, inputs in seen:
        shown = ", ".join(f"{in_one_line(name)} {type_}" for name, type_ in inputs) or "none"
        lines.append(f"inputs  {letter}{'' if batch is None else f', batch {batch}'}: {shown}")
    return [wrapped(line, first="", rest="    ", width=width) for line in lines]


def _latencies(report: BenchmarkReport, width: int) -> str:
    """Return the table of milliseconds per run and of items per second."""
    header = ["model", "provider", "batch", "runs", "min", "p50", "p90", "p99", "mean", "per s"]
    rows = [
        [row.letter, short(row.provider), "-" if row.batch is None else str(row.batch), str(row.latency.runs),
         *(_ms(getattr(row.latency, name)) for name in ("least", "p50", "p90", "p99", "mean")),
         _rate(row.items_per_second or row.runs_per_second)]
        for row in report.rows
    ]  # fmt: skip
    shown = table(header, rows, right=range(2, 10))
    for name in GOES_FIRST:
        if max(map(len, shown.splitlines())) <= width:
            break
        column = header.index(name)
        for cells in (header, *rows):
            del cells[column]
        shown = table(header, rows, right=range(2, len(header)))
    what = "items (of the batch)" if any(row.batch is not None for row in report.rows) else "runs"
    unknown = "; runs where there is no batch" if len({row.batch is None for row in report.rows}) > 1 else ""
    return wrapped(f"ms a run; per s: {what}, one run after the other{unknown}", first="", rest="", width=width) + (
        "\n" + shown
    )


def _starts(report: BenchmarkReport, width: int) -> str:
    """Return the table of seconds to convert, open and run once, which the latencies exclude."""
    read = {model.letter: model.read_seconds for model in report.models}
    rows = []
    for row in report.rows:
        converted = read[row.letter]
        nodes = ", ".join(f"{count} on {short(name)}" for name, count in row.nodes.items()) or "none"
        rows.append(
            (row.letter, short(row.provider), "-" if row.batch is None else row.batch,
             "-" if converted is None else _ms(converted), _ms(row.start_seconds), _ms(row.first_seconds), nodes)
        )  # fmt: skip
    title = "not in the times above, ms: reading and writing as ONNX, opening in onnxruntime, the first run"
    header = ("model", "provider", "batch", "read", "open", "first", "nodes")
    return wrapped(title, first="", rest="", width=width) + "\n" + table(header, rows, right=(2, 3, 4, 5))


def _pair_text(pair: ProviderRatio) -> str:
    ratio = pair.ratio
    where = short(pair.provider) + ("" if pair.batch is None else f", batch {pair.batch}")
    if ratio.low is None or ratio.high is None:
        said = f"no interval: {ratio.rounds} rounds are too few"
    else:
        verdict = ratio.verdict if ratio.verdict == "no difference shown" else f"B is {ratio.verdict}"
        said = f"{ratio.level:.0%} interval {ratio.low:.3f} to {ratio.high:.3f}: {verdict}"
    return f"B takes {ratio.value:.3f} times as long as A on {where} ({said})"


def short(provider: str) -> str:
    """Return a provider as people write it: `CUDAExecutionProvider` is `cuda`."""
    return one_line(provider).removesuffix("ExecutionProvider").lower()


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else number(value)


def _row_json(row: BenchmarkRow) -> dict[str, Any]:
    latency = row.latency
    return {
        "model": row.letter,
        "provider": row.provider,
        "batch": row.batch,
        "inputs": dict(row.inputs),
        "session_providers": list(row.providers),
        "nodes": dict(row.nodes),
        "io_binding": row.bound,
        "start_seconds": row.start_seconds,
        "first_seconds": row.first_seconds,
        "warm_ups": row.warm_ups,
        "runs": latency.runs,
        "min": latency.least,
        "p50": latency.p50,
        "p90": latency.p90,
        "p99": latency.p99,
        "mean": latency.mean,
        "max": latency.most,
        "runs_per_second": row.runs_per_second,
        "items_per_second": row.items_per_second,
    }


def _pair_json(pair: ProviderRatio) -> dict[str, Any]:
    ratio = pair.ratio
    return {
        "provider": pair.provider,
        "batch": pair.batch,
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "level": ratio.level,
        "rounds": ratio.rounds,
        "verdict": ratio.verdict,
    }
