"""Live TensorFlow as an oracle, in a child process.

`Live` starts this module as a program in an interpreter that has TensorFlow: the running one, or the one that the
environment variable GRAPHIR_TENSORFLOW_PYTHON names. Graph optimisations and oneDNN are off: the plain kernels.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.equivalence.live import Arrays, read_message, write_message

SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
GRAPH = "graph"


class LiveError(Exception):
    """TensorFlow refused a graph or its inputs; the text is TensorFlow's."""


class Live:
    """A running TensorFlow. Use it as a context manager; `run` may be called any number of times."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
            self._child.wait(timeout=60)
            self._child = None

    def run(self, graph: bytes, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str]) -> list[NDArray[Any]]:
        """The outputs (`node:slot`) of a GraphDef. Raises LiveError with TensorFlow's words, ImportError without it."""
        if self._child is None:
            # as a module: run as a file its folder would come first, in which `random` is a table of cases
            command = [os.environ.get("GRAPHIR_TENSORFLOW_PYTHON", sys.executable), "-m", "tests.tensorflow.live"]
            root = Path(__file__).resolve().parents[2]
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | SETTINGS, cwd=root
            )
        child = self._child
        if child.stdin is None or child.stdout is None:
            raise LiveError("the child process has no pipes")
        named = {f"feed{index}": array for index, array in enumerate(feeds.values())}
        try:
            write_message(
                child.stdin,
                {"outputs": list(outputs), "feeds": list(feeds)},
                {GRAPH: np.frombuffer(graph, np.uint8), **named},
            )
            header, results = read_message(child.stdout)
        except (EOFError, BrokenPipeError) as error:
            self._child = None
            raise LiveError(f"TensorFlow's process ended with {child.wait()}") from error
        if "missing" in header:
            raise ImportError(header["missing"])
        if "error" in header:
            raise LiveError(header["error"])
        return [results[f"output{index}"] for index in range(len(outputs))]


def compute(tf: Any, graph: bytes, feeds: Arrays, outputs: Sequence[str]) -> list[NDArray[Any]]:
    """The outputs by a session of version 1. Raises TensorFlow's own errors."""
    v1 = tf.compat.v1
    definition = v1.GraphDef.FromString(graph)
    from tensorflow.core.protobuf import rewriter_config_pb2

    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    with tf.Graph().as_default() as made, v1.Session(graph=made, config=config) as session:
        v1.import_graph_def(definition, name="")
        fed = {f"{name}:0": array for name, array in feeds.items()}
        return [np.asarray(value) for value in session.run(list(outputs), fed)]


def serve() -> None:
    """Answer messages on stdin until it ends; TensorFlow's own output goes to stderr."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    missing = ""
    try:
        tf: Any = importlib.import_module("tensorflow")
    except ImportError as error:
        missing = str(error) or "tensorflow is not installed"
    while True:
        try:
            request, arrays = read_message(sys.stdin.buffer)
        except EOFError:
            return
        if missing:
            write_message(replies, {"missing": missing}, {})
            continue
        graph = arrays.pop(GRAPH).tobytes()
        feeds = {name: arrays[f"feed{index}"] for index, name in enumerate(request["feeds"])}
        try:
            results = compute(tf, graph, feeds, request["outputs"])
        except Exception as error:
            write_message(replies, {"error": f"{type(error).__name__}: {error}"}, {})
            continue
        write_message(replies, {}, {f"output{index}": value for index, value in enumerate(results)})


if __name__ == "__main__":
    serve()
