"""The memory that a comparison takes beside the weights, and that a small budget changes nothing but that."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphir import ComparisonOptions, verify
from graphir.converters.onnx.files.value_sizes import value_sizes, weight_bytes
from graphir.errors import ArgumentError
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.slices import HELD_OF_EACH, held_at_once, in_slices

MB = 1 << 20
LAYERS, ROWS, WIDTH = 40, 512, 2048
VALUE = ROWS * WIDTH * 4
WEIGHTS = 12 * VALUE
BUDGET = 40 * MB
LINUX = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from Linux' /proc"
)
PEAK = """
import json, sys, threading, time
from pathlib import Path
import graphir.verification.models, graphir.converters.onnx, onnxruntime, onnx
from graphir import ComparisonOptions, verify
print("ready", flush=True); sys.stdin.readline()
how = ComparisonOptions(memory_budget=int(sys.argv[3]))
report = verify(sys.argv[1], sys.argv[2], per_layer=True, feeds="normal", comparison=how)
found = [len(report.layers), report.verdict.value, report.notes, report.coverage]
print(json.dumps(found), flush=True); sys.stdin.readline()
"""


def network(path: Path, scale: float = 1.0) -> Path:
    """A chain of 40 layers of 4 MB, twelve of them products with weights of 4 MB; `scale` is what the last is
    multiplied by."""
    generator = np.random.Generator(np.random.PCG64(5))
    nodes: list[Any] = []
    weights: list[Any] = []
    last = "x"
    for layer in range(LAYERS):
        if len(weights) < 12 and layer % 3 == 1:
            array = generator.uniform(0.5, 1.5, (ROWS, WIDTH)).astype(np.float32)
            weights.append(numpy_helper.from_array(array, f"w{layer}"))
            nodes.append(helper.make_node("Mul", [last, f"w{layer}"], [f"v{layer}"]))
        else:
            nodes.append(helper.make_node("Abs" if layer % 2 else "Tanh", [last], [f"v{layer}"]))
        last = f"v{layer}"
    weights.append(numpy_helper.from_array(np.array([scale], np.float32), "scale"))
    nodes.append(helper.make_node("Mul", [last, "scale"], ["y"]))
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, WIDTH]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", types[:1], types[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The network, and the same in another file whose results differ by rounding."""
    folder = tmp_path_factory.mktemp("budget")
    return network(folder / "a.onnx"), network(folder / "b.onnx", 1.0000001)


def resident(pid: int) -> int:
    """Return the bytes of memory that a process or a child of it has, whichever has more, mapped files included."""
    most = 0
    for process in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
        with suppress(OSError):  # it has ended
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            most = max(most, next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0))
    return most


def peak_above_imports(*arguments: object, code: str = PEAK) -> tuple[int, Any]:
    """How much memory a comparison in a process of its own takes at most, and what it found."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        floor = resident(child.pid)
        held = [floor]
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                held.append(resident(child.pid))
                time.sleep(0.002)

        watching = threading.Thread(target=watch)
        watching.start()
        child.stdin.write("\n")
        child.stdin.flush()
        found = json.loads(child.stdout.readline() or "[]")
        done.set()
        watching.join()
        child.stdin.write("\n")
    return max(held) - floor, found


@LINUX
def test_the_budget_holds(pair: tuple[Path, Path]) -> None:
    """All layers of one model are four times the budget."""
    assert LAYERS * VALUE > 3 * BUDGET
    assert weight_bytes(pair[0]) - WEIGHTS == 4
    peak, found = peak_above_imports(*pair, BUDGET)
    assert found[:2] == [LAYERS + 1, "noise"]
    assert peak < 1.5 * WEIGHTS + BUDGET
    assert not [note for note in found[2] if "does not hold" in note]
    assert [line.split(" never")[0] for line in found[3]] == ["Abs: anything below 0"], "it was measured"


@LINUX
def test_what_is_measured_is_not_held_until_the_end(pair: tuple[Path, Path]) -> None:
    """A run that measures all layers holds few of them at a time, as one that does not."""
    code = """
import sys
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.coverage import coverage
import graphir.converters.onnx.probes, graphir.converters.onnx.files.value_sizes, numpy as np, onnx
feeds = {"x": np.ones((512, 2048), np.float32)}
candidate = OnnxCandidate(sys.argv[1])
candidate.fit(feeds)
print("ready", flush=True); sys.stdin.readline()
print(len(coverage(candidate, [lambda: feeds])), flush=True); sys.stdin.readline()
"""
    peak, lines = peak_above_imports(pair[0], code=code)
    assert lines == 1
    assert peak < WEIGHTS + 6 * VALUE


def test_a_small_budget_changes_no_result(pair: tuple[Path, Path]) -> None:
    small, large = (
        verify(*pair, per_layer=True, feeds="normal", comparison=ComparisonOptions(memory_budget=size))
        for size in (BUDGET, 1 << 30)
    )
    assert large.notes == []
    assert [note.split(":")[0] for note in small.notes] == ["the weights are larger than the memory budget of 42 MB"]
    assert small.layers == large.layers
    assert [(one.name, one.verdict) for one in small.outputs] == [(one.name, one.verdict) for one in large.outputs]


def test_what_cannot_be_cut_is_said(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    with OnnxCandidate(pair[0], memory=VALUE) as candidate:
        feeds = {"x": np.zeros((ROWS, WIDTH), np.float32)}
        said = candidate.beyond_budget(feeds, per_layer=True)
        assert "the memory budget of 4 MB does not hold" in said
        assert f"take {HELD_OF_EACH * VALUE / 1e6:.0f} MB" in said
        assert candidate.slices(["v0", "v1", "v2"], feeds, 2 * VALUE) == [["v0", "v1"], ["v2"]]
    with OnnxCandidate(pair[0], memory=HELD_OF_EACH * VALUE) as candidate:
        assert candidate.beyond_budget(feeds, per_layer=True) == ""


def test_sizes_of_values(pair: tuple[Path, Path]) -> None:
    found = value_sizes(pair[0], {"x": (ROWS, WIDTH)})
    assert found == {**{f"v{layer}": VALUE for layer in range(LAYERS)}, "y": VALUE}
    with OnnxCandidate(pair[0]) as candidate:
        assert held_at_once(candidate.structure, found) == 2 * VALUE


@pytest.mark.parametrize(
    "sizes, most, parts",
    [
        ({}, 0, [["a", "b", "c"]]),
        ({"a": 1, "b": 1, "c": 1}, 3, [["a", "b", "c"]]),
        ({"a": 1, "b": 1, "c": 1}, 2, [["a", "b"], ["c"]]),
        ({"a": 9, "b": 1, "c": 1}, 2, [["a"], ["b", "c"]]),
        ({"b": 2}, 3, [["a"], ["b"], ["c"]]),
    ],
)
def test_slices(sizes: dict[str, int], most: int, parts: list[list[str]]) -> None:
    assert in_slices("abc", sizes, most) == parts


@pytest.mark.parametrize("budget", [0, -1, 1.5, "1GB"])
def test_what_is_no_budget(budget: Any, pair: tuple[Path, Path]) -> None:
    with pytest.raises(ArgumentError, match="memory_budget"):
        verify(*pair, comparison=ComparisonOptions(memory_budget=budget))
