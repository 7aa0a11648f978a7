"""The Symbol API case by case: the code of each is run with our `mx`, and every answer is MXNet 1.9.1's own."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from tests.requirements import shared_folder

GOLDEN = "golden/symbol_api.json"


def golden_cases() -> list[Any]:
    folder = shared_folder()
    return [] if folder is None else json.loads((folder / GOLDEN).read_text())["cases"]


CASES = {case["id"]: case for case in golden_cases()}

NULL_KEYS = "1.9.1 refuses shapes in order, which it documents"
IN_ORDER = "1.9.1 refuses composing in order, which it documents"
OPEN_SIZE = "1.9.1 takes its own mark of an open size for a size of -1"
FC = [[[100, 100], [10, 100], [10]], [[100, 10]], []]
TWO = [[[2, 3], [2, 3]], [[2, 3]], []]
OPEN = [None, None, None]

# What is answered where 1.9.1 departs from its documentation, refuses what it can infer, or computes a wrong shape.
DEVIATIONS: dict[tuple[str, str], tuple[Any, str]] = {
    ("mlp", "net.infer_shape((100,200))"): (
        [[[100, 200], [128, 200], [128], [10, 128], [10], [100]], [[100, 10]], []], NULL_KEYS
    ),
    ("mlp", "net.infer_shape(None, (128,200))"): (OPEN, NULL_KEYS),
    ("mlp", "net.infer_shape_partial(None, (128,200))"): ([[[], [128, 200], [], [], [], []], [[]], []], NULL_KEYS),
    ("infer_simple", "c.infer_type('float32')"): (
        [[{"__dtype__": "float32"}] * 2, [{"__dtype__": "float32"}], []], NULL_KEYS
    ),
    ("infer_fc", "net.infer_shape((100,100))"): (FC, NULL_KEYS),
    ("infer_fc", "net.infer_shape(None)"): (OPEN, NULL_KEYS),
    ("compose_call", "net2(net1).list_arguments()"): (
        ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"], IN_ORDER
    ),
    ("compose_call", "net2(net1, mx.sym.Variable('W')).list_arguments()"): (
        ["data", "fc1_weight", "fc1_bias", "W", "fc2_bias"], IN_ORDER
    ),
    ("infer_conv_bad", "n.infer_shape(data=(1,3,0,0))"): (OPEN, OPEN_SIZE),
    ("infer_conv_bad", "n.infer_shape_partial(data=(1,3,0,0))"): (
        [[[1, 3, 0, 0], [8, 3, 5, 5], [8], [10, 0], [10]], [[1, 10]], []], OPEN_SIZE
    ),
    ("infer_conv_bad", "cc.infer_shape_partial(data=(1,3,28,28))"): (
        [[[1, 3, 28, 28], [8, 3, 5, 5], [8], [1, 0, 24, 24]], [[1, 0, 24, 24]], []],
        "1.9.1 knows a channel more, of the sum with an open size",
    ),
    ("iadd_semantics", "r"): (["_plusscalar0", "a", False], "+= composes, as the tutorials use it"),
    ("iadd_semantics", "mx.sym.Variable('a').__iadd__(1)"): (
        {"__error__": "AttributeError"}, "Python's own += falls back to +"
    ),
}  # fmt: skip
# Codes of reshape for which 1.9.1 gives, read from the right, a shape of another number of elements.
WRONG_SIZES = ([2, -2], [-2, 1, 1], [5, 5])
NO_WINDOW = {(1, 2, 2, 0), (1, 2, 3, 0), (1, 3, 3, 0), (2, 3, 2, 0), (2, 3, 3, 0)}
"""Size, kernel, stride and padding of poolings by `full` that 1.9.1 refuses and graphir rounds up to one window."""
EXECUTORS = {"dbg", "net.simple_bind(ctx=mx.cpu(), data=(100,100), grad_req='null').debug_str()",
             "net.simple_bind(ctx=mx.cpu(), data=(100,100), grad_req={'fc1_weight':'write'}).debug_str()"}  # fmt: skip
"""Listings of what MXNet's own executor runs: gradients, and operators that oneDNN fused."""


def posinfer(symbol: Any, *shapes: Any) -> Any:
    """What the golden case of this name calls through MXNet's C API: shapes in order."""
    return symbol.infer_shape(*shapes)


def encoded(value: Any) -> Any:
    """A value as the golden file states it."""
    if isinstance(value, mx.sym.Symbol):
        lists = ("list_arguments", "list_outputs", "list_auxiliary_states")
        return {"__symbol__": value.name, **{name: getattr(value, name)() for name in lists}}
    if isinstance(value, list | tuple):
        return [encoded(part) for part in value]
    if isinstance(value, dict):
        return {str(key): encoded(part) for key, part in value.items()}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"__dtype__": np.dtype(value).name}
    if hasattr(value, "asnumpy"):
        array = value.asnumpy()
        return {"__ndarray__": array.tolist(), "shape": list(array.shape), "dtype": str(array.dtype)}
    return value.item() if isinstance(value, np.generic) else value

SUMS = 2e-6
"""Sixteen roundings of single precision: sums of a layer in another order."""


def is_left_out(row: list[Any]) -> bool:
    """Whether a row of a table is one in which we differ."""
    return bool(row) and (row[0] in WRONG_SIZES or (row[4:5] == ["full"] and tuple(row[:4]) in NO_WINDOW))


def plain(answer: Any) -> Any:
    """An answer without the texts of errors, which are ours, and without the rows that 1.9.1 gets wrong."""
    if isinstance(answer, str) and answer.startswith("ERR"):
        return "ERR"
    if isinstance(answer, list):
        return [plain(part) for part in answer if not (isinstance(part, list) and is_left_out(part))]
    return {key: plain(part) for key, part in answer.items()} if isinstance(answer, dict) else answer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def answered(expression: str, names: dict[str, Any]) -> Any:
    """The value of an expression, or the kinds of the error that it raises."""
    try:
        with quiet():
            return json.loads(json.dumps(encoded(eval(expression, names))))
    except Exception as error:
        return {"__error__": [kind.__name__ for kind in type(error).__mro__]}


def agrees(answer: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and "__error__" in expected:
        return isinstance(answer, dict) and expected["__error__"] in answer.get("__error__", ())
    if isinstance(expected, list) and isinstance(answer, list) and len(answer) == len(expected):
        return all(map(agrees, plain(answer), plain(expected)))
    if isinstance(expected, dict) and "__ndarray__" in expected and isinstance(answer, dict):
        shapes = [(held.get("shape"), held.get("dtype")) for held in (answer, expected)]
        close = np.allclose(answer["__ndarray__"], expected["__ndarray__"], rtol=SUMS, atol=0)
        return shapes[0] == shapes[1] and bool(close)
    return bool(plain(answer) == plain(expected))


def run(case: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"mx": mx, "np": np}
    with quiet():
        exec(case["code"].replace("from mxnet", "from graphir.converters.mxnet.mx"), names)
    return names | ({"posinfer": posinfer} if "posinfer" in names else {})


def test_there_are_38_cases(shared: Path) -> None:
    assert len(json.loads((shared / GOLDEN).read_text())["cases"]) == len(CASES) == 38


@pytest.mark.parametrize("id_", sorted(CASES))
def test_answers_as_mxnet(id_: str) -> None:
    case = CASES[id_]
    with mx.name.NameManager():
        names = run(case)
        answers = {expression: answered(expression, names) for expression in case["results"]}
        texts = {name: eval(name, names).tojson() for name in case["symbol_json"]}
    wanted = {key: DEVIATIONS.get((id_, key), (expected, ""))[0]
              for key, expected in case["results"].items() if key not in EXECUTORS}  # fmt: skip
    assert {key: answers[key] for key in wanted if not agrees(answers[key], wanted[key])} == {}
    assert texts == case["symbol_json"]


def test_deviations_are_of_cases(shared: Path) -> None:
    assert [key for key in DEVIATIONS if key[1] not in CASES[key[0]]["results"]] == []
