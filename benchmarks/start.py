"""What the first steps cost: starting, converting a small network, and loading graphs of 100,000 nodes.

    python benchmarks/start.py [--model models/digits] [--nodes 100000] [--repeats 9] [--only start,warm,load]

`start` is the user and system time of whole processes, as `os.wait4` reports it: the least of the repeats, contestants
interleaved (A B C A B C ...), beside a process that imports numpy. `warm` is the process time of a second and later
conversion in one process beside twice `cp` of the weights, `load` that of loading synthetic ONNX graphs, beside
building the same graph through the public API. Processes find bytecode, as those of an installed package do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONVERT = "import graphir\ngraphir.convert({source!r}, {target!r})"
WEIGHTS = ("*.params", "*.npz")


def environment(scratch: Path) -> dict[str, str]:
    """That of this process, with bytecode kept in a folder of its own."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return kept | {"PYTHONPYCACHEPREFIX": str(scratch / "bytecode"), "PYTHONPATH": found}


def cpu_seconds(command: Sequence[str], variables: dict[str, str]) -> float:
    """User and system time of a process. Raises CalledProcessError for one that fails."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=variables)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_utime + usage.ru_stime


def measure_start(model: Path, repeats: int, scratch: Path) -> None:
    """Print what processes cost beside one that imports numpy."""
    target = scratch / "start.onnx"
    code = CONVERT.format(source=str(model), target=str(target))
    contestants = {
        "python": ["-c", "pass"],
        "import numpy": ["-c", "import numpy"],
        "graphir --help": ["-m", "graphir", "--help"],
        "graphir convert": ["-m", "graphir", "convert", str(model), str(target), "-q"],
        "graphir.convert": ["-c", code],
    }
    variables = environment(scratch)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, arguments in contestants.items():
            target.unlink(missing_ok=True)
            taken = cpu_seconds([sys.executable, *arguments], variables)
            if turn:  # the first one compiles
                seconds[name].append(taken)
    floor = min(seconds["import numpy"])
    print("| process | ms | beyond numpy | of numpy |\n|---|---:|---:|---:|")
    for name, found in seconds.items():
        least = min(found)
        print(f"| {name} | {least * 1e3:.0f} | {(least - floor) * 1e3:.0f} | {least / floor:.2f} |")


def least(action: Callable[[], object], repeats: int) -> float:
    """The process time of the quickest of some calls."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        found.append(time.process_time() - started)
    return min(found)


def measure_warm(model: Path, repeats: int, scratch: Path) -> None:
    """Print what a conversion costs once everything is imported, beside twice `cp` of the weights."""
    import graphir

    target = scratch / "warm.onnx"
    weights = next(path for pattern in WEIGHTS for path in sorted(model.glob(pattern)))
    graphir.convert(model, target)
    took = least(lambda: graphir.convert(model, target), repeats)
    copied = least(lambda: shutil.copyfile(weights, scratch / "copy"), repeats)
    print(f"\nwarm conversion {took * 1e3:.1f} ms, twice cp {2 * copied * 1e3:.2f} ms")


def write_graphs(nodes: int, scratch: Path) -> list[Path]:
    """A chain of Add and Relu, and one of Conv and Relu."""
    from numpy import ones
    from onnx import ModelProto, TensorProto, helper, numpy_helper, save

    written = []
    for kind in ("chain", "conv"):
        made = []
        for index in range(nodes):
            data, result = f"v{index}", f"v{index + 1}"
            if index % 2:
                made.append(helper.make_node("Relu", [data], [result], name=f"n{index}"))
            elif kind == "chain":
                made.append(helper.make_node("Add", [data, "w"], [result], name=f"n{index}"))
            else:
                made.append(
                    helper.make_node("Conv", [data, "w"], [result], name=f"n{index}", pads=[1] * 4, strides=[1, 1])
                )
        weight = numpy_helper.from_array(ones((1,) if kind == "chain" else (3, 3, 3, 3), "float32"), "w")
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8]) for name in ("v0", f"v{nodes}")
        ]
        graph = helper.make_graph(made, kind, ends[:1], ends[1:], [weight])
        model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        written.append(scratch / f"{kind}.onnx")
        save(model, written[-1])
    return written


def rebuilt(graph: Any) -> Any:
    """The same graph, node by node."""
    from graphir import Graph

    made = Graph(graph.name)
    values = {value: made.add_input(value.name, value.type) for value in graph.inputs}
    values |= {value: made.add_parameter(value.name, value.tensor) for value in graph.parameters}
    for node in graph.nodes:
        names = [value.name for value in node.outputs]
        copy = made.add_node(node.op, [values[value] for value in node.inputs], name=node.name, output_names=names)
        values |= zip(node.outputs, copy.outputs, strict=True)
    return made


def measure_load(nodes: int, repeats: int, scratch: Path) -> None:
    """Print what loading costs beside building the same graph."""
    import graphir

    print("\n| graph | load s | us a node | beside building it |\n|---|---:|---:|---:|")
    for path in write_graphs(nodes, scratch):
        graph = graphir.load(path)
        took = least(lambda path=path: graphir.load(path), repeats)  # type: ignore[misc]
        built = least(lambda graph=graph: rebuilt(graph), repeats)  # type: ignore[misc]
        print(f"| {path.stem} | {took:.2f} | {took / nodes * 1e6:.1f} | {took / built:.2f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU time of starting, of small conversions and of large graphs.")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "digits", metavar="DIR")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", default="start,warm,load", help="which of start, warm and load, with commas")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    wanted = options.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if "start" in wanted:
            measure_start(options.model, options.repeats, scratch)
        if "warm" in wanted:
            measure_warm(options.model, options.repeats, scratch)
        if "load" in wanted:
            measure_load(options.nodes, max(options.repeats // 3, 1), scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
