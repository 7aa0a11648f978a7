"""What shape inference costs in graphir, onnx, onnxruntime (its symbolic one) and, where it is importable, MXNet.

    python benchmarks/inference.py --models DIR [--only dag,resnet152] [--repeats 5] [--mxnet PYTHON] [--json FILE]

DIR holds NAME.onnx (made from NAME-symbol.json and NAME-0000.params where it is missing), and NAME-symbol.json with
NAME-feeds.json ({"data": [1, 3, 224, 224]}) for MXNet. onnxruntime's tool needs sympy.

A figure is the CPU time (user and system) of the inference alone, in a process of its own in which the model is loaded
already: imports and loading are not counted, and graphir starts with empty memos. Contestants are interleaved (A B C A
B C ...), the median counts. Memory is the peak of RssAnon over what it was before, sampled from outside: pages of
mapped files are not counted, and what lives for less than a millisecond is not seen.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SAMPLING_PERIOD = 0.001
UNAVAILABLE = 3
"""The exit code of a worker whose tool is not installed."""
ROOT = str(Path(__file__).resolve().parents[1])


def forgotten(graph: Any) -> Any:
    """The graph, with nothing left of the inference that ran while it was read but its types."""
    from graphir.inference import rules

    rules._results.clear()
    rules._operands.clear()
    return graph


def load_graphir(model: Path, feeds: dict[str, list[int]]) -> Callable[[], object]:
    from graphir.converters.onnx import load
    from graphir.inference import infer_types

    graph = forgotten(load(model))
    return lambda: infer_types(graph)


def load_graphir_symbolic(model: Path, feeds: dict[str, list[int]]) -> Callable[[], object]:
    import onnx

    from graphir.converters.onnx import from_model
    from graphir.inference import infer_types

    proto = onnx.load(model)
    for info in proto.graph.input:
        if info.type.tensor_type.shape.dim:
            info.type.tensor_type.shape.dim[0].dim_param = "N"
    for info in proto.graph.output:
        info.ClearField("type")
    graph = forgotten(from_model(proto))
    del proto
    return lambda: infer_types(graph)


def load_onnx(model: Path, feeds: dict[str, list[int]]) -> Callable[[], object]:
    import onnx
    import onnx.shape_inference

    proto = onnx.load(model)
    return lambda: onnx.shape_inference.infer_shapes(proto, data_prop=True)


def load_onnxruntime(model: Path, feeds: dict[str, list[int]]) -> Callable[[], object]:
    import onnx
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    proto = onnx.load(model)
    return lambda: SymbolicShapeInference.infer_shapes(proto, 2**31 - 1, True)


def load_mxnet(model: Path, feeds: dict[str, list[int]]) -> Callable[[], object]:
    import warnings

    import numpy as np

    warnings.simplefilter("ignore")
    for alias in (bool, object, int, float, complex, str):
        if alias.__name__ not in vars(np):
            setattr(np, alias.__name__, alias)
    import mxnet

    symbol = mxnet.sym.load(str(model.with_name(f"{model.stem}-symbol.json")))
    internals = symbol.get_internals()
    shapes = {name: tuple(shape) for name, shape in feeds.items()}
    return lambda: internals.infer_shape(**shapes)


TOOLS: dict[str, Callable[[Path, dict[str, list[int]]], Callable[[], object]]] = {
    "graphir": load_graphir,
    "graphir, symbolic batch": load_graphir_symbolic,
    "onnx": load_onnx,
    "onnxruntime, symbolic": load_onnxruntime,
    "MXNet": load_mxnet,
}


@dataclass
class Row:
    """One tool on one model: microseconds of CPU time a node and MB, each from every run."""

    model: str
    nodes: int
    tool: str
    seconds: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def per_node(self) -> float:
        """Microseconds a node, the median."""
        return statistics.median(self.seconds) / self.nodes * 1e6


def work(tool: str, model: Path, feeds: dict[str, list[int]]) -> int:
    """One measurement in this process: says `ready`, waits for a line, and prints the seconds."""
    try:
        infer = TOOLS[tool](model, feeds)
    except ImportError as error:
        print(error, file=sys.stderr)
        return UNAVAILABLE
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.process_time()
    result = infer()
    seconds = time.process_time() - start
    print(seconds, flush=True)
    sys.stdin.readline()
    del result
    os._exit(0)  # what an interpreter does on its way out is not the tool's work


def measure(row: Row, python: str, model: Path, feeds: dict[str, list[int]]) -> None:
    """One run of a tool, added to its row."""
    command = [python, __file__, "--work", row.tool, str(model), json.dumps(feeds)]
    paths = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        if child.stdout.readline().strip() != "ready":
            _, errors = child.communicate()
            row.error = "not installed" if child.returncode == UNAVAILABLE else errors.strip()[-300:]
            return
        before = peak = anonymous(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
        while not select.select([child.stdout], [], [], SAMPLING_PERIOD)[0]:
            peak = max(peak, anonymous(child.pid))
        text = child.stdout.readline().strip()
        if not text:
            row.error = child.communicate()[1].strip()[-300:]
            return
        row.seconds.append(float(text))
        row.memory.append((max(peak, anonymous(child.pid)) - before) / 1e6)
        child.communicate("\n")


def anonymous(pid: int) -> int:
    """The bytes of anonymous memory that a process has."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def node_count(model: Path) -> int:
    """The nodes of a model's main graph."""
    import onnx

    return len(onnx.load(model, load_external_data=False).graph.node)


def made(source: Path, folder: Path) -> Path:
    """The ONNX model of a checkpoint, converted by graphir with its weights inside."""
    import graphir

    target = folder / f"{source.name.removesuffix('-symbol.json')}.onnx"
    feeds = json.loads(source.with_name(f"{target.stem}-feeds.json").read_text())
    graphir.convert(source, target, shapes={name: tuple(shape) for name, shape in feeds.items()})
    return target


def table(rows: Sequence[Row]) -> str:
    """The figures as markdown, with the ratio to graphir's."""
    lines = ["| model | nodes | tool | us a node | of graphir's | MB |", "|---|---:|---|---:|---:|---:|"]
    base = {row.model: row.per_node for row in rows if row.tool == "graphir" and row.seconds}
    for row in rows:
        if row.seconds:
            ratio = row.per_node / base[row.model] if row.model in base else float("nan")
            memory = max(statistics.median(row.memory), 0.0)
            figures = f"{row.per_node:.1f} | {ratio:.2f} | {memory:.1f}"
        else:
            figures = f"{row.error or 'not run'} | |"
        lines.append(f"| {row.model} | {row.nodes} | {row.tool} | {figures} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="the folder with the models")
    parser.add_argument("--only", default="", help="names of models, or their beginnings, with commas between")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mxnet", default=sys.executable, help="an interpreter that can import MXNet")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    sys.path.insert(0, ROOT)
    wanted = tuple(filter(None, options.only.split(",")))
    names = sorted({path.name.partition("-")[0].removesuffix(".onnx") for path in options.models.iterdir()})
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            symbol = options.models / f"{name}-symbol.json"
            model = options.models / f"{name}.onnx"
            if (wanted and not name.startswith(wanted)) or not (model.exists() or symbol.exists()):
                continue
            model = model if model.exists() else made(symbol, Path(scratch))
            rows += measured(name, model, symbol, options)
            print(table(rows[-len(TOOLS) :]), flush=True)
    print("\n" + table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


def measured(name: str, model: Path, symbol: Path, options: Any) -> list[Row]:
    """All tools on one model, in turns."""
    stated = symbol.with_name(f"{name}-feeds.json")
    feeds = json.loads(stated.read_text()) if stated.exists() else {}
    nodes = node_count(model)
    rows = [Row(name, nodes, tool) for tool in TOOLS if tool != "MXNet" or (symbol.exists() and feeds)]
    for _ in range(options.repeats):
        for row in rows:
            if not row.error:
                is_mxnet = row.tool == "MXNet"
                place = symbol.with_name(f"{name}.onnx") if is_mxnet else model
                measure(row, options.mxnet if is_mxnet else sys.executable, place, feeds)
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        sys.exit(work(sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])))
    sys.exit(main())
