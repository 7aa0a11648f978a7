"""What is done is not done again; what was interrupted comes out as if it had not been."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphir.errors import ExportFailure
from graphir.registry.jobs import ConversionPlan
from graphir.registry.manifest import ListFile
from graphir.registry.pool import WorkerCaps
from graphir.registry.report import RegistryReport
from graphir.registry.run import WorkOptions, convert_all
from graphir.registry.store import LocalStore

from . import zoo

ROOT = Path(__file__).resolve().parents[2]
ONE = WorkOptions(1, WorkerCaps(60))
Change = Callable[[Path, Path], object]
TOOK = re.compile(r"(?: data-v=\"[^\"]*\")?>\d+\.\d+ s\b|\b\d+\.\d+ s\b|\d{4}-\d\d-\d\d")


def tree(folder: Path) -> dict[str, Any]:
    """Every file of a registry by its path, without what was measured: seconds, and the stamps that they go with."""
    return {
        path.relative_to(folder).as_posix(): content(path)
        for path in sorted(folder.rglob("*")) if path.is_file() and ".graphir" not in path.parts
    }  # fmt: skip


def content(path: Path) -> Any:
    if path.suffix == ".json":
        return without_seconds(json.loads(path.read_text()))
    return TOOK.sub("#", path.read_text()) if path.suffix == ".html" else path.read_bytes()


def without_seconds(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_seconds(value) for key, value in data.items() if key != "seconds"}
    return [without_seconds(value) for value in data] if isinstance(data, list) else data


def stamps(out: Path) -> dict[str, int]:
    """When each model's record was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("models/*/record.json")}


def test_killed_half_way_it_comes_out_the_same(hazards: Path, tmp_path: Path) -> None:
    folder = tmp_path / "zoo"
    for number in range(6):
        zoo.custom(folder, f"late{number}", "late")
    zoo.custom(folder, "killer", "kill")
    zoo.zipped(folder / "packed.mar", {**zoo.model_files(), "MAR-INF/MANIFEST.json": b"{}"})
    command = [
        sys.executable, "-m", "graphir", "convert-all", str(folder), "--jobs", "1", "--plugin", str(hazards), "-q",
        "--out",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    undisturbed, resumed = tmp_path / "undisturbed", tmp_path / "resumed"
    whole = subprocess.Popen([*command, str(undisturbed)], env=environment)
    half = subprocess.Popen([*command, str(resumed)], env=environment)
    while half.poll() is None and len(stamps(resumed)) < 3:
        time.sleep(0.01)
    half.send_signal(signal.SIGKILL)
    assert half.wait() == -signal.SIGKILL
    before = stamps(resumed)
    assert 3 <= len(before) < 8
    assert not (resumed / "index.html").exists()
    assert subprocess.run([*command, str(resumed)], env=environment, check=False).returncode == 1
    assert whole.wait() == 1
    assert {name: time for name, time in stamps(resumed).items() if name in before} == before
    found, expected = tree(resumed), tree(undisturbed)
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []


@pytest.mark.parametrize("delay", [1, 3])
def test_a_killed_run_leaves_no_worker(delay: float, hazards: Path, tmp_path: Path) -> None:
    """A worker that hangs ends with who gave it the model: only then are its temporary files removed."""
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    zoo.custom(tmp_path / "zoo", "hangs", "hang")
    command = [sys.executable, "-m", "graphir", "convert-all", str(tmp_path / "zoo"), "--plugin", str(hazards), "--out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    run = subprocess.Popen([*command, str(out), "--jobs", "1", "-q"], env=environment)
    while run.poll() is None and not list(temporary.iterdir()):
        time.sleep(0.01)
    time.sleep(delay)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    ends = time.monotonic() + 60
    while list(temporary.iterdir()) and time.monotonic() < ends:
        time.sleep(0.01)
    assert list(temporary.iterdir()) == []


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three models in `zoo` and their results in `out`."""
    folder = tmp_path_factory.mktemp("converted")
    for name in ("a", "b"):
        zoo.dense(folder / "zoo", name)
    zoo.dense(folder / "zoo", "strange", "NobodyKnows")
    convert_all([folder / "zoo"], folder / "out", working=ONE)
    return folder


def nothing(folder: Path, out: Path) -> None:
    """Change nothing."""


def touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


ALL = {"a", "b", "strange"}
CHANGES: list[tuple[str, Change, ConversionPlan, tuple[str, ...], set[str]]] = [
    ("nothing", nothing, ConversionPlan(), (), set()),
    ("a weight", lambda zoo_, out: zoo.dense(zoo_, "a", seed=1), ConversionPlan(), (), {"a"}),
    ("its time", lambda zoo_, out: touch(zoo_ / "b-0000.params"), ConversionPlan(), (), {"b"}),
    ("a file beside", lambda zoo_, out: (zoo_ / "b-0009.params").write_bytes(b""), ConversionPlan(), (), {"b"}),
    ("a new model", lambda zoo_, out: zoo.dense(zoo_, "c"), ConversionPlan(), (), {"c"}),
    ("an option", nothing, ConversionPlan(target={"opset": 15}), (), ALL),
    ("a result gone", lambda zoo_, out: (out / "models/a/a.onnx").unlink(), ConversionPlan(), (), {"a"}),
    ("a result cut", lambda zoo_, out: os.truncate(out / "models/a/a.onnx", 9), ConversionPlan(), (), {"a"}),
    ("a record cut", lambda zoo_, out: os.truncate(out / "models/b/record.json", 9), ConversionPlan(), (), {"b"}),
    ("a record of nonsense", lambda zoo_, out: (out / "models/b/record.json").write_text("[]"), ConversionPlan(), (),
     {"b"}),
    ("retry failed", nothing, ConversionPlan(), ("failed",), {"strange"}),
    ("retry a bucket", nothing, ConversionPlan(), ("unsupported operators",), {"strange"}),
    ("retry another", nothing, ConversionPlan(), ("time-out",), set()),
    ("retry all", nothing, ConversionPlan(), ("all",), ALL),
]


@pytest.mark.parametrize(("_", "change", "plan", "retry", "again"), CHANGES, ids=[case[0] for case in CHANGES])
def test_what_is_done_again(
    _: str, change: Change, plan: ConversionPlan, retry: tuple[str, ...], again: set[str], converted: Path,
    tmp_path: Path,
) -> None:
    folder = Path(shutil.copytree(converted, tmp_path / "copy"))
    before = stamps(folder / "out")
    change(folder / "zoo", folder / "out")
    report = convert_all([folder / "zoo"], folder / "out", plan, WorkOptions(1, WorkerCaps(60), retry=retry))
    after = stamps(folder / "out")
    assert {name for name, made in after.items() if before.get(name) != made} == again
    assert report.kept == len(after) - len(again)


def test_models_that_are_gone_stay_and_are_counted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        zoo.dense(tmp_path / "zoo", name)
    convert_all([tmp_path / "zoo"], tmp_path / "out", working=ONE)
    (tmp_path / "zoo" / "b-symbol.json").unlink()
    report = convert_all([tmp_path / "zoo"], tmp_path / "out", working=ONE)
    assert (len(report.outcomes), report.left) == (1, 1)
    assert (tmp_path / "out" / "models" / "b" / "b.onnx").is_file()


def test_two_do_not_work_on_one_registry(tmp_path: Path) -> None:
    zoo.dense(tmp_path / "zoo", "a")
    with LocalStore(str(tmp_path / "out")).locked(), pytest.raises(ExportFailure, match="another convert-all is using"):
        convert_all([tmp_path / "zoo"], tmp_path / "out", working=ONE)


def test_results_are_no_sources(tmp_path: Path) -> None:
    zoo.dense(tmp_path, "a")
    for _ in range(2):
        report = convert_all([tmp_path], tmp_path / "out", working=ONE)
        assert [outcome.name for outcome in report.outcomes] == ["a"]


def test_a_name_that_leads_elsewhere_does_not(tmp_path: Path) -> None:
    listed = []
    for number, name in enumerate(("../../x", "/etc/x", "CON", "con")):
        zoo.dense(tmp_path / "zoo", f"a{number}")
        listed.append({"source": f"zoo/a{number}-symbol.json", "name": name})
    (tmp_path / "list.json").write_text(json.dumps({"models": listed}))
    report = convert_all([ListFile(str(tmp_path / "list.json"))], tmp_path / "inner" / "out", working=ONE)
    assert len({outcome.slug.casefold() for outcome in report.outcomes}) == 4
    assert report.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"zoo", "list.json", "inner"}
    assert {path.name for path in (tmp_path / "inner").iterdir()} == {"out"}


@pytest.mark.slow
def test_convert_all_of_shared_models_twice(shared: Path, tmp_path: Path) -> None:
    def run() -> RegistryReport:
        return convert_all([shared / "models"], tmp_path / "out", working=WorkOptions(2, WorkerCaps(300)))

    first = run()
    found = tree(tmp_path / "out")
    shutil.rmtree(next((tmp_path / "out" / "models").glob("onnx-*")))
    second = run()
    assert second.kept == len(first.outcomes) - 1 > 30
    assert tree(tmp_path / "out") == found
    assert not {outcome.bucket.value for outcome in first.outcomes} & {"defect of graphir", "process ended", "time-out"}
