"""The limits of memory and time hold for live MXNet and live TensorFlow themselves, not only for stand-ins."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import GIB, Live, LiveOutOfMemory, LiveTooSlow
from graphir.converters.mxnet.live.process import LiveProcess
from graphir.converters.mxnet.source import open_source
from graphir.converters.tensorflow.live.process import LiveTensorFlow
from tests.requirements import missing
from tests.tensorflow.written import write_models

MEMORY = 4  # GiB, of which TensorFlow takes 2 to start
ELEMENTS = 1 << 30  # of float32: 4 GiB
SIDE, PRODUCTS = 4096, 4000  # products of 137 GFLOP each, 550 TFLOP together
PROGRAM = f"""
import sys
import tensorflow as tf

with tf.Graph().as_default() as graph:
    data = tf.compat.v1.placeholder(tf.float32, ({SIDE}, {SIDE}), name="data")
    tf.reduce_sum(tf.raw_ops.Fill(dims=tf.cast([{ELEMENTS} + 0 * data[0, 0]], tf.int64), value=1.0), name="memory")
    product = data
    for _ in range({PRODUCTS}):
        product = tf.matmul(product, data)
    tf.identity(product, name="time")
    tf.io.write_graph(graph, sys.argv[1], "caps.pb", as_text=False)
"""
Run = Callable[[str], Any]


def square() -> dict[str, NDArray[np.float32]]:
    """Return the input of both."""
    return {"data": np.ones((SIDE, SIDE), np.float32)}


def mxnet_symbol() -> str:
    """A graph whose results are `memory` and `time`."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": "data", "inputs": []}]
    nodes.append({"op": "_ones", "name": "large", "attrs": {"shape": f"({ELEMENTS},)"}, "inputs": []})
    nodes.append({"op": "sum", "name": "memory", "inputs": [[1, 0, 0]]})
    for index in range(PRODUCTS):
        name = "time" if index == PRODUCTS - 1 else f"product{index}"
        nodes.append({"op": "dot", "name": name, "inputs": [[len(nodes) - 1 if index else 0, 0, 0], [0, 0, 0]]})
    heads = [[2, 0, 0], [len(nodes) - 1, 0, 0]]
    attributes = {"mxnet_version": ["int", 10901]}
    return json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": heads, "attrs": attributes})


@contextmanager
def live_mxnet(folder: Path) -> Iterator[tuple[ChildProcess, Run]]:
    symbol, data = open_source(mxnet_symbol(), {}).symbol, square()
    process = LiveProcess(sys.executable, symbol, {}, onednn=False, live=Live(None, 300, MEMORY))
    yield process, lambda name: list(process.evaluate(data, [f"{name}_output"]))
    process.close()


@contextmanager
def live_tensorflow(folder: Path) -> Iterator[tuple[ChildProcess, Run]]:
    (folder / "write.py").write_text(PROGRAM)
    write_models(folder / "write.py", folder)
    model = LiveTensorFlow(folder / "caps.pb", ["memory", "time"], sys.executable, live=Live(None, 300, MEMORY))
    data = square()
    process = model._process = model._start(data)
    yield process, lambda name: model.run(data, [name])
    model.close()


@pytest.mark.live
@pytest.mark.parametrize(("framework", "start"), [("mxnet", live_mxnet), ("tensorflow", live_tensorflow)])
def test_memory_and_time_of_a_live_framework(tmp_path: Path, framework: str, start: Any) -> None:
    if find_spec(framework) is None:
        missing({"mxnet": "MXNet", "tensorflow": "TensorFlow"}[framework], f"{framework} is not installed")
    with start(tmp_path) as (process, run), pytest.raises(LiveOutOfMemory, match=f"of which it may take {MEMORY} GiB"):
        run("memory")
    with start(tmp_path) as (process, run):
        child = process._child.pid
        assert f"Max data size {MEMORY * GIB}" in " ".join(Path(f"/proc/{child}/limits").read_text().split())
        process._limits = replace(process._limits, seconds=2)
        with pytest.raises(LiveTooSlow, match="took more than 2 seconds and was ended"):
            run("time")
        process.close()
        assert not os.path.exists(f"/proc/{child}")
