"""What the graph itself costs, in user CPU microseconds a node: built, checked, inferred, copied, saved and loaded.

    python benchmarks/graph.py [--nodes 10000,100000,1000000] [--wide 1000,2000,4000,8000]

The graph is a chain of blocks of a convolution, an addition, an activation and a reshaping, with a parameter for every
second node, so that types are found by several rules. Each size runs in a process of its own. Costs that stay the same
from row to row are linear. The second table replaces each of so many outputs, and each operand of one node.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphir import Graph, Tensor, TensorType, Value, infer_types
from graphir.ops.activation import LeakyRelu, Relu
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add
from graphir.ops.shape_parts import Concat
from graphir.padding import Explicit
from graphir.passes.clone import clone
from graphir.serial.reader import load_graph
from graphir.serial.writer import save_graph
from graphir.types import DType

PLAIN = TensorType(DType.FLOAT32, (1, 4, 8, 8))


def build(nodes: int) -> Graph:
    """A chain of that many nodes."""
    graph = Graph("chain")
    value = graph.add_input("data", PLAIN)
    weight, bias = Tensor.of(np.ones((4, 4, 3, 3), np.float32)), Tensor.of(np.ones((4, 1, 1), np.float32))
    padding = Explicit(((1, 1), (1, 1)))
    for block in range(nodes // 4):
        name = f"block{block}"
        kernel = graph.add_parameter(f"{name}_weight", weight)
        value = graph.add(Conv((3, 3), (1, 1), padding=padding), value, kernel, name=f"{name}_conv")
        value = graph.add(Add(), value, graph.add_parameter(f"{name}_bias", bias), name=f"{name}_add")
        value = graph.add(Relu(), value, name=f"{name}_relu")
        value = graph.add(LeakyRelu(0.1), value, name=f"{name}_leaky")
    graph.set_outputs([value])
    return graph


def measured(action: Callable[[], object]) -> tuple[float, object]:
    """Seconds of user CPU time, and what the action gave."""
    gc.collect()
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    found = action()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - start, found


def report(nodes: int) -> None:
    """Print a row of the first table."""
    costs = []
    cost, graph = measured(lambda: build(nodes))
    costs.append(cost)
    assert isinstance(graph, Graph)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.graphir.json"
        for action in (
            graph.check,
            lambda: infer_types(graph),
            lambda: clone(graph),
            lambda: save_graph(graph, path),
            lambda: load_graph(path),
        ):
            costs.append(measured(action)[0])
    print(f"{nodes:>9}" + "".join(f"{cost / nodes * 1e6:>9.1f}" for cost in costs), flush=True)


def all_of(graph: Graph, pairs: list[tuple[Value, Value]]) -> None:
    """Replace the first of each pair by the second."""
    for old, new in pairs:
        graph.replace_uses(old, new)


def replace_outputs(count: int) -> float:
    """Seconds to replace each of so many outputs."""
    graph = Graph("outputs")
    x = graph.add_input("x", PLAIN)
    graph.set_outputs([graph.add(Relu(), x) for _ in range(count)])
    pairs = [(value, graph.add(Relu(), x)) for value in graph.outputs]
    return measured(lambda: all_of(graph, pairs))[0]


def replace_operands(count: int) -> float:
    """Seconds to replace each operand of a node of so many slots."""
    graph = Graph("wide")
    old = [graph.add_input(f"x{place}", PLAIN) for place in range(count)]
    new = graph.add_input("new", PLAIN)
    graph.add(Concat(0), *old)
    return measured(lambda: all_of(graph, [(value, new) for value in old]))[0]


def make_wide(count: int) -> float:
    """Seconds to add, check and infer a node of so many slots that are one value, and to give that another."""
    graph = Graph("wide")
    old, new = graph.add_input("old", PLAIN), graph.add_input("new", PLAIN)

    def action() -> None:
        graph.add(Concat(0), *[old] * count)
        graph.replace_uses(old, new)
        graph.check()
        infer_types(graph)

    return measured(action)[0]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="10000,100000,1000000", help="sizes of graphs, comma-separated")
    parser.add_argument("--wide", default="1000,2000,4000,8000", help="numbers of outputs and of operands")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        report(options.row)
        return
    print("us a node   build    check    infer    clone     save     load", flush=True)
    for nodes in options.nodes.split(","):
        subprocess.run([sys.executable, __file__, "--row", nodes], check=True)
    print("\nus each    outputs  operands  one node")
    for text in options.wide.split(","):
        count = int(text)
        rows = [replace_outputs(count), replace_operands(count), make_wide(count)]
        print(f"{count:>9}" + "".join(f"{seconds / count * 1e6:>10.2f}" for seconds in rows), flush=True)


if __name__ == "__main__":
    main()
