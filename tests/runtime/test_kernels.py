"""The table of kernels is what the installed onnxruntime has."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import onnxruntime
import pytest

from graphir.runtime.kernels import UNFINISHED, Release, releases

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = onnxruntime.__version__


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels_tool", ROOT / "tools" / "onnxruntime_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nearest() -> Release:
    """The entry of the installed release, or the newest one that is not above it."""
    numbers = [int(part) for part in INSTALLED.split(".")]
    below = [one for one in releases() if [int(part) for part in one.number.split(".")] <= numbers]
    return below[-1]


def test_releases() -> None:
    assert [(one.number, one.opset, one.ir_version) for one in releases()] == [
        ("1.20.1", 21, 10), ("1.23.2", 23, 11), ("1.27.0", 26, 13), ("1.31.0", 26, 13), ("1.32.0", 28, 14)
    ]  # fmt: skip


def test_table_is_the_registry(tool: ModuleType) -> None:
    """Of the same release every row; a release that is not in the table still runs all that the one before it does."""
    entry, found = nearest(), tool.kernels()
    stored = {name: rows for name, rows in entry.kernels.items() if rows}
    assert entry.number != INSTALLED or stored == found, "run tools/onnxruntime_kernels.py"
    installed = Release(INSTALLED, tool.newest("opset"), tool.newest("ir"), found, entry.functions)
    assert installed.opset >= entry.opset
    assert installed.ir_version >= entry.ir_version
    lost = [
        (name, first, variable, text)
        for name, rows in entry.kernels.items()
        for first, last, types in rows
        for variable, texts in types.items()
        for text in texts.split()
        if text not in UNFINISHED.get(name, ())
        and last is None
        and not installed.runs(name, first, installed.opset, {variable: text}, halves=False)
    ]
    assert lost == []


@pytest.mark.parametrize("opset", [13, 17, 18, 21, 26])
@pytest.mark.parametrize("operator", ["Elu", "HardSwish", "PRelu", "CenterCropPad", "Bernoulli"])
def test_functions_load_as_the_table_says(tool: ModuleType, operator: str, opset: int) -> None:
    rows, newest = nearest().functions[operator], nearest().opset
    stated = {one for first, last, types in rows if first <= opset <= (last or newest) for one in combinations(types)}
    found = {one for types in tool.types_that_load(operator, opset) for one in combinations(types)}
    assert stated <= found
    assert found == stated or nearest().number != INSTALLED


def combinations(types: Mapping[str, str]) -> set[tuple[str, ...]]:
    """Every choice of a type for each variable, in the order of the variables' names."""
    return set(itertools.product(*(types[name].split() for name in sorted(types))))


NODES = [
    ("Relu", 14, 17, {"T": "float"}, True),
    ("Relu", 14, 17, {"T": "float16"}, True),
    ("Relu", 14, 17, {"T": "int64"}, False),
    ("Conv", 11, 17, {"T": "double"}, False),
    ("Conv", 11, 17, {"T": ""}, True),
    ("Where", 16, 17, {"B": "bool", "T": "bool"}, False),
    ("RandomUniform", 1, 21, {"T": "float"}, True),
    ("RandomUniform", 22, 22, {"T": "float"}, False),
    ("RoiAlign", 22, 22, {}, False),
    ("NoSuchOperator", 1, 17, {}, False),
    ("MeanVarianceNormalization", 13, 13, {"T": "float16"}, False),
]


@pytest.mark.parametrize("operator, since, opset, types, expected", NODES)
def test_runs(operator: str, since: int, opset: int, types: dict[str, str], expected: bool) -> None:
    assert releases()[-1].runs(operator, since, opset, types) is expected


def test_float16_of_a_result_alone_does_not_go_through_float32() -> None:
    assert not releases()[-1].runs("RandomUniform", 1, 17, {"T": "float16"}, halves=False)
