"""What ends, hangs or fills onnxruntime is a verdict with the node, not the end of the process that asked."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphir
from graphir import Live, VerificationReport
from graphir.cli import main
from graphir.converters.kernel.live import Live as Limited
from graphir.converters.onnx.evaluator import onnx_evaluator
from graphir.errors import FormatError, VerificationError
from graphir.registry.buckets import Bucket
from graphir.registry.jobs import ConversionPlan
from graphir.registry.run import convert_all
from graphir.safety.isolation import Caps, RunEnded, can_fork, forwarded, run_isolated, step
from graphir.verification.options import ComparisonOptions
from graphir.verification.verdict import Verdict

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux, where no GPU is open")
LARGEST = np.iinfo(np.int64).max
Array = np.ndarray[Any, Any]


Inputs = dict[str, tuple[int, list[Any]]]
value = helper.make_tensor_value_info
INT, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def node(operator: str, operands: list[str], result: str, **attributes: Any) -> onnx.NodeProto:
    """A node that is called like its operator, in small letters."""
    return helper.make_node(operator, operands, [result], name=operator.lower(), **attributes)


def save(folder: Path, name: str, nodes: list[onnx.NodeProto], inputs: Inputs, **weights: Any) -> Path:
    """A model whose output is z, written as an .onnx file."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(key, *of) for key, of in inputs.items()],
        [onnx.ValueInfoProto(name="z")],
        [onnx.numpy_helper.from_array(np.asarray(array), key) for key, array in weights.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    if not inferred.graph.output[0].HasField("type"):
        inferred.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", FLOAT, None))
    onnx.save(inferred, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def divides(folder: Path) -> tuple[Path, dict[str, Array]]:
    """The smallest int64 by -1: SIGFPE."""
    nodes = [node("Add", ["x", "zero"], "a"), node("Div", ["a", "y"], "z")]
    path = save(folder, "divides", nodes, {name: (INT, [2]) for name in "xy"}, zero=np.zeros(1, np.int64))
    return path, {"x": np.array([-LARGEST - 1, 1]), "y": np.array([-1, 1])}


def hangs(folder: Path) -> tuple[Path, dict[str, Array]]:
    """A loop without an end."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["more"], ["on"]), helper.make_node("Add", ["v", "x"], ["w"])], "body",
        [value("i", INT, []), value("more", BOOL, []), value("v", FLOAT, [1])],
        [value("on", BOOL, []), value("w", FLOAT, [1])],
    )  # fmt: skip
    nodes = [node("Relu", ["x"], "r"), node("Loop", ["", "yes", "r"], "z", body=body)]
    path = save(folder, "hangs", nodes, {"x": (FLOAT, [1])}, yes=np.array(True))
    return path, {"x": np.ones(1, np.float32)}


def fills(folder: Path) -> tuple[Path, dict[str, Array]]:
    """A result of 64 GiB."""
    nodes = [node("Relu", ["x"], "r"), node("Expand", ["r", "n"], "z")]
    path = save(folder, "fills", nodes, {"x": (FLOAT, [1]), "n": (INT, [1])})
    return path, {"x": np.ones(1, np.float32), "n": np.array([1 << 34])}


ENDINGS: list[tuple[Callable[[Path], tuple[Path, dict[str, Array]]], str]] = [
    (divides, "onnxruntime was ended by SIGFPE in the run of the {role}, at Div div"),
    (hangs, "onnxruntime took more than 2 seconds in the run of the {role}, at Loop loop; --live-seconds"),
    (fills, "out of memory: onnxruntime failed to run the {role}: .*expand"),
]
LIMITS = Limited(None, 2, 4)


@pytest.mark.parametrize(("model", "reason"), ENDINGS, ids=[model.__name__ for model, _ in ENDINGS])
def test_an_end_is_a_verdict(tmp_path: Path, model: Any, reason: str) -> None:
    path, feeds = model(tmp_path)
    report = graphir.verify(path, path, feeds=feeds, python=LIMITS)
    check(report, reason, "(reference|candidate) " + path.name)
    text = report.to_text()
    assert text.startswith("NOT PROVEN: ")
    assert report.to_json()["verdict"] == "not proven"


@pytest.mark.parametrize(("model", "reason"), ENDINGS, ids=[model.__name__ for model, _ in ENDINGS])
def test_a_conversion_is_written_and_not_proven(tmp_path: Path, model: Any, reason: str) -> None:
    path, feeds = model(tmp_path)
    np.savez(tmp_path / "feeds.npz", **feeds)
    how = graphir.ComparisonOptions(live=LIMITS, feeds=tmp_path / "feeds.npz")
    converted = graphir.convert(path, tmp_path / "out.onnx", verify=True, comparison=how)
    assert converted.verification is not None
    check(converted.verification, reason, "(reference|candidate) .*")
    assert (tmp_path / "out.onnx").exists()


def test_sizes_that_were_made_up_are_told_where_a_run_ends(tmp_path: Path) -> None:
    """Of the usual 32 columns onnxruntime is ended: the smallest int64 by -1."""
    nodes = [node("Size", ["x"], "n"), node("Sub", ["n", "count"], "d"), node("Div", ["least", "d"], "q"),
             node("Mul", ["x", "q"], "z")]  # fmt: skip
    weights = {"count": np.array(2 * 32 + 1), "least": np.array(-LARGEST - 1)}
    path = save(tmp_path, "sizes", nodes, {"x": (INT, [2, "N"])}, **weights)
    report = graphir.convert(path, tmp_path / "out.onnx", verify=True).verification
    assert report is not None
    assert report.exit_code == 5
    assert any("x is int64[2, N]): give them with -i" in note for note in report.notes), report.notes


def check(report: VerificationReport, reason: str, role: str) -> None:
    """Hold a report against how a run has ended."""
    import re

    assert report.verdict is Verdict.NOT_PROVEN
    assert report.exit_code == 5
    (said,) = report.unproven
    assert re.match(reason.format(role=role), said), said


def test_the_command_ends_with_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, feeds = divides(tmp_path)
    np.savez(tmp_path / "feeds.npz", **feeds)
    assert main(["verify", str(path), str(path), "--feeds", str(tmp_path / "feeds.npz")]) == 5
    assert "at Div div" in capsys.readouterr().out
    words = ["convert", str(path), str(tmp_path / "o.onnx"), "--verify", "--feeds", str(tmp_path / "feeds.npz")]
    assert main([*words, "--report", str(tmp_path / "r.html")]) == 5
    assert "at Div div" in (tmp_path / "r.html").read_text()


def test_in_a_registry_it_is_a_verdict_too(tmp_path: Path) -> None:
    path, feeds = divides(tmp_path)
    np.savez(tmp_path / "feeds.npz", **feeds)
    how = ComparisonOptions(str(tmp_path / "feeds.npz"))
    report = convert_all([path], tmp_path / "out", ConversionPlan(verify=True, how=how))
    (outcome,) = report.outcomes
    assert (outcome.bucket, "at Div div" in outcome.detail) == (Bucket.NOT_PROVEN, True)
    assert [name for name, _ in outcome.files] == ["divides.onnx"]


def test_constants_that_end_onnxruntime_are_not_computed(tmp_path: Path) -> None:
    """A lowering computes constants by onnxruntime: what ends that is left in the graph."""
    operands = {"a": np.array([-LARGEST - 1]), "b": np.array([-1]), "c": np.array([5])}
    deadly = graphir.load(save(tmp_path, "deadly", [node("Div", ["a", "b"], "z")], {}, **operands))
    harmless = graphir.load(save(tmp_path, "harmless", [node("Div", ["c", "b"], "z")], {}, **operands))
    found = onnx_evaluator()(harmless)
    assert found is not None
    assert found["z"].tolist() == [-5]
    assert onnx_evaluator()(deadly) is None


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path, feeds = divides(tmp_path)
    graphir.verify(graphir.load(path), graphir.load(path), feeds=feeds)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert children() == set()


def children() -> set[int]:
    """This process's children."""
    return {int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()} - SERVERS


SERVERS: set[int] = set()


@pytest.fixture(autouse=True)
def _known_children() -> None:
    SERVERS.clear()
    SERVERS.update(children())


CAPS = Caps(60)


def test_results_and_errors_come_back() -> None:
    held = np.arange(4)
    assert run_isolated(lambda: (os.getpid(), held + 1)[1].tolist(), CAPS) == [1, 2, 3, 4]
    assert run_isolated(os.getpid, CAPS) != os.getpid()
    for error in (VerificationError("one"), FormatError("two", path="f", offset=3), KeyError("three")):
        error.add_note("a note")
        with pytest.raises(type(error)) as raised:
            run_isolated(lambda error=error: raise_(error), CAPS)  # type: ignore[misc]
        assert (str(raised.value), raised.value.__notes__) == (str(error), ["a note"])
        assert "raise_" in str(raised.value.__cause__)
    with pytest.raises(VerificationError, match="cannot be pickled"):
        run_isolated(lambda: raise_(Unportable(lambda: None)), CAPS)


class Unportable(VerificationError):
    """What pickle cannot write."""

    def __init__(self, held: Any) -> None:
        super().__init__("cannot be pickled")
        self.held = held


def raise_(error: Exception) -> None:
    raise error


class Waits:
    """What waits, when it goes, for a thread that only the process has which made it; here a child ends instead."""

    def __init__(self) -> None:
        self.process, self.own = os.getpid(), self

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(3)


def test_a_child_leaves_the_garbage_of_its_parent() -> None:
    Waits()
    assert run_isolated(gc.collect, Caps(60)) >= 0


def test_what_is_told_is_told_here() -> None:
    told: list[tuple[int, str]] = []
    tell = forwarded(lambda text: told.append((os.getpid(), text)))
    assert tell is not None
    run_isolated(lambda: tell("half"), CAPS, lambda text: told.append((os.getpid(), text)))
    assert told == [(os.getpid(), "half")]


@pytest.mark.parametrize("how, said", [
    (lambda: os._exit(3), "ended the process that it ran in (status 3) in what it did between runs"),
    (lambda: os.abort(), "was ended by SIGABRT in what it did between runs"),
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by SIGKILL; the system may have had no memory left in "),
])  # fmt: skip
def test_every_end_is_told(how: Any, said: str) -> None:
    with pytest.raises(RunEnded) as raised:
        run_isolated(how, CAPS)
    assert said in str(raised.value)


def late() -> None:
    with step("the run of", None):
        time.sleep(600)


def test_only_a_step_is_too_late() -> None:
    run_isolated(lambda: time.sleep(1.5), Caps(1))
    with pytest.raises(RunEnded, match=r"took more than 0\.5 seconds in the run of"):
        run_isolated(late, Caps(0.5))


def test_memory_is_limited_beyond_what_there_is() -> None:
    assert run_isolated(lambda: len(bytearray(1 << 28)), Caps(60, 1 << 29)) == 1 << 28
    with pytest.raises(MemoryError):
        run_isolated(lambda: len(bytearray(1 << 30)), Caps(60, 1 << 29))


def test_threads_compare_at_once(tmp_path: Path) -> None:
    path, feeds = divides(tmp_path)
    found: list[VerificationReport] = []
    threads = [threading.Thread(target=lambda: found.append(graphir.verify(path, path, feeds=feeds))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.verdict for report in found] == 3 * [Verdict.NOT_PROVEN]


# A program that a shell starts in the background ignores SIGINT, and hands that on.
PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from graphir.safety.isolation import Caps, run_isolated
run_isolated(lambda: (print("ready", flush=True), time.sleep(600)), Caps(600))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_child_ends_with_its_parent(number: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(number)
        process.wait(30)
    end = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_graphs_and_functions_of_this_process_are_compared(tmp_path: Path) -> None:
    """What no other program could be handed: graphs in memory, which share weights, and a function that is told."""
    path = save(tmp_path, "soft", [helper.make_node("Softmax", ["x"], ["z"])], {"x": (FLOAT, ["N", 4])})
    told: list[str] = []
    graph = graphir.load(path)
    assert graphir.verify(graph, graph, python=Live()).ok
    graphir.convert(path, tmp_path / "again.onnx", verify=True, progress=told.append)
    assert "verifying" in told
