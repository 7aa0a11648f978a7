"""Declared shapes that contradict the model, as tools leave them behind that change the inputs' sizes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.onnx_ml_pb2 import ModelProto

from graphir.converters.onnx import from_model, to_model
from graphir.errors import GraphirError
from tests.building import make_model, run_model

FLOAT = TensorProto.FLOAT


def model(
    data: tuple[int | str, ...],
    inner: tuple[int | str, ...] | None,
    result: tuple[int | str, ...] | None,
    dtype: int = FLOAT,
) -> ModelProto:
    """Conv then Relu over data of 3 channels; `inner` and `result` are the shapes that it declares."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    weight = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype("float32")
    model = make_model(nodes, {"x": list(data)}, {"y": result and list(result)}, {"w": weight})
    model.graph.value_info.append(helper.make_tensor_value_info("c", dtype, inner))
    return model


# data, c and y as declared; c and y as they are; the values whose declaration is passed over
ROWS = [
    (("N", 3, 8, 8), ("N", 4, 8, 8), ("N", 4, 8, 8), "[N, 4, 8, 8]", "[N, 4, 8, 8]", []),
    (("N", 3, 8, 8), ("M", 4, 8, 8), None, "[N, 4, 8, 8]", "[N, 4, 8, 8]", []),
    (("N", 3, 8, 8), (1, 4, 8, 8), None, "[N, 4, 8, 8]", "[N, 4, 8, 8]", ["c"]),
    (("N", 3, 8, 8), (1, 4, 8, 8), (1, 4, 8, 8), "[N, 4, 8, 8]", "[N, 4, 8, 8]", ["c"]),
    (("N", 3, 8, 8), None, (1, 4, 8, 8), "[N, 4, 8, 8]", "[N, 4, 8, 8]", ["y"]),
    ((2, 3, 8, 8), (1, 4, 8, 8), (2, 4, 8, 8), "[2, 4, 8, 8]", "[2, 4, 8, 8]", ["c"]),
    ((2, 3, 8, "W"), (2, 4, 8, 9), None, "[2, 4, 8, W]", "[2, 4, 8, W]", ["c"]),
    ((2, 3, 8, 8), (4, 64), None, "[2, 4, 8, 8]", "[2, 4, 8, 8]", ["c"]),
    ((2, 3, 8, 8), None, (1, 4, 8, 8), "[2, 4, 8, 8]", "[2, 4, 8, 8]", ["y"]),
    ((2, 3, 8, 8), None, (2, 256), "[2, 4, 8, 8]", "[2, 4, 8, 8]", ["y"]),
    (("N", 3, 8, 8), None, (1, "length"), "[N, 4, 8, 8]", "[N, 4, 8, 8]", ["y"]),
]


@pytest.mark.parametrize(("data", "inner", "result", "c", "y", "refuted"), ROWS)
def test_what_the_operators_give_stands(
    data: tuple[int | str, ...],
    inner: tuple[int | str, ...] | None,
    result: tuple[int | str, ...] | None,
    c: str,
    y: str,
    refuted: list[str],
) -> None:
    source = model(data, inner, result)
    graph = from_model(source)
    assert (str(graph["c"].type), str(graph["y"].type)) == (f"float32{c}", f"float32{y}")
    assert [decision.node for decision in graph.decisions if decision.kind == "declared shape"] == refuted
    back = to_model(graph)
    feed = {"x": np.ones([size if isinstance(size, int) else 3 for size in data], "float32")}
    first, second = (
        next(iter(run_model(kept, feed).values())) for kept in (source, back)
    )
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_several_are_one_decision() -> None:
    texts = [decision.text for decision in from_model(model(("N", 3, 8, 8), (1, 4, 8, 8), (1, 4, 8, 8))).decisions]
    assert texts == [
        "the model declares float32[1, 4, 8, 8], but its operators give float32[N, 4, 8, 8], which stands; "
        "so it is with 1 more"
    ]


def test_dtypes_must_agree() -> None:
    with pytest.raises(GraphirError, match=r"declares c as float64.*dtypes float32 and float64"):
        from_model(model((2, 3, 8, 8), (2, 4, 8, 8), None, TensorProto.DOUBLE))
