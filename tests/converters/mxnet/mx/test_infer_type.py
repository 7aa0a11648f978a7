"""`Symbol.infer_type` against what MXNet 1.9.1 answered, and against what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.errors import GraphirError
from tests.requirements import shared_folder


def golden_calls() -> list[Any]:
    """Symbol, call and answer, for every recorded call of infer_type by name on a stored symbol."""
    folder = shared_folder()
    if folder is None:
        return [pytest.param("", "", None, id="no golden data")]  # the fixture `shared` skips, or fails in CI
    cases = json.loads((folder / "golden" / "symbol_api.json").read_text())["cases"]
    return [
        pytest.param(case["symbol_json"][name], call, answer, id=f"{case['id']} {call}")
        for case in cases
        for call, answer in case["results"].items()
        if (name := call.partition(".")[0]) in case["symbol_json"] and ".infer_type" in call and "('" not in call
    ]


def plain(found: Any) -> Any:
    """An answer in the golden file's form."""
    if found is None:
        return None
    if isinstance(found, type):
        return {"__dtype__": np.dtype(found).name}
    return [plain(part) for part in found]


@pytest.mark.parametrize("text, call, answer", golden_calls())
def test_as_mxnet_answered(text: str, call: str, answer: Any, shared: Path) -> None:
    known = {"np": np, call.partition(".")[0]: mx.sym.load_json(text)}
    if isinstance(answer, dict):
        with pytest.raises((GraphirError, TypeError)):
            eval(call, {}, known)
        return
    assert plain(eval(call, {}, known)) == answer


def net(mx: ModuleType) -> Any:
    data = mx.sym.var("data")
    norm = mx.sym.BatchNorm(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="bn")
    return mx.sym.SoftmaxOutput(norm, name="softmax")


def both(mx: ModuleType) -> Any:
    data = mx.sym.var("data")
    return mx.sym.Group([mx.sym.topk(data, ret_typ="both", k=2), mx.sym.Cast(data, dtype="int8")])


def rows(mx: ModuleType) -> Any:
    weight = mx.sym.var("weight", dtype="float16")
    return mx.sym.Embedding(mx.sym.var("data"), weight, input_dim=5, output_dim=2) * 2.0


def total(mx: ModuleType) -> Any:
    return mx.sym.var("data") + mx.sym.var("other")


ASKED: list[tuple[Callable[[ModuleType], Any], dict[str, object]]] = [
    (net, {}), (net, {"data": "float32"}), (net, {"data": np.float16}), (net, {"data": np.dtype("float64")}),
    (both, {}), (both, {"data": "float16"}), (both, {"data": "int32"}), (rows, {"data": "int32"}),
    (total, {"other": "int8"}), (total, {"data": "uint8"}),
]  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("build, given", ASKED)
@pytest.mark.filterwarnings("ignore:Cannot decide type")
def test_as_live_mxnet_answers(
    build: Callable[[ModuleType], Any], given: dict[str, object], mxnet: ModuleType
) -> None:
    symbol = build(mxnet)
    ours = mx.sym.load_json(symbol.tojson())
    assert ours.infer_type(**given) == symbol.infer_type(**given)
    assert ours.infer_type_partial(**given) == symbol.infer_type_partial(**given)


MODELS = ("mtcnn-det2-rnet", "mtcnn-det3-onet", "toy-lenet-miraclewkf", "xdl-blaze-dnn")


@pytest.mark.live
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("model", MODELS)
def test_real_model_as_live_mxnet_answers(model: str, dtype: str, shared: Path, mxnet: ModuleType) -> None:
    path = shared / "models" / "mxnet" / model / "model-symbol.json"
    ours, live = mx.sym.load(path), mxnet.sym.load(str(path))
    given = {ours.list_arguments()[0]: dtype}
    assert ours.infer_type(**given) == live.infer_type(**given)


SUM = """{"nodes": [{"op": "null", "name": "a", "inputs": []}, {"op": "null", "name": "b", "inputs": []},
  {"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]}],
  "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


@pytest.mark.parametrize("args", [("float16",), (None, "float16")])
def test_dtypes_in_order(args: tuple[str | None, ...]) -> None:
    assert mx.sym.load_json(SUM).infer_type(*args) == ([np.float16, np.float16], [np.float16], [])


def test_none_states_nothing() -> None:
    assert mx.sym.load_json(SUM).infer_type_partial(a=None) == ([None, None], [None], [])


@pytest.mark.parametrize(
    ("args", "named", "error", "text"),
    [
        (("float32",), {"b": "float32"}, ValueError, "not both"),
        (("int8",) * 3, {}, GraphirError, "3 dtypes are given, the symbol has 2 arguments"),
        ((), {"a": "nonsense"}, TypeError, "the dtype of a: no such dtype: 'nonsense'"),
        ((), {"c": "float32"}, GraphirError, "c"),
        (("int8", "int32"), {}, GraphirError, "int32"),
    ],
)
def test_refused(args: Any, named: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        mx.sym.load_json(SUM).infer_type(*args, **named)
