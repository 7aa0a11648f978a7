"""An attribute that makes no sense is refused by its node's name, and hides nothing else that is wrong with a model."""

from __future__ import annotations

import copy
from pathlib import Path

import onnx
import pytest

import graphir
from graphir.converters.kernel.refusals import Refusals
from graphir.errors import FormatError, OperatorError, ShapeError, UnsupportedOpError
from tests.converters.absurd import UNKNOWN, mxnet_findings, mxnet_rows, onnx_findings
from tests.equivalence.case import Case
from tests.tensorflow.keras_files import archive, sequential, weights_file

# The operators with attributes. Their models are made when a test runs: onnx computes all of its cases for that.
ATTRIBUTED = {schema.name for schema in onnx.defs.get_all_schemas() if schema.attributes and not schema.domain}
# Those of which onnx has no case of one node.
WITHOUT_MODEL = {"ConcatFromSequence", "GlobalLpPool", "MaxRoiPool", "Multinomial", "Optional", "RandomNormal",
                 "RandomNormalLike", "RandomUniform", "RandomUniformLike", "SequenceEmpty"}  # fmt: skip


@pytest.mark.one_of(8)
@pytest.mark.parametrize("case", mxnet_rows(), ids=lambda case: str(case.op))
def test_attributes_of_mxnet(case: Case) -> None:
    assert mxnet_findings(case) == []


@pytest.mark.one_of(8)
@pytest.mark.parametrize("operator", sorted(ATTRIBUTED - WITHOUT_MODEL))
def test_attributes_of_onnx(operator: str) -> None:
    assert onnx_findings(operator) == []


ERRORS = [
    (ZeroDivisionError("division by zero"), "its attributes do not fit its operands: ZeroDivisionError: division by "
     "zero; it states axis=1, num=0"),
    (FormatError("node n (Op): attribute num is 'x'"), "attribute num is 'x'"),
    (FormatError("a list of numbers is too long"), "a list of numbers is too long; it states axis=1, num=0"),
    (OperatorError("Split: parts is 0"), "Split: parts is 0; it states axis=1, num=0"),
]  # fmt: skip


@pytest.mark.parametrize("error, reason", ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_what_is_raised_of_a_node_is_a_refusal(error: Exception, reason: str) -> None:
    refusals = Refusals()
    assert refusals.take("Op", error, "n", {"axis": 1, "num": 0})
    assert [gap.reason for gap in refusals.gaps] == [reason]


def test_contradictions_of_shapes_are_left_to_the_importer() -> None:
    assert not Refusals().take("Op", ShapeError("[1] and [2] differ"), "n", {})
    assert UNKNOWN


SETTINGS = [("units", "absurd"), ("units", [1]), ("activation", -7), ("use_bias", [])]


@pytest.mark.parametrize("key, value", SETTINGS)
def test_settings_of_keras(tmp_path: Path, key: str, value: object) -> None:
    config, layers = copy.deepcopy(sequential("image"))
    *_, dense = config["config"]["layers"]
    dense["config"][key] = value
    unknown = {"class_name": UNKNOWN, "config": {"name": "gap"}, "module": "keras.layers", "registered_name": None}
    config["config"]["layers"].append(unknown)
    (tmp_path / "m.keras").write_bytes(archive(config, weights_file(layers)))
    with pytest.raises(UnsupportedOpError) as raised:
        graphir.load(tmp_path / "m.keras")
    first, last = raised.value.gaps
    assert last.operator == UNKNOWN
    assert first.nodes == (dense["config"]["name"],)
    assert key in first.reason
