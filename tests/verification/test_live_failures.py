"""Interpreters that fail in every way that one can: each is a result that says how, and then the next judge."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import Live, convert, verify
from graphir.cli import main
from graphir.converters.formats import Judge
from graphir.converters.kernel import child_limits
from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import LiveCrashed, LiveFailed, LiveOutOfMemory, LiveTooSlow
from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.references import LiveMXNet, ReferenceEvaluator
from graphir.converters.tensorflow.references import judges as tensorflow_judges
from graphir.errors import ArgumentError, VerificationError
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from graphir.verification.report import VerificationReport
from tests.verification import models

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins for the interpreter are scripts")

READY = "echo '{\"version\": \"9.9\"}'; read line;"
PYTHON = sys.executable
# name, what a shell does in the interpreter's place, the error, what is said of it
FAILURES = [
    ("exits", "exit 3", LiveCrashed, "ended with status 3"),
    ("exits with words", "echo 'libcudart.so not found' >&2; exit 127", LiveCrashed, "127: libcudart.so not"),
    ("says nonsense", "echo hello; exec sleep 60", LiveCrashed, "said what is no answer and was ended"),
    ("says a number", "echo 3; exit 0", LiveCrashed, "ended with status 0"),
    ("crashes at once", "kill -SEGV $$", LiveCrashed, "was ended by SIGSEGV"),
    ("crashes when asked", READY + "echo 'bad kernel' >&2; kill -ABRT $$", LiveCrashed, "SIGABRT: bad kernel"),
    ("ends within an answer", READY + "echo '{\"name\": \"x\"}'; printf '\\223NUMPY'", LiveCrashed, "status 0"),
    ("hangs at once", "sleep 60", LiveTooSlow, "took more than 1 seconds and was ended; --live-seconds or "),
    ("hangs when asked", READY + "sleep 60", LiveTooSlow, "took more than 1 seconds"),
    ("talks without end", READY + "while true; do echo '{\"name\"'; done", LiveCrashed, "said what is no answer"),
    ("eats memory", READY + f"exec {PYTHON} -c 'x = bytearray(1 << 40)'", LiveOutOfMemory,
     "ran out of memory, of which it may take 1 GiB; --live-memory or GRAPHIR_LIVE_MEMORY raises the limit: Memory"),
    ("eats memory in C++", READY + "echo \"what():  std::bad_alloc\" >&2; kill -ABRT $$", LiveOutOfMemory, "bad_alloc"),
    ("is ended by the system", READY + "kill -KILL $$", LiveOutOfMemory, "ended by SIGKILL, as a system does"),
    ("says that it lacks memory", READY + "echo '{\"error\": \"x\", \"memory\": true}'", LiveOutOfMemory, "may.*: x"),
    ("TensorFlow's word for it", READY + "echo '{\"error\": \"OOM when allocating tensor\"}'", LiveOutOfMemory, "OOM"),
]  # fmt: skip
IDS = [row[0] for row in FAILURES]
ROWS = [row[1:] for row in FAILURES]


def stand_in(folder: Path, does: str) -> str:
    """An executable that does this in an interpreter's place."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def limits(folder: Path, does: str, error: type[LiveFailed]) -> Live:
    """Return the limits of a stand-in. Only one that hangs is ended soon: others may start late on a busy machine."""
    return Live(stand_in(folder, does), seconds=1 if error is LiveTooSlow else 60, memory=1)


def checkpoint(folder: Path) -> Path:
    """The small net as files; its prefix."""
    (folder / "net-symbol.json").write_text(models.NET)
    prefixes = {name: "aux:" if "moving" in name else "arg:" for name in models.SHAPES}
    arrays = {prefixes[name] + name: array for name, array in models.net_params().items()}
    write_params(folder / "net-0000.params", arrays)
    return folder / "net"


@pytest.mark.one_of(8)
@pytest.mark.parametrize("does, error, said", ROWS, ids=IDS)
def test_a_failure_is_a_result(tmp_path: Path, does: str, error: type[LiveFailed], said: str) -> None:
    python = limits(tmp_path, does, error)
    prefix, shapes = checkpoint(tmp_path), {"data": (2, 3, 8, 8)}
    report = verify(prefix, models.net_graph(), shapes=shapes, python=python)
    assert report.ok
    assert report.reference == "graphir's numpy reference of MXNet"
    (note,) = [note for note in report.notes if "stands in for MXNet, which gave no answer" in note]
    assert f"live MXNet ({python.python})" in note
    with pytest.raises(error, match=said):
        verify(prefix, models.net_graph(), shapes=shapes, python=python, against="live")


@pytest.mark.parametrize("does, error, said", ROWS, ids=IDS)
def test_a_failure_of_tensorflow_is_a_result(
    tmp_path: Path, does: str, error: type[LiveFailed], said: str
) -> None:
    live = limits(tmp_path, does, error)
    first, second = tensorflow_judges(tmp_path, ["y"], None, "auto", live)
    assert first.reference is not None
    assert second.reference is None
    assert [kind for kind in first.gives_way if issubclass(error, kind)] == [LiveFailed]
    (only,) = tensorflow_judges(tmp_path, ["y"], None, "live", live)
    assert not only.gives_way


def test_what_a_failure_looks_like(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = checkpoint(tmp_path)
    python = stand_in(tmp_path, READY + "kill -SEGV $$")
    words = ["convert", str(prefix), str(tmp_path / "net.onnx"), "-i", "data:2,3,8,8", "--verify", "--python", python]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"which gave no answer: live MXNet ({python}) was ended by SIGSEGV" in " ".join(said.split())
    assert main([*words, "--against", "live"]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"graphir: error: live MXNet ({python}) was ended by SIGSEGV")
    assert "Traceback" not in out + err


@pytest.mark.parametrize("options, said", [
    (["--python", "/nothing/python"], "'/nothing/python' is not an executable program"),
    (["--python", PYTHON, "--against", "reference"], "runs no live framework, for which python names an interpreter"),
    (["--live-seconds", "0"], "invalid value: '0'; write a number above 0"),
    (["--live-memory", "much"], "invalid value: 'much'"),
])  # fmt: skip
def test_options_that_say_nothing(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = str(checkpoint(tmp_path))
    try:
        code = main(["verify", prefix, prefix, *options])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code in (1, 2)
    assert said in capsys.readouterr().err


def test_an_interpreter_that_is_not_needed_is_said(tmp_path: Path) -> None:
    graph = models.net_graph()
    report = verify(graph, graph, python=PYTHON)
    assert f"{PYTHON} was not used: no live framework computes the reference" in report.notes
    with pytest.raises(VerificationError, match="which python names an interpreter"):
        verify(graph, graph, python=PYTHON, against="reference")
    converted = convert(checkpoint(tmp_path), tmp_path / "net.onnx", shapes={"data": (2, 3, 8, 8)}, verify=True)
    assert converted.verification is not None
    assert not [note for note in converted.verification.notes if "not used" in note]


WRONG: Any = 3


@pytest.mark.parametrize("made", [lambda: Live(seconds=0), lambda: Live(memory=-1), lambda: Live(seconds=float("nan")),
                                  lambda: Live(python=WRONG), lambda: verify("a", "b", python=WRONG)])  # fmt: skip
def test_limits_that_are_none(made: object) -> None:
    with pytest.raises(ArgumentError):
        made()  # type: ignore[operator]


class Echo(ChildProcess):
    """A program that answers what its script says."""

    framework, missing = "Echo", VerificationError


SAY = """
import json, os, sys
own = "/modules/of/this/one" in sys.path
print(json.dumps({"version": "1", "python": os.environ.get("PYTHONPATH"), "own": own, "here": os.getcwd()}))
"""


def test_another_interpreter_gets_no_modules_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/modules/of/this/one")
    monkeypatch.syspath_prepend("/modules/of/this/one")
    (tmp_path / "say.py").write_text(SAY)
    first = Echo(PYTHON).start(tmp_path / "say.py", [], {})
    assert (first["python"], first["own"]) == (None, True)
    link = tmp_path / "bin" / "python"
    link.parent.mkdir()
    link.symlink_to(PYTHON)
    other = Echo(str(link)).start(tmp_path / "say.py", [], {})
    assert (other["python"], other["own"]) == (None, False)


def test_a_relative_path_is_one_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "say.py").write_text(SAY)
    stand_in(tmp_path, f'exec {PYTHON} "$@"')
    monkeypatch.chdir(tmp_path)
    first = Echo("./python").start(tmp_path / "say.py", [], {})
    assert first["here"] != str(tmp_path)
    assert first["version"] == "1"


COUNT = """
import io, json, os, sys
import numpy as np

output = os.fdopen(os.dup(1), "wb")


def say(answer):
    output.write(json.dumps(answer).encode() + b"\\n")


say({"version": "1"})
output.flush()
for turn, line in enumerate(sys.stdin):
    for name in "abc":
        say({"name": name})
        held = io.BytesIO()
        np.save(held, np.full((2, 3), turn, np.float32))
        output.write(held.getvalue())
    say({"error": "no more"} if turn == 3 else {})
    output.flush()
    if turn == 4:
        sys.exit(5)
"""


def test_a_request_may_come_before_all_answers_to_the_last_one_were_taken(tmp_path: Path) -> None:
    """A comparison takes its values in slices, and asks again about those of a slice."""
    (tmp_path / "count.py").write_text(COUNT)
    child = Echo(PYTHON)
    child.start(tmp_path / "count.py", [], {})

    def taken(asked: Iterator[tuple[str, Any]]) -> list[tuple[str, float]]:
        return [(name, float(array[1, 2])) for name, array in asked]

    first, second = child.ask(), child.ask()
    assert next(first)[0] == "a"
    assert next(second)[0] == "a"
    assert taken(child.ask()) == [("a", 2), ("b", 2), ("c", 2)]
    assert taken(second) == [("b", 1), ("c", 1)]
    assert taken(first) == [("b", 0), ("c", 0)]
    refused = child.ask()
    assert next(refused)[0] == "a"
    left = child.ask()
    assert next(left)[0] == "a"
    with pytest.raises(VerificationError, match="no more"):
        taken(refused)
    del left  # nobody takes the rest
    with pytest.raises(LiveCrashed, match="ended with status 5"):
        next(child.ask())
    assert not list(child.place.glob("aside-*"))
    child.close()


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    """A script that stands for an interpreter starts another process, which is not to stay."""
    mark = tmp_path / "started"
    child = Echo(stand_in(tmp_path, f"sleep 300 & echo $! > {mark}; wait"), Live(seconds=3))
    with pytest.raises(LiveTooSlow):
        child.start(tmp_path / "say.py", [], {})
    child.close()
    started = int(mark.read_text())
    assert wait_for(lambda: not running(started)), "the process is still there"


def running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")


def wait_for(is_so: object, seconds: float = 60) -> bool:
    """Whether something becomes so."""
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.05)
    return bool(is_so())  # type: ignore[operator]


@pytest.mark.parametrize("does, starts, error", [
    (READY + "kill -SEGV $$", 2, LiveCrashed), (READY + "sleep 60", 1, LiveTooSlow),
])  # fmt: skip
def test_the_next_request_after_a_failure(tmp_path: Path, does: str, starts: int, error: type[LiveFailed]) -> None:
    """A new process answers it, but one that took too long is not waited for again."""
    mark = tmp_path / "starts"
    live = limits(tmp_path, f"echo x >> {mark}; {does}", error)
    source = models.net_source()
    running = LiveMXNet(source.symbol, source.plain_tensors(), python=live.python, live=live)
    for _ in range(2):
        with pytest.raises(error):
            running.run({"data": np.ones((2, 3, 8, 8), np.float32)})
    running.close()
    assert mark.read_text() == "x\n" * starts


class Fragile(ReferenceEvaluator):
    """What crashes on large numbers."""

    label = "fragile"
    insists = False

    def stream(self, feeds: Any, names: Any) -> Any:
        if max(np.abs(array).max(initial=0) for array in feeds.values()) > 8:
            raise LiveCrashed("live Fragile was ended by SIGSEGV")
        return super().stream(feeds, names)


def test_a_crash_on_a_further_set_is_said() -> None:
    source, graph = models.net_source(), models.net_graph()

    def judged(against: str) -> VerificationReport:
        reference = Fragile(source.symbol, source.plain_tensors())
        reference.insists = against == "live"
        live = Judge(lambda: reference, {LiveFailed: "no answer: {error}"})
        second = Judge(lambda: ReferenceEvaluator(source.symbol, source.plain_tensors()))
        asked = [live] if against == "live" else [live, second]
        return verify_conversion(asked, graph, graph, graph, ComparisonOptions(against=against))

    report = judged("auto")
    assert report.ok
    assert report.reference == "fragile"
    assert [note for note in report.notes if "'wide'" in note and "SIGSEGV" in note]
    with pytest.raises(LiveCrashed):
        judged("live")


LIVE = Path(child_limits.__file__).parents[1]
PROGRAMS = [LIVE / "kernel" / "child_limits.py", *sorted((LIVE / "mxnet" / "live").glob("c*.py")),
            LIVE / "tensorflow" / "live" / "child.py", LIVE / "tensorflow" / "live" / "checks.py"]  # fmt: skip
NEWER = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match, ast.MatMult)


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.name != "capture.py"], ids=lambda path: path.name)
def test_programs_for_old_interpreters_are_plain(path: Path) -> None:
    """No syntax that Python 3.5 lacks: no f-strings, no annotations, no arguments by position only."""
    tree = ast.parse(path.read_text(encoding="ascii"), feature_version=(3, 7))
    newer = [node for node in ast.walk(tree) if isinstance(node, NEWER)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    stated = [node.name for node in functions if node.returns or any(held.annotation for held in node.args.args)]
    future = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    assert [type(node).__name__ for node in newer] == []
    assert stated == []
    assert [name.name for node in future for name in node.names if name.name == "annotations"] == []


OLD = os.environ.get("GRAPHIR_OLD_PYTHONS", "").split()


@pytest.mark.parametrize("python", OLD or [pytest.param("", marks=pytest.mark.skip(
    reason="GRAPHIR_OLD_PYTHONS names no interpreters that have MXNet"))])  # fmt: skip
def test_old_interpreters(tmp_path: Path, python: str) -> None:
    """Every interpreter with an MXNet of its own, in its own Python, layer by layer, and what its capture says."""
    prefix, shapes = checkpoint(tmp_path), {"data": (2, 3, 8, 8)}
    report = verify(prefix, models.net_graph(), shapes=shapes, python=python, against="live", per_layer=True)
    assert report.ok
    assert report.reference.startswith("MXNet ")
    assert report.first_divergence is None
    script = LIVE / "mxnet" / "live" / "capture_script.py"
    files = [f"{prefix}-symbol.json", f"{prefix}-0000.params", str(tmp_path / "capture.npz")]
    subprocess.run([python, str(script), *files, "data:2,3,8,8"], check=True, cwd=tmp_path)
    assert verify(tmp_path / "capture.npz", models.net_graph(), per_layer=True).ok


