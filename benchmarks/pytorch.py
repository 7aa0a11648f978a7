"""What writing a PyTorch module costs beside writing the same graph as ONNX.

    python benchmarks/pytorch.py [--nodes 1000,10000,30000] [--repeats 5] [--models DIR]

A figure is the process time of the target alone: from a graph in memory to its files, in one process, both targets in
turns, the least of the repeats. `blocks` is a chain of residual blocks, `branches` one of small blocks that are all
different, `mixed` a random network in which values are read again later, so that nothing repeats.

With DIR, in which `networks.py` wrote, each of its networks has a row too: CPU time of the whole command `graphir
convert`, process and imports included.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from graphir import Graph, Tensor, TensorType, Value
from graphir.converters.writing import target_of
from graphir.ops.activation import LeakyRelu, Relu, Sigmoid, Tanh
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Mul, Sub
from graphir.ops.normalization import BatchNormalization
from graphir.padding import Explicit
from graphir.types import DType

PADDING = Explicit(((1, 1), (1, 1)))
CHANNELS = 4
SUFFIXES = {"onnx": "onnx", "pytorch": "py"}


class Builder:
    """A graph of convolutions, normalizations and arithmetic on one input."""

    def __init__(self, name: str) -> None:
        self.graph = Graph(name)
        self.input = self.graph.add_input("data", TensorType(DType.FLOAT32, (1, CHANNELS, 8, 8)))
        self._weight = np.ones((CHANNELS, CHANNELS, 3, 3), np.float32)
        self._vector = np.ones(CHANNELS, np.float32)

    def conv(self, name: str, value: Value) -> Value:
        """A convolution with a weight of its own."""
        kernel = self.graph.add_parameter(f"{name}_weight", Tensor.of(self._weight))
        return self.graph.add(Conv((3, 3), (1, 1), padding=PADDING), value, kernel, name=name)

    def norm(self, name: str, value: Value) -> Value:
        """A batch normalization with tensors of its own."""
        tensors = [
            self.graph.add_parameter(f"{name}_{kind}", Tensor.of(self._vector))
            for kind in ("gamma", "beta", "mean", "var")
        ]
        return self.graph.add(BatchNormalization(), value, *tensors, name=name)

    def finish(self, value: Value) -> Graph:
        """The graph with its output."""
        self.graph.set_outputs([value])
        return self.graph


def build_blocks(nodes: int) -> Graph:
    """Residual blocks of seven nodes."""
    builder = Builder("blocks")
    value = builder.input
    for index in range(nodes // 7):
        scope = f"stage_block{index}"
        inner = builder.norm(f"{scope}_bn1", builder.conv(f"{scope}_conv1", value))
        inner = builder.graph.add(Relu(), inner, name=f"{scope}_relu1")
        inner = builder.norm(f"{scope}_bn2", builder.conv(f"{scope}_conv2", inner))
        inner = builder.graph.add(Add(), inner, value, name=f"{scope}_add")
        value = builder.graph.add(Relu(), inner, name=f"{scope}_relu2")
    return builder.finish(value)


def build_branches(nodes: int) -> Graph:
    """Small blocks, each with another constant."""
    builder = Builder("branches")
    value = builder.input
    for index in range(nodes // 4):
        left = builder.graph.add(LeakyRelu(0.1 + index / nodes), value, name=f"left{index}")
        right = builder.graph.add(Sigmoid(), value, name=f"right{index}")
        value = builder.graph.add(Sub(), left, right, name=f"difference{index}")
        value = builder.conv(f"conv{index}", value)
    return builder.finish(value)


def build_mixed(nodes: int) -> Graph:
    """Operators in random order, of which every fifth reads one of the last 20 values as well."""
    builder, draw = Builder("mixed"), random.Random(0)
    values = [builder.input]
    for index in range(nodes):
        name, kind = f"layer{index}", draw.randrange(10)
        if kind < 2:
            other = values[-draw.randint(1, min(20, len(values)))]
            operator = draw.choice([Add, Mul])()
            values.append(builder.graph.add(operator, values[-1], other, name=name))
        elif kind < 5:
            values.append(builder.conv(name, values[-1]))
        elif kind < 7:
            values.append(builder.norm(name, values[-1]))
        else:
            curve = draw.choice([Relu, Tanh, Sigmoid])()
            values.append(builder.graph.add(curve, values[-1], name=name))
    return builder.finish(values[-1])


NETWORKS: dict[str, Callable[[int], Graph]] = {
    "blocks": build_blocks, "branches": build_branches, "mixed": build_mixed,
}  # fmt: skip


def write(graph: Graph, format_: str, path: Path) -> float:
    """Seconds of process time from a graph to the files of a format."""
    gc.collect()
    started = time.process_time()
    target_of(format_).ready(graph, path, {}).write()
    return time.process_time() - started


def convert(symbol: Path, format_: str, path: Path) -> float:
    """Seconds of CPU that a process takes to convert a checkpoint; the path states the format."""
    feeds = json.loads(Path(str(symbol).replace("-symbol", "-feeds")).read_bytes())
    shapes = [word for name, shape in feeds.items() for word in ("-i", f"{name}:{','.join(map(str, shape))}")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "graphir", "convert", str(symbol), str(path), *shapes]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, nodes: int, repeats: int, seconds: Callable[[str, Path], float]) -> None:
    """Print the row of a network; `seconds` is what writing a format to a path costs."""
    costs: dict[str, list[float]] = {"onnx": [], "pytorch": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for format_, given in costs.items():
                given.append(seconds(format_, Path(folder) / f"net.{SUFFIXES[format_]}"))
    onnx, torch = (min(given) * 1e3 for given in costs.values())
    print(f"| {name} | {nodes:,} | {onnx:.0f} | {torch:.0f} | {torch / onnx:.2f} |", flush=True)


def main() -> int:
    """Print a row for each network and size."""
    parser = argparse.ArgumentParser(description="CPU time of writing PyTorch modules beside ONNX files.")
    parser.add_argument("--nodes", default="1000,10000,30000", help="sizes, with commas")
    parser.add_argument("--only", default=",".join(NETWORKS), help="networks, with commas")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--models", type=Path, help="a folder of checkpoints, for the whole command")
    options = parser.parse_args()
    print("| network | nodes | ONNX ms | PyTorch ms | ratio |\n|---|---:|---:|---:|---:|")
    for name in filter(None, options.only.split(",")):
        for nodes in map(int, options.nodes.split(",")):
            show(name, nodes, options.repeats, partial(write, NETWORKS[name](nodes)))
    for symbol in sorted(options.models.glob("*-symbol.json")) if options.models else ():
        nodes = sum(node["op"] != "null" for node in json.loads(symbol.read_bytes())["nodes"])
        name = f"`convert` of {symbol.name.removesuffix('-symbol.json')}"
        show(name, nodes, options.repeats, partial(convert, symbol))
    return 0


if __name__ == "__main__":
    sys.exit(main())
