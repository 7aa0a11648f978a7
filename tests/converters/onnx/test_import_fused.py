"""What onnxruntime's optimiser writes is read as the operators of ONNX that it fused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from graphir.converters.onnx import from_model
from graphir.converters.session import Session
from tests.building import parse_model

DRAWN = np.random.Generator(np.random.PCG64(7))
ARRAYS = {
    "x": DRAWN.standard_normal((1, 2, 5, 5)), "w": DRAWN.standard_normal((2, 2, 3, 3)), "b": DRAWN.standard_normal(2),
    "z": DRAWN.standard_normal((1, 2, 5, 5)), "a": DRAWN.standard_normal((3, 4)), "v": DRAWN.standard_normal((5, 4)),
}  # fmt: skip
CONV = 'FusedConv<pads = [1, 1, 1, 1], activation = "{}"'
GEMM = 'FusedGemm<transB = 1, alpha = 0.5, activation = "{}"'
ROWS = {
    f"{CONV.format('Relu')}>(x, w, b)": ["Conv", "Relu"],
    f"{CONV.format('Relu')}>(x, w, b, z)": ["Conv", "Add", "Relu"],
    f"{CONV.format('Tanh')}>(x, w)": ["Conv", "Tanh"],
    f"{CONV.format('LeakyRelu')}, activation_params = [0.3]>(x, w, b)": ["Conv", "LeakyRelu"],
    f"{CONV.format('HardSigmoid')}, activation_params = [0.3, 0.4]>(x, w, b)": ["Conv", "HardSigmoid"],
    f"{CONV.format('Clip')}, activation_params = [0.0, 1.0]>(x, w, b)": ["Conv", "Clip"],
    "FusedConv<pads = [1, 1, 1, 1]>(x, w, b)": ["Foreign"],
    f"{GEMM.format('Sigmoid')}>(a, v)": ["Gemm", "Sigmoid"],
    f"{GEMM.format('Elu')}, activation_alpha = 0.7>(a, v)": ["Gemm", "Elu"],
    f"{GEMM.format('ThresholdedRelu')}, activation_alpha = 0.1>(a, v)": ["Gemm", "ThresholdedRelu"],
    f"{GEMM.format('Selu')}, activation_alpha = 1.5, activation_gamma = 1.1>(a, v)": ["Gemm", "Selu"],
    f"{GEMM.format('Softsign')}>(a, v)": ["Gemm", "Softsign"],
}  # fmt: skip


def model(call: str) -> Any:
    """The model of one fused node on the arrays that it reads."""
    names = call[call.rindex("(") + 1 : -1].split(", ")
    inputs = ", ".join(f"float{list(ARRAYS[name].shape)} {name}" for name in names)
    return parse_model(f"g ({inputs}) => (float y) {{ y = com.microsoft.{call} }}", domains={"com.microsoft": 1})


@pytest.mark.parametrize("call", ROWS)
def test_a_fused_node_is_what_it_was_made_of(call: str) -> None:
    fused = model(call)
    fused.graph.output[0].type.tensor_type.ClearField("shape")
    graph = from_model(fused)
    assert [node.op.name for node in graph.nodes] == ROWS[call]
    assert graph.outputs[0].name == "y"
    feeds = {name: ARRAYS[name].astype(np.float32) for name in (given.name for given in graph.inputs)}
    (expected,) = onnxruntime.InferenceSession(fused.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(Session(graph).run(feeds)["y"], expected, rtol=1e-5, atol=1e-6)


def test_what_the_optimiser_wrote_is_the_model_again(tmp_path: Path) -> None:
    plain = parse_model("""g (float[3, 4] a, float[5, 4] v) => (float[3, 5] y) {
        m = Gemm<transB = 1>(a, v) y = LeakyRelu<alpha = 0.2>(m) }""")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(plain.SerializeToString(), options, providers=["CPUExecutionProvider"])
    written = onnx.load(tmp_path / "optimised.onnx")
    assert [node.op_type for node in written.graph.node] == ["FusedGemm"]
    graph = from_model(written)
    assert [(node.op.name, getattr(node.op, "alpha", None)) for node in graph.nodes] == [
        ("Gemm", 1.0), ("LeakyRelu", pytest.approx(0.2)),
    ]  # fmt: skip
    assert [decision.text for decision in graph.decisions] == ["onnxruntime's FusedGemm is Gemm and LeakyRelu"]


def test_an_activation_that_is_no_text_stays_foreign() -> None:
    fused = model(f"{GEMM.format('Relu')}>(a, v)")
    next(attribute for attribute in fused.graph.node[0].attribute if attribute.name == "activation").s = b"\xff\xfe"
    assert [node.op.name for node in from_model(fused).nodes] == ["Foreign"]
