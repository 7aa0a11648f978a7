"""`Symbol.infer_shape` against what MXNet 1.9.1 answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.errors import GraphirError

# Calls that ask for more than shapes by name, or that refused something; see below.
OTHER = ("infer_type", "posinfer", "infer_shape((", "infer_shape([", "infer_shape(None", "infer_shape_partial(None")


def calls(shared: Path) -> list[tuple[str, str, str, Any]]:
    """Case, symbol, call and answer, for every call of infer_shape on a stored symbol."""
    found = []
    for case in json.loads((shared / "golden" / "symbol_api.json").read_text())["cases"]:
        for call, answer in case["results"].items():
            name, _, rest = call.partition(".")
            if name in case["symbol_json"] and "infer_shape" in rest and not any(text in call for text in OTHER):
                found.append((case["id"], case["symbol_json"][name], call, answer))
    return found


def asked(text: str, call: str) -> Any:
    name = call.partition(".")[0]
    known = {"shape": {"Previous Output": (128, 3, 28, 28)}, name: mx.sym.load_json(text)}
    return eval(call, {}, known)


def plain(answer: Any) -> Any:
    return [plain(entry) for entry in answer] if isinstance(answer, list | tuple) else answer


# What MXNet knows and graphir does not: the channels of a crop whose size is open.
LESS_KNOWN = {"infer_conv_bad cc.infer_shape_partial(data=(1,3,28,28))"}
# What MXNet refuses because it takes its own mark of an open size for a size.
OPEN_TO_MXNET = {
    "infer_conv_bad n.infer_shape(data=(1,3,0,0))",
    "infer_conv_bad n.infer_shape_partial(data=(1,3,0,0))",
}


def says_no_less(found: Any, answer: Any) -> bool:
    """Whether everything that was answered was found, where [] and 0 answer nothing."""
    if isinstance(answer, list) and isinstance(found, list):
        return not answer or (len(found) == len(answer) and all(map(says_no_less, found, answer)))
    return answer in (found, 0)


def test_every_answer(shared: Path) -> None:
    rows = [row for row in calls(shared) if not isinstance(row[3], dict)]
    assert len(rows) > 30
    different = [
        f"{id_} {call}: {plain(asked(text, call))} for {answer}"
        for id_, text, call, answer in rows
        if f"{id_} {call}" not in LESS_KNOWN and not says_no_less(plain(asked(text, call)), answer)
    ]
    assert different == []


def refuses(text: str, call: str) -> bool:
    try:
        asked(text, call)
    except (GraphirError, TypeError, ValueError):
        return True
    return False


def test_every_refusal(shared: Path) -> None:
    rows = [row for row in calls(shared) if isinstance(row[3], dict)]
    assert len(rows) > 8
    taken = {f"{id_} {call}" for id_, text, call, _ in rows if not refuses(text, call)}
    assert taken == OPEN_TO_MXNET


NET = """{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "w", "inputs": []},
  {"op": "null", "name": "b", "inputs": []},
  {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "5"}, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}],
  "arg_nodes": [0, 1, 2], "heads": [[3, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (((3, 4),), ([(3, 4), (5, 4), (5,)], [(3, 5)], [])),
        ((None, (5, 4)), (None, None, None)),
        (((3, 0), (5, 4)), ([(3, 4), (5, 4), (5,)], [(3, 5)], [])),
    ],
)
def test_shapes_in_order(args: Any, expected: Any) -> None:
    assert mx.sym.load_json(NET).infer_shape(*args) == expected


@pytest.mark.parametrize(
    ("args", "named", "error"),
    [
        (((3, 4),), {"w": (5, 4)}, ValueError),
        (((1,), (1,), (1,), (1,)), {}, GraphirError),
        (("x",), {}, TypeError),
        (((3, 4), (5, 6)), {}, GraphirError),
    ],
)
def test_refused(args: Any, named: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        mx.sym.load_json(NET).infer_shape(*args, **named)
