"""What a conversion MXNet -> ONNX costs beside `cp` of the same weights, beside mx2onnx, and for each node.

    python benchmarks/convert.py --models DIR [--only resnet50,vgg16] [--weights inline|external|reference]
                                 [--mx2onnx PYTHON] [--half] [--repeats 5] [--scaling] [--json FILE]

DIR holds NAME-symbol.json, NAME-0000.params and, for mx2onnx, NAME-feeds.json ({"data": [1, 3, 224, 224]}).

A figure is the user and system time of a whole process, interpreter start and imports included, as `os.wait4` reports
it: wall-clock time depends on what else the machine does. Contestants are interleaved (A B C A B C ...), the median
counts. Memory is the peak of RssAnon in a run of its own, above that of the import floor: pages of a mapped file can
be taken back at any time, and are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
IMPORTS = """
import numpy
import graphir.cli.convert, graphir.converters.mxnet.importing.importer, graphir.converters.mxnet.source, graphir.report
import graphir.converters.onnx.files.writer
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.onnx.ops import export_table
list(import_table()), list(export_table())
"""
IMPORT_FLOOR = [sys.executable, "-c", IMPORTS]
BUDGET_PER_NODE = 20e-6
SCALING = ("1k", "10k", "100k")
SAMPLING_PERIOD = 0.001


class ContestantFailed(Exception):
    """A contestant ended with an exit code other than 0; the text holds the end of its stderr."""


@dataclass(frozen=True)
class Model:
    name: str
    folder: Path

    @property
    def symbol(self) -> Path:
        return self.folder / f"{self.name}-symbol.json"

    @property
    def params(self) -> Path:
        return self.folder / f"{self.name}-0000.params"

    @property
    def feeds(self) -> Path:
        return self.folder / f"{self.name}-feeds.json"

    def operators(self) -> int:
        nodes = json.loads(self.symbol.read_bytes())["nodes"]
        return sum(node["op"] != "null" for node in nodes)

    def nodes(self) -> int:
        return len(json.loads(self.symbol.read_bytes())["nodes"])


@dataclass(frozen=True)
class Row:
    """One model. Times are medians of CPU seconds, memory is MB; None is what was not run or failed."""

    model: str
    nodes: int
    operators: int
    params_mb: float
    cp: float
    imports: float
    graphir: float | None
    mx2onnx: float | None
    peak_mb: float | None
    mx2onnx_peak_mb: float | None
    half: float | None
    failures: tuple[str, ...] = ()

    @property
    def budget(self) -> float:
        return 2 * self.cp + BUDGET_PER_NODE * self.nodes + self.imports


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of one child and of the children that it waited for."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        refuse_failure(command, child.returncode, errors)
    return usage.ru_utime + usage.ru_stime


def peak_anonymous(command: Sequence[str]) -> float:
    """The highest RssAnon of one child in MB, sampled every millisecond. Linux only."""
    peak = 0
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        waiter = threading.Thread(target=child.wait)
        waiter.start()
        status = Path(f"/proc/{child.pid}/status")
        while waiter.is_alive():
            with contextlib.suppress(OSError, StopIteration):
                line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon:"))
                peak = max(peak, int(line.split()[1]))
            time.sleep(SAMPLING_PERIOD)
        waiter.join()
        refuse_failure(command, child.returncode, errors)
    return peak / 1024


def refuse_failure(command: Sequence[str], code: int, errors: IO[bytes]) -> None:
    if code == 0:
        return
    errors.seek(0)
    last = errors.read()[-2000:].decode(errors="replace").strip().splitlines()
    raise ContestantFailed(f"{' '.join(command[1:4])} ...: exit {code}: {last[-1] if last else 'no message'}")


def graphir_command(model: Model, target: Path, weights: str | None) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "graphir",
        "convert",
        str(model.symbol),
        str(target),
        "-p",
        str(model.params),
        "-q",
    ]
    feeds = model.symbol.with_name(model.symbol.name.replace("-symbol.json", "-feeds.json"))
    if feeds.exists():
        for name, shape in json.loads(feeds.read_text()).items():
            command += ["-i", f"{name}:{','.join(map(str, shape))}"]
    return command + (["--weights", weights] if weights else [])


def mx2onnx_command(python: str, model: Model, target: Path) -> list[str]:
    return [python, str(HERE / "peer_mx2onnx.py"), str(model.symbol), str(model.params), str(model.feeds), str(target)]


def clear(folder: Path) -> None:
    """An empty folder before each run: no contestant overwrites what another one wrote."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def interleave(contestants: dict[str, list[str]], scratch: Path, repeats: int) -> tuple[dict[str, float], list[str]]:
    """Medians of CPU seconds by contestant. One that fails is named, and takes no further part."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    failures: list[str] = []
    for _ in range(repeats):
        for name in list(seconds):
            clear(scratch)
            try:
                seconds[name].append(cpu_seconds(contestants[name]))
            except ContestantFailed as error:
                failures.append(str(error))
                del seconds[name]
    return {name: statistics.median(values) for name, values in seconds.items()}, failures


def measured_peak(command: list[str] | None, scratch: Path, floor: float) -> float | None:
    if command is None:
        return None
    clear(scratch)
    return max(0.0, peak_anonymous(command) - floor)


def measure(model: Model, scratch: Path, options: argparse.Namespace, floor_mb: float) -> Row:
    scratch = scratch / "out"
    target = scratch / f"{model.name}.onnx"
    if options.weights == "reference":
        # Weights that stay where they are must lie beside the target.
        target = model.folder / f"{model.name}.bench.onnx"
    contestants = {
        "cp": ["cp", str(model.params), str(scratch / "weights")],
        "imports": IMPORT_FLOOR,
        "graphir": graphir_command(model, target, options.weights),
    }
    if options.mx2onnx:
        contestants["mx2onnx"] = mx2onnx_command(options.mx2onnx, model, scratch / "mx2onnx.onnx")
    if options.half:
        contestants["half"] = [*contestants["graphir"], "--dtype", "float16"]
    try:
        medians, failures = interleave(contestants, scratch, options.repeats)
        peaks = {
            name: measured_peak(contestants[name] if name in medians and options.memory else None, scratch, floor_mb)
            for name in ("graphir", "mx2onnx")
        }
    finally:
        if options.weights == "reference":
            target.unlink(missing_ok=True)
    return Row(
        model.name,
        model.nodes(),
        model.operators(),
        model.params.stat().st_size / 1e6,
        medians["cp"],
        medians["imports"],
        medians.get("graphir"),
        medians.get("mx2onnx"),
        peaks["graphir"],
        peaks["mx2onnx"],
        medians.get("half"),
        tuple(failures),
    )


def text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def print_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A Markdown table: the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for cells in (header, rule, *lines):
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        print("| " + " | ".join([first.lstrip().ljust(widths[0]), *others]) + " |")


def print_conversion(rows: Sequence[Row]) -> None:
    header = (
        "model",
        "params MB",
        "nodes",
        "operators",
        "cp s",
        "imports s",
        "graphir s",
        "budget s",
        "of budget",
        "graphir/cp",
        "without imports/cp",
        "mx2onnx s",
        "mx2onnx/graphir",
        "peak MB",
        "mx2onnx peak MB",
        "half/graphir",
    )
    print_table(
        header,
        [
            (
                row.model,
                text(row.params_mb, ".1f"),
                str(row.nodes),
                str(row.operators),
                text(row.cp, ".3f"),
                text(row.imports, ".3f"),
                text(row.graphir, ".3f"),
                text(row.budget, ".3f"),
                text(ratio(row.graphir, row.budget), ".2f"),
                text(ratio(row.graphir, row.cp), ".1f"),
                text(ratio(None if row.graphir is None else row.graphir - row.imports, row.cp), ".1f"),
                text(row.mx2onnx, ".2f"),
                text(ratio(row.mx2onnx, row.graphir), ".1f"),
                text(row.peak_mb, ".0f"),
                text(row.mx2onnx_peak_mb, ".0f"),
                text(ratio(row.half, row.graphir), ".1f"),
            )
            for row in rows
        ],
    )
    print(f"\nbudget = 2 * cp + {BUDGET_PER_NODE * 1e6:.0f} us * nodes + imports; peak = RssAnon above the imports'")


def print_scaling(rows: Sequence[Row]) -> None:
    """Microseconds for each node, imports taken off: the column of a linear converter is flat."""

    def per_node(row: Row, seconds: float | None) -> str:
        return text(None if seconds is None else (seconds - row.imports) / row.nodes * 1e6, ".1f")

    print_table(
        ("graph", "nodes", "graphir s", "us a node", "mx2onnx s", "us a node", "peak MB", "peak bytes a node"),
        [
            (
                row.model,
                str(row.nodes),
                text(row.graphir, ".3f"),
                per_node(row, row.graphir),
                text(row.mx2onnx, ".2f"),
                per_node(row, row.mx2onnx),
                text(row.peak_mb, ".0f"),
                text(ratio(None if row.peak_mb is None else row.peak_mb * 2**20, row.nodes), ".0f"),
            )
            for row in rows
        ],
    )


def models_in(folder: Path, wanted: Callable[[str], bool]) -> list[Model]:
    """The models of a folder that have weights, smallest weights first, then the smallest graph."""
    names = sorted(path.name.removesuffix("-symbol.json") for path in folder.glob("*-symbol.json"))
    found = [Model(name, folder) for name in names if wanted(name)]
    found = [model for model in found if model.params.exists()]
    return sorted(found, key=lambda model: (model.params.stat().st_size, model.symbol.stat().st_size))


def is_synthetic(name: str) -> bool:
    return name.startswith(("chain", "dag", "conv")) and name.endswith(SCALING)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="CPU time and memory of graphir convert, MXNet to ONNX.")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--weights", choices=("inline", "external", "reference"), help="passed on to graphir convert")
    parser.add_argument("--mx2onnx", metavar="PYTHON", default=os.environ.get("MX2ONNX_PYTHON"))
    parser.add_argument("--half", action="store_true", help="beside --dtype float16, which runs the network once")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scaling", action="store_true", help="the graphs of 1k, 10k and 100k nodes instead")
    parser.add_argument(
        "--no-memory", dest="memory", action="store_false", help="leave out the runs that sample memory"
    )
    parser.add_argument("--scratch", type=Path, help="where outputs go while measuring (a real disk, or a tmpfs)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    options = parser.parse_args(arguments)

    only = set(options.only.split(",")) if options.only else None
    models = models_in(
        options.models, lambda name: name in only if only is not None else is_synthetic(name) == options.scaling
    )
    if options.scaling:
        models.sort(key=lambda model: (model.name.rstrip("0123456789k"), model.symbol.stat().st_size))
    if not models:
        parser.error(f"no model with weights in {options.models}")
    floor_mb = statistics.median(peak_anonymous(IMPORT_FLOOR) for _ in range(3)) if options.memory else 0.0
    rows = []
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for model in models:
            rows.append(measure(model, Path(scratch), options, floor_mb))
            if sys.stderr.isatty():
                print(f"{len(rows)}/{len(models)} {model.name}", file=sys.stderr)
    (print_scaling if options.scaling else print_conversion)(rows)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="ascii")
    failures = [failure for row in rows for failure in row.failures]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
