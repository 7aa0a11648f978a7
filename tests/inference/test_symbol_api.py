"""Inference over symbols against what MXNet 1.9.1 answered: every recorded call of infer_shape and infer_type."""

from __future__ import annotations

import ast
import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.importing.symbol_types import SymbolTypes, infer_symbol
from graphir.errors import GraphirError
from tests.typed import present, untyped

PREVIOUS = {"Previous Output": (128, 3, 28, 28)}
PARTIAL_ANSWERS_OF_MXNET_THAT_ARE_WRONG = {
    # The unknown channels of one operand are counted as 0.
    ("infer_conv_bad", "cc.infer_shape_partial(data=(1,3,28,28))"): {"cat_output"},
}
REFUSED_BY_MXNET_ONLY = {
    # A pooling's check takes the unknown height and width for 0.
    ("infer_conv_bad", "n.infer_shape(data=(1,3,0,0))"),
    ("infer_conv_bad", "n.infer_shape_partial(data=(1,3,0,0))"),
    # Python's type checks of the arguments: None is no shape, text no tuple.
    ("infer_simple", "c.infer_shape(a=None, b=(2,3))"),
    ("infer_simple", "c.infer_shape(a='x')"),
}


def parsed(call: str) -> tuple[ast.Call, bool] | None:
    """A call on one symbol with keywords only, and whether it takes the outputs of the answer; None for other forms.

    Calls by position MXNet 1.9.1 itself refuses (see the golden file's `seed_deviations`).
    """
    node = ast.parse(call, mode="eval").body
    outputs_only = isinstance(node, ast.Subscript)
    if isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return None
    return (node, outputs_only) if node.func.attr.startswith("infer_") else None


def golden_calls() -> list[tuple[str, str]]:
    """The recorded calls of that form on symbols that the golden file holds."""
    for parent in Path(__file__).resolve().parents:
        golden = parent / "shared" / "golden" / "symbol_api.json"
        if golden.is_file():
            return [(case["id"], call) for case in json.loads(golden.read_text())["cases"] for call in asking(case)]
    return []


def asking(case: dict[str, Any]) -> list[str]:
    """A case's calls of that form."""
    found = [call for call in case["results"] if "infer_" in call and parsed(call) is not None]
    return [call for call in found if call.partition(".infer_")[0] in case["symbol_json"]]


CALLS = golden_calls()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    """The golden cases by id."""
    held = json.loads((shared / "golden" / "symbol_api.json").read_text())
    return {case["id"]: case for case in held["cases"]}


def asked(case: dict[str, Any], call: str) -> tuple[SymbolTypes, bool]:
    """The answer to a call on the symbol that it was made on, and whether the call asked for dtypes."""
    node, _ = parsed(call) or pytest.fail(call)
    assert isinstance(node.func, ast.Attribute)
    given: dict[str, Any] = {}
    for word in node.keywords:
        value = eval(compile(ast.Expression(word.value), "call", "eval"), {"np": np, "shape": PREVIOUS})
        given |= value if word.arg is None else {word.arg: value}
    symbol = case["symbol_json"][ast.unparse(node.func.value)]
    of_types = node.func.attr.startswith("infer_type")
    return (infer_symbol(symbol, None, given) if of_types else infer_symbol(symbol, given)), of_types


def names_of(found: SymbolTypes, case: dict[str, Any], call: str) -> list[str]:
    """What the entries of an answer are: arguments, outputs, auxiliary states."""
    heads = [f"{name}_output" for name in _heads(case["symbol_json"][call.partition(".")[0]])]
    return [*found.arguments, *heads, *found.auxiliary]


def _heads(symbol: str) -> list[str]:
    held = json.loads(symbol)
    return [held["nodes"][head[0]]["name"] for head in held["heads"]]


def less(found: object, answer: object) -> bool:
    """Whether `found` lacks, or contradicts, something of MXNet's answer, in which () and 0 answer nothing."""
    if answer is None:
        return False
    if isinstance(answer, dict):
        return str(found) != answer["__dtype__"]
    assert isinstance(answer, list)
    assert isinstance(found, tuple)
    if not answer:
        return False
    return len(found) != len(answer) or any(size not in (0, dim) for dim, size in zip(found, answer, strict=True))


def knows_all_shapes(found: SymbolTypes) -> bool:
    """Where it is not so, MXNet's `infer_shape` gives None."""
    types = (*found.arguments.values(), *found.outputs, *found.auxiliary.values())
    return all(type_.shape is not None and all(isinstance(dim, int) for dim in type_.shape) for type_ in types)


@pytest.mark.parametrize(("case_id", "call"), [row for row in CALLS if row not in REFUSED_BY_MXNET_ONLY])
def test_as_mxnet_answered(case_id: str, call: str, cases: dict[str, dict[str, Any]]) -> None:
    """Equal where MXNet knows; where it answers None or marks a part unknown, graphir may know more."""
    case = cases[case_id]
    answer = case["results"][call]
    if isinstance(answer, dict):
        with pytest.raises((GraphirError, TypeError)):
            asked(case, call)
        return
    found, of_types = asked(case, call)
    if answer == [None, None, None]:
        assert of_types or not knows_all_shapes(found)
        return
    lists = found.dtypes() if of_types else found.shapes()
    if present(parsed(call))[1]:
        assert [list(untyped(shape) or ()) for shape in lists[1]] == answer
        return
    assert [len(part) for part in lists] == [len(part) for part in answer]
    entries = zip(names_of(found, case, call), [*lists[0], *lists[1], *lists[2]], chain(*answer), strict=True)
    wrong = PARTIAL_ANSWERS_OF_MXNET_THAT_ARE_WRONG.get((case_id, call), set())
    assert [entry for entry in entries if less(*entry[1:]) and entry[0] not in wrong] == []


def test_the_golden_calls_are_found(cases: dict[str, dict[str, Any]]) -> None:
    assert len(CALLS) >= 70


@pytest.mark.parametrize(("case_id", "call"), sorted(REFUSED_BY_MXNET_ONLY))
def test_only_mxnet_refuses(case_id: str, call: str, cases: dict[str, dict[str, Any]]) -> None:
    assert "__error__" in cases[case_id]["results"][call]
    assert asked(cases[case_id], call)


INTERNALS = [
    ("conv_factory", "conv_comp.get_internals().infer_shape(**shape)", PREVIOUS),
    ("inception_factory_a", "in3a.get_internals().infer_shape(**shape)[1]", PREVIOUS),
    ("slicechannel_internals",
     "dict(zip(net.get_internals().list_outputs(), net.get_internals().infer_shape(data=(2,1,8,8))[1]))",
     {"data": (2, 1, 8, 8)}),
]  # fmt: skip


@pytest.mark.parametrize(("case_id", "call", "shapes"), INTERNALS)
def test_internals(
    case_id: str, call: str, shapes: dict[str, tuple[int, ...]], cases: dict[str, dict[str, Any]]
) -> None:
    """The shape of every value inside, those of labels excepted, which no result depends on."""
    from graphir.converters.mxnet.source import open_source

    case = cases[case_id]
    answer = case["results"][call]
    expected = list(answer.values()) if isinstance(answer, dict) else answer[1] if len(answer) == 3 else answer
    graph = open_source(case["symbol_json"][call.partition(".")[0].removeprefix("dict(zip(")]).to_graph(
        shapes, simplified=False, keep_loss=True
    )
    found = [value.shape for value in graph.values if value.sources]
    assert [shape for shape in expected if tuple(shape) not in found and len(shape) > 1] == []
