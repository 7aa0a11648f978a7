"""Nodes that simplifiers leave, and what they cost: `graphir simplify` beside onnxslim and onnxsim.

    python benchmarks/simplify.py MODEL.onnx ... [--peers PYTHON]

`PYTHON` is an interpreter that has onnxslim and onnxsim; without it graphir stands alone. Nodes are those of the file,
subgraphs included. Seconds are user and system time of whole processes, imports included, without a proof. A peer that
fails, or leaves no file, is `-`. The verdict is that of `graphir simplify`, with the ratio of latencies behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

PEERS = {
    "graphir": "import graphir.cli\nraise SystemExit(graphir.cli.main(['convert', {0!r}, {1!r}, '--simplify', '-q']))",
    "onnxslim": "import onnxslim\nonnxslim.slim({0!r}, {1!r})",
    "onnxsim": "import onnx, onnxsim\nonnx.save(onnxsim.simplify({0!r})[0], {1!r})",
}


def count_nodes(graph: onnx.GraphProto) -> int:
    """The nodes of a graph and of those inside it."""
    inner = [attribute for node in graph.node for attribute in node.attribute]
    return len(graph.node) + sum(
        sum(map(count_nodes, [attribute.g] if attribute.HasField("g") else attribute.graphs)) for attribute in inner
    )


def simplified(python: str, code: str, model: Path, target: Path) -> tuple[str, str]:
    """Nodes and seconds of one process, `-` where it fails."""
    command = [python, "-c", code.format(str(model), str(target))]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode or not target.exists():
        return "-", "-"
    nodes = count_nodes(onnx.load(target, load_external_data=False).graph)
    return str(nodes), f"{usage.ru_utime + usage.ru_stime:.2f}"


def verdict(model: Path, target: Path, seconds: float) -> str:
    """What `graphir simplify` says of its result."""
    call = ["simplify", str(model), str(target), "--json", "--seconds", str(seconds)]
    command = [sys.executable, "-m", "graphir", *call]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if not told.stdout.strip():
        return "failed"
    data = json.loads(told.stdout)
    ratios = (data["timing"] or {"ratios": []})["ratios"]
    template = ", {ratio:.2f} times ({low:.2f} to {high:.2f})" if ratios and ratios[0]["low"] is not None else ""
    latency = template.format_map(ratios[0]) if template else ", too few rounds"
    return f"{data['verification']['verdict']}{latency}"


def main() -> None:
    """Print one row a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has onnxslim and onnxsim")
    parser.add_argument("--seconds", type=float, default=1.0, help="time to measure each latency (default 1)")
    options = parser.parse_args()
    print("| network | nodes | graphir | onnxslim | onnxsim | CPU seconds of the three | verdict, latency after |")
    print("|---|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            before = count_nodes(onnx.load(model, load_external_data=False).graph)
            pythons = {"graphir": sys.executable, "onnxslim": options.peers, "onnxsim": options.peers}
            results = [
                ("-", "-") if python is None else simplified(python, PEERS[name], model, Path(folder) / f"{name}.onnx")
                for name, python in pythons.items()
            ]
            for file in Path(folder).iterdir():
                file.unlink()
            nodes, seconds = zip(*results, strict=True)
            last = verdict(model, Path(folder) / f"proven-{model.name}", options.seconds)
            print(f"| {model.stem} | {before} | {' | '.join(nodes)} | {', '.join(seconds)} | {last} |", flush=True)


if __name__ == "__main__":
    main()
