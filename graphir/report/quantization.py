"""What a quantization saves and costs: text, plain data, a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphir.accuracy import AccuracyReport
from graphir.quantization.layers import QuantizedLayer
from graphir.runtime.quantizer import Precision
from graphir.runtime.timing import Ratio
from graphir.safety.foreign_text import listing
from graphir.structure.look import Style, paint
from graphir.structure.printed import Printed
from graphir.structure.record import record

from .page import HtmlCell, TableShape, banner, escape, facts, footer, page, section
from .page import table as html_table
from .text import number, plural, size, table, wrapped

SHOWN, NAMED = 10, 1
HEADER = ("layer", "operator", "own error", "error caused", "written as")


@record
class LeftFloat:
    """Nodes of one operator that stay as they are, and why."""

    nodes: tuple[str, ...]
    operator: str
    reason: str


@record
class Timing:
    """Medians in seconds of both models in turns on these inputs, and their ratio."""

    before: float
    after: float
    ratio: Ratio
    threads: int
    inputs: str


@record
class QuantizationReport(Printed):
    """What was quantized, and what it saves and costs. `layers` are ranked, the one that causes the largest error
    first; the first `kept` stay float. `reached` says whether the stated limit is kept (True without one), `trials`
    are the models that were measured: float layers, error, drop of the accuracy. `sizes` are bytes before and after."""

    source: str
    target: str
    kind: str
    precision: Precision
    opset: int
    oldest: str
    own_operators: Sequence[str]
    sizes: tuple[int, int]
    error: float
    error_on: str
    ranked_on: int
    calibrated_on: int
    accuracy: AccuracyReport | None
    drop: float
    target_text: str
    reached: bool
    layers: Sequence[QuantizedLayer]
    kept: int
    left: Sequence[LeftFloat]
    trials: Sequence[tuple[int, float, float]]
    timing: Timing
    machine: dict[str, Any]
    notes: Sequence[str]
    is_written: bool = False
    onnxruntime: str = ""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """Return 0, or 4 where the stated limit is not kept."""
        return 0 if self.reached else 4

    @property
    def weights(self) -> str:
        """Return how weights and activations are rounded, in words."""
        how = self.precision
        if how.kind == "int4":
            return f"weights int4 in blocks of {how.block_size}, activations float"
        weights = f"weights int8 {'per channel' if how.per_channel else 'per tensor'}"
        weights += " of 7 bits" if how.reduce_range else ""
        if how.kind == "dynamic":
            return f"{weights}, activations uint8 with ranges found at run time"
        return f"{weights}, activations {how.activations} by {how.method}"

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the report for people; the layers that cause the largest errors, or all of them."""
        rows = [(name, *values) for name, *values in self._facts()]
        parts = [
            paint(self._headline(), Style.GOOD if self.reached else Style.BAD),
            table(("", "before", "after", ""), rows, right=(1, 2)),
            *(wrapped(line) for line in self._lines()),
            "",
            self._layers_title(),
            table(HEADER, self._layer_rows(None if verbose else SHOWN), right=(2, 3), flexible=(0,)),
        ]
        if len(self.layers) > SHOWN and not verbose:
            parts.append(f"  ... and {plural(len(self.layers) - SHOWN, 'layer')} more (-v lists all)")
        return "\n".join([*parts, *self._left_lines(None if verbose else NAMED)])

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data, keys in a fixed order."""
        timing, accuracy = self.timing, self.accuracy
        return {
            "source": self.source, "target": self.target if self.is_written else None, **asdict(self.precision),
            "opset": self.opset, "onnxruntime": self.onnxruntime, "oldest_onnxruntime": self.oldest or None,
            "own_operators": list(self.own_operators), "bytes_before": self.sizes[0], "bytes_after": self.sizes[1],
            "calibrated_on": self.calibrated_on, "error": _finite(self.error), "error_on": self.error_on,
            "accuracy": None if accuracy is None else {**accuracy.to_json(), "drop": self.drop},
            "limit": self.target_text or None, "reached": self.reached,
            "trials": [
                {"float_layers": kept, "error": _finite(error), "drop": drop} for kept, error, drop in self.trials
            ],
            "latency": {
                "before": timing.before, "after": timing.after, **asdict(timing.ratio), "verdict": timing.ratio.verdict,
                "threads": timing.threads, "inputs": timing.inputs,
            },
            "layers": [
                {**asdict(layer), "own": _finite(layer.own), "caused": _finite(layer.caused),
                 "is_quantized": index >= self.kept}
                for index, layer in enumerate(self.layers)
            ],
            "float": [asdict(each) for each in self.left], "notes": [*self._runs_on(), *self.notes],
            "machine": self.machine, "seconds": self.seconds,
        }  # fmt: skip

    def to_html(self) -> str:
        """Return the report as a page."""
        kind = "noise" if self.reached else "broken"
        rows = [
            (name, escape(f"{before} to {after}, {note}")) for name, before, after, note in self._facts()
        ]
        lines = "".join(f"<p>{escape(line)}</p>" for line in self._lines())
        cells: list[list[str | HtmlCell]] = [
            [escape(name), escape(operator), HtmlCell(own, layer.own), HtmlCell(caused, layer.caused), escape(written)]
            for layer, (name, operator, own, caused, written) in zip(self.layers, self._layer_rows(None), strict=True)
        ]
        left = [[escape(listing(each.nodes)), escape(each.operator), escape(each.reason)] for each in self.left]
        shape = TableShape(right=(2, 3), find="layers")
        title = f"{Path(self.source).name} quantized"
        return page(title, [
            banner(kind, self._headline(), self.weights + "."),
            section("Before and after", facts(rows) + lines),
            section("Layers", f"<p>{escape(self._layers_title())}</p>" + html_table(HEADER, cells, shape)),
            *([section("Stays as it is", html_table(("nodes", "operator", "why"), left))] if left else []),
        ], footer())  # fmt: skip

    def _headline(self) -> str:
        quantized = plural(len(self.layers) - self.kept, "layer")
        text = f"{Path(self.source).name} -> {self.target}: {quantized} {self.kind}, {self.kept} kept float"
        if self.reached:
            return text + (f" for {self.target_text}" if self.target_text else "")
        written = "the best is written" if self.is_written else "nothing is written (--keep-best writes the best)"
        return f"NOT REACHED: {self.target_text}, by no number of layers in float that was tried; {written}"

    def _facts(self) -> list[tuple[str, str, str, str]]:
        before, after = self.sizes
        rows: list[tuple[str, str, str, str]] = [("size", size(before), size(after), f"{after / before:.2f} times")]
        timing, accuracy = self.timing, self.accuracy
        ratio = timing.ratio
        interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
        shown = f"{ratio.value:.2f} times{interval}: {ratio.verdict}"
        rows.append(("latency", f"{1000 * timing.before:.3g} ms", f"{1000 * timing.after:.3g} ms", shown))
        if accuracy is not None:
            first, second = (
                f"{100 * each / accuracy.samples:.2f} %"
                for each in (accuracy.reference_correct, accuracy.candidate_correct)
            )
            points = f"{0 - 100 * self.drop:+.2f} points on {accuracy.samples:,} of {accuracy.data}; "
            rows.append(("accuracy", first, second, f"{points}the class differs for {accuracy.differing}"))
        return [*rows, ("error", "0", number(self.error), f"of the worst output on {self.error_on}")]

    def _lines(self) -> list[str]:
        calibrated = f"; calibrated on {plural(self.calibrated_on, 'sample')}" if self.calibrated_on else ""
        lines = [f"{self.weights}{calibrated}", *self._runs_on()]
        threads = plural(self.timing.threads, "thread")
        lines.append(f"latency: medians in turns, {threads}, {self.timing.inputs}, {self.machine['cpu']}")
        if len(self.trials) > 1:
            shown = ", ".join(
                f"{kept} float: {f'{-100 * drop:+.2f} points' if self.accuracy else number(error)}"
                for kept, error, drop in sorted(self.trials)
            )
            lines.append(f"models measured: {shown}")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def _runs_on(self) -> list[str]:
        """Return what runs the file."""
        oldest = f"onnxruntime {self.oldest} or newer" if self.oldest else "the onnxruntime that made it"
        own = f", which alone has {', '.join(self.own_operators)}" if self.own_operators else ""
        lines = [f"opset {self.opset}; for {oldest}{own}; made and measured by {self.onnxruntime or 'this one'}"]
        if "16" in self.precision.activations and self.kind == "static":
            lines.append("activations of 16 bits save no time on CPUs, which compute these layers in float32")
        return lines

    def _left_lines(self, most: int | None) -> list[str]:
        """Return what stays float, by reason; of each operator some names, or all."""
        reasons: dict[str, list[str]] = {}
        for each in self.left:
            names = listing(each.nodes, most or len(each.nodes))
            reasons.setdefault(each.reason, []).append(f"{each.operator} {names}".strip())
        title = ["", "stays as it is:"] if reasons else []
        return [*title, *(wrapped(f"{why}: {'; '.join(names)}") for why, names in reasons.items())]

    def _layers_title(self) -> str:
        return (
            f"layers by the error that they cause when quantized alone ({plural(self.ranked_on, 'sample')}; own: of\n"
            "the layer's result, caused: of the worst output, or of what its softmax reads):"
        )

    def _layer_rows(self, most: int | None) -> list[tuple[str, str, str, str, str]]:
        return [
            (layer.nodes[0], layer.operator, number(layer.own), number(layer.caused),
             "float" if index < self.kept else self.kind)
            for index, layer in enumerate(self.layers[:most])
        ]  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
