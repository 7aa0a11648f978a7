"""What a verification costs beside one process that loads the file and runs it once, and beside Polygraphy.

    python benchmarks/verify.py --models DIR [--only resnet152,vgg16] [--repeats 3] [--polygraphy TOOL] [--json FILE]

DIR holds what `benchmarks/networks.py DIR` writes: NAME-symbol.json, NAME-0000.params, NAME-feeds.json. Each is
converted first. Then take turns, each as a process of its own on one core:

- `base` imports onnxruntime, loads NAME.onnx and runs it once;
- `renamed` is `graphir verify A.onnx B.onnx` with all its input sets, B the same graph with other names, and
  `optimised` with B as onnxruntime's offline optimiser writes A (basic level); files of the same bytes are read once;
- `renamed, layers` and `optimised, layers` are the same with --per-layer;
- `small` is the last of them with a budget of 100 MB;
- `convert` is `graphir convert --verify` from MXNet, held against the numpy reference;
- `polygraphy` is `polygraphy run B.onnx --onnxrt --save-outputs`, then the same of A with `--load-outputs`, on its one
  set of inputs: both processes count. `all` has every layer marked as output in both.

A figure is user and system time as `os.wait4` reports it, the least of the repeats: other processes on the machine can
only add to it, and the first of them compiles graphir's modules. Memory is the largest peak of the repeats, `ru_maxrss`
of the same call: what the largest process of the command had in memory at once, pages of mapped files included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASE = """
import json, sys
import numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
types = {"tensor(float)": "float32", "tensor(int32)": "int32", "tensor(int64)": "int64"}
feeds = {item.name: numpy.ones(item.shape, types[item.type]) for item in session.get_inputs()}
session.run(None, feeds)
"""
# Two ways to write a file of other bytes that computes the same: by other names, and by onnxruntime's optimiser.
RENAMED = """
import sys
import onnx
model = onnx.load(sys.argv[1])
ends = {item.name for item in (*model.graph.input, *model.graph.output)}
def other(name):
    return name if name in ends or not name else f"renamed_{name}"
for node in model.graph.node:
    node.name = ""
    node.input[:], node.output[:] = map(other, node.input), map(other, node.output)
for item in (*model.graph.initializer, *model.graph.value_info):
    item.name = other(item.name)
model.producer_name = "renamed"
onnx.save(model, sys.argv[2])
"""
OPTIMISED = """
import sys
import onnxruntime
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
options.optimized_model_filepath = sys.argv[2]
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
SMALL = "100MB"
# Linux states `ru_maxrss` in these.
KIB = 1024
# An installed package has bytecode. That of this one is written in the first of the repeats.
BYTECODE = tempfile.TemporaryDirectory(prefix="graphir-bytecode-")
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
    "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": BYTECODE.name,
}  # fmt: skip
# Verdicts that end with a code of their own took as long: different, and not proven.
MEASURED = (0, 4, 5)
JSON = ("--output-format", "json")


@dataclass
class Row:
    """One contestant on one model: CPU seconds and MB of every run, or why there are none; the sets of inputs of the
    last run."""

    model: str
    contestant: str
    seconds: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    error: str = ""


def run(row: Row, commands: list[list[str]], core: int) -> None:
    """Run the commands of a contestant one after the other and add what they took; the larger peak counts."""
    seconds, peak = 0.0, 0
    for command in commands:
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(
                command, stdout=output, stderr=output, preexec_fn=lambda: os.sched_setaffinity(0, {core}),
                env=ENVIRONMENT,
            )  # fmt: skip
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read().decode(errors="replace")
            if child.returncode not in MEASURED:
                row.error = said[-300:].strip()
                return
            if JSON[-1] in command:
                document, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
                row.sets = [one["name"] for one in document["sets"]]
        seconds += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss * KIB)
    row.seconds.append(seconds)
    row.memory.append(peak / 1e6)


def graphir(*words: str) -> list[str]:
    return [sys.executable, "-m", "graphir", *words]


def contestants(name: str, folder: Path, scratch: Path, polygraphy: str | None) -> dict[str, list[list[str]]]:
    """The commands of each contestant."""
    symbol, model = folder / f"{name}-symbol.json", scratch / f"{name}.onnx"
    others = {"renamed": RENAMED, "optimised": OPTIMISED}
    files = {kind: str(scratch / f"{name}-{kind}.onnx") for kind in others}
    feeds = json.loads((folder / f"{name}-feeds.json").read_text())
    shapes = [word for key, shape in feeds.items() for word in ("-i", f"{key}:{','.join(map(str, shape))}")]
    source = [str(symbol), str(model), "-p", str(folder / f"{name}-0000.params"), *shapes, "-q"]
    subprocess.run(graphir("convert", *source), check=True, env=ENVIRONMENT)
    for kind, script in others.items():
        subprocess.run([sys.executable, "-c", script, str(model), files[kind]], check=True, env=ENVIRONMENT)
    pairs = {kind: (str(model), file) for kind, file in files.items()}
    again = [str(symbol), str(scratch / "again.onnx"), *source[2:]]
    found = {
        "base": [[sys.executable, "-c", BASE, str(model)]],
        **{kind: [graphir("verify", *pair, *JSON)] for kind, pair in pairs.items()},
        **{f"{kind}, layers": [graphir("verify", *pair, "--per-layer", *JSON)] for kind, pair in pairs.items()},
        "small": [graphir("verify", *pairs["optimised"], "--per-layer", "--memory-budget", SMALL, *JSON)],
        "convert": [graphir("convert", *again, "--verify", "--against", "reference")],
    }
    if polygraphy is not None:
        tool, saved = [polygraphy, "run"], str(scratch / "outputs.json")
        for label, more in (("polygraphy", []), ("polygraphy, all", ["--onnx-outputs", "mark", "all"])):
            found[label] = [
                [*tool, files["renamed"], "--onnxrt", *more, "--save-outputs", saved],
                [*tool, str(model), "--onnxrt", *more, "--load-outputs", saved, "--atol", "1e-3", "--rtol", "1e-3"],
            ]
    return found


def show(rows: list[Row], sizes: dict[str, float]) -> None:
    """Seconds, ratios to the base, and peaks with how they stand to the weights."""
    base = {row.model: min(row.seconds) for row in rows if row.contestant == "base" and row.seconds}
    print("| model | what | CPU s | to base | peak MB | peak less 1.5 x the weights, MB | sets of inputs |")
    print("|---|---|---:|---:|---:|---:|---|")
    for row in rows:
        if not row.seconds:
            print(f"| {row.model} | {row.contestant} | failed: {' '.join(row.error.split())[-100:]} | | | | |")
            continue
        seconds, peak = min(row.seconds), max(row.memory)
        ratio = seconds / base[row.model] if row.model in base else float("nan")
        left = peak - 1.5 * sizes[row.model]
        print(f"| {row.model} | {row.contestant} | {seconds:.2f} | {ratio:.1f} | {peak:.0f} | {left:.0f} |"
              f" {', '.join(row.sets)} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="What a verification costs beside one run of the model.")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--only", default="resnet152,vgg16,bert")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--polygraphy", metavar="TOOL", help="the polygraphy command, installed with onnxruntime")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    sizes: dict[str, float] = {}
    for name in options.only.split(","):
        sizes[name] = (options.models / f"{name}-0000.params").stat().st_size / 1e6
        with tempfile.TemporaryDirectory() as scratch:
            commands = contestants(name, options.models, Path(scratch), options.polygraphy)
            own = {label: Row(name, label) for label in commands}
            for _ in range(options.repeats):
                for label, row in own.items():
                    if not row.error:
                        run(row, commands[label], options.core)
            rows += own.values()
    show(rows, sizes)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
