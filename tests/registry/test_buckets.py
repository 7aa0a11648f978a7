"""What strangers' models bring about: each ends in its bucket, and the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphir.registry.buckets import Bucket, exit_code
from graphir.registry.jobs import ConversionPlan, ModelOutcome
from graphir.registry.pool import WorkerCaps
from graphir.registry.report import RegistryReport
from graphir.registry.run import WorkOptions, convert_all
from graphir.report.registry import registry_text
from graphir.verification.options import ComparisonOptions

from . import zoo

GOOD = ("a-good", "m-good", "z-good")
EXPECTED = {
    **dict.fromkeys(GOOD, Bucket.DONE),
    "hangs": Bucket.TIME,
    "eats": Bucket.MEMORY,
    "kills": Bucket.KILLED,
    "leaves": Bucket.KILLED,
    "crashes": Bucket.KILLED,
    "wrong": Bucket.DIFFERENT,
    "mute": Bucket.UNCHECKED,
    "strange": Bucket.UNSUPPORTED,
    "bare": Bucket.NEEDS_PARAMETERS,
    "open": Bucket.NEEDS_SHAPES,
    "cut": Bucket.BROKEN,
    "large": Bucket.LIMITS,
    "bomb.zip": Bucket.LIMITS,
    "torn.tar.gz": Bucket.BROKEN,
}
SAID = {
    "hangs": "took more than 12 seconds",
    "eats": "MemoryError",
    "kills": "was ended by SIGKILL",
    "leaves": "ended with status 3",
    "crashes": "was ended by SIGSEGV",
    "wrong": "broken: off by",
    "strange": "NobodyKnows",
    "bare": "no elements",
    "open": "give their shapes",
    "large": "--limits elements=",
    "bomb.zip": "--limits expansion=",
}


def fill(folder: Path) -> None:
    """One model for each cause, good ones before, between and behind them."""
    for seed, name in enumerate(GOOD):
        zoo.dense(folder, name, seed=seed)
    hazards = {"hangs": "hang", "eats": "eat", "kills": "kill", "leaves": "leave", "crashes": "crash"}
    hazards |= {"wrong": "wrong", "mute": "mute"}
    for name, kind in hazards.items():
        zoo.custom(folder, name, kind)
    zoo.dense(folder, "strange", "NobodyKnows")
    zoo.dense(folder, "bare")
    (folder / "bare-0000.params").unlink()
    symbol = json.loads(zoo.dense(folder, "open").read_text())
    symbol["nodes"] = [{"op": "null", "name": "data", "inputs": []},
                       {"op": "relu", "name": "act", "inputs": [[0, 0, 0]]}]  # fmt: skip
    (folder / "open-symbol.json").write_text(json.dumps(symbol | {"arg_nodes": [0], "heads": [[1, 0, 0]]}))
    (folder / "open-0000.params").unlink()
    (folder / "cut.onnx").write_bytes(b"\x08\x07\x12")
    made = {"op": "_arange", "name": "numbers", "inputs": [], "attrs": {"start": "0", "stop": "1000000000"}}
    large = symbol | {"nodes": [made], "arg_nodes": [], "heads": [[0, 0, 0]]}
    (folder / "large-symbol.json").write_text(json.dumps(large))
    zoo.zipped(folder / "bomb.zip", {"zeros.onnx": bytes(1 << 28)})
    whole = zoo.tar(folder / "torn.tar.gz", zoo.model_files()).read_bytes()
    (folder / "torn.tar.gz").write_bytes(whole[: len(whole) // 2])


@pytest.fixture(scope="module")
def report(hazards: Path, tmp_path_factory: pytest.TempPathFactory) -> RegistryReport:
    """A registry with all of them, converted by two workers."""
    folder = tmp_path_factory.mktemp("zoo")
    fill(folder)
    plan = ConversionPlan(verify=True, how=ComparisonOptions(against="reference"), plugins=(str(hazards),))
    return convert_all([folder], tmp_path_factory.mktemp("out"), plan, WorkOptions(2, WorkerCaps(12, 1 << 29)))


def outcome(report: RegistryReport, name: str) -> ModelOutcome:
    return next(found for found in report.outcomes if found.name == name)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_cause_has_its_bucket(report: RegistryReport, name: str) -> None:
    found = outcome(report, name)
    assert found.bucket is EXPECTED[name], found.detail
    assert SAID.get(name, "") in found.detail


def test_nothing_else_was_found(report: RegistryReport) -> None:
    assert sorted(found.name for found in report.outcomes) == sorted(EXPECTED)
    assert report.exit_code == 1


def test_half_written_targets_do_not_survive(report: RegistryReport) -> None:
    made = {path.parent.name for path in Path(report.out).rglob("*.onnx")}
    assert made == {*GOOD, "wrong", "mute"}  # and what was written, though it could not be checked
    assert {path.name for path in (Path(report.out) / ".graphir").iterdir()} == {"lock"}


def test_the_summary_says_it(report: RegistryReport) -> None:
    text = registry_text(report)
    assert "NobodyKnows (1)" in text
    assert [bucket.value for bucket in EXPECTED.values() if bucket.value not in text] == []
    page = (Path(report.out) / "index.html").read_text()
    assert "models/wrong/report.html" in page
    assert "models/kills/record.json" in page


@pytest.mark.parametrize(
    ("buckets", "code"),
    [
        ([], 0),
        ([Bucket.DONE], 0),
        ([Bucket.NOT_PROVEN, Bucket.DONE], 5),
        ([Bucket.NOT_PROVEN, Bucket.DIFFERENT], 4),
        ([Bucket.DIFFERENT, Bucket.NOT_PROVEN, Bucket.UNCHECKED], 1),
        *(([bucket], 1) for bucket in Bucket if bucket.failed),
    ],
)
def test_exit_codes(buckets: list[Bucket], code: int) -> None:
    assert exit_code(buckets) == code
