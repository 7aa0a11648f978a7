"""Quantized models as onnxruntime's offline optimiser writes them: kernels of 8 bits, signed numbers as unsigned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import graphir
from tests.building import parse_model
from tests.faults.disguise import optimised

DRAWN = np.random.Generator(np.random.PCG64(7))
SCALES = {"s0": 0.03, "s1": 0.02, "s2": 0.008, "ws": 0.01, "bs": 0.0003}
WEIGHTS: dict[str, Any] = {
    **{name: np.float32(scale) for name, scale in SCALES.items()},
    **{f"w{index}": DRAWN.integers(-60, 60, (16, 16)).astype(np.int8) for index in range(2)},
    "wz": np.int8(0), "b0": DRAWN.integers(-600, 600, 16).astype(np.int32), "bz": np.int32(0),
}  # fmt: skip


def quantized(name: str, scale: str, data: str) -> str:
    """Nodes that round a value to 8 bits and back."""
    return f"{name}_q = QuantizeLinear({data}, {scale}, zero) {name} = DequantizeLinear({name}_q, {scale}, zero)"


def attention(index: int, data: str, result: str) -> str:
    """A product, a softmax, and their sum."""
    rounded = [quantized(f"p{index}", "s1", f"m{index}"), quantized(f"o{index}", "s2", f"t{index}"),
               quantized(result, "s1", f"a{index}")]  # fmt: skip
    return (
        f"d{index} = DequantizeLinear(w{index}, ws, wz) m{index} = MatMul({data}, d{index}) {rounded[0]} "
        f"t{index} = Softmax(p{index}) {rounded[1]} a{index} = Add(o{index}, p{index}) {rounded[2]}"
    )


# The optimiser moves the end of the first model by two steps of 8 bits, and turns the signed zero points of the second.
SOFTMAXES = f"{quantized('h', 's0', 'x')} {attention(0, 'h', 'i')} {attention(1, 'i', 'j')} y = Identity(j)"
SIGNED = (
    f"{quantized('h', 's0', 'x')} d0 = DequantizeLinear(w0, ws, wz) c0 = DequantizeLinear(b0, bs, bz) "
    f"m0 = Gemm(h, d0, c0) {quantized('i', 's1', 'm0')} t = Tanh(i) {quantized('j', 's0', 't')} "
    f"d1 = DequantizeLinear(w1, ws, wz) m1 = MatMul(j, d1) {quantized('k', 's1', 'm1')} y = Neg(k)"
)

MODELS = pytest.mark.parametrize(("shape", "nodes", "zero"), [
    pytest.param("N, 4, 16", SOFTMAXES, np.uint8(128), id="steps"),
    pytest.param("N, 16", SIGNED, np.int8(0), id="signs"),
])  # fmt: skip


def report_of(folder: Path, shape: str, nodes: str, zero: Any, **other: Any) -> graphir.VerificationReport:
    """What verify says of a model beside the optimised form of one with some other weights."""
    for name, weights in (("a", WEIGHTS), ("b", WEIGHTS | other)):
        named = {key: value for key, value in weights.items() if f"{key}," in nodes or f"{key})" in nodes}
        model = parse_model(f"g (float[{shape}] x) => (float y) {{ {nodes} }}", zero=zero, **named)
        onnx.save(model if name == "a" else optimised(model), folder / f"{name}.onnx")
    return graphir.verify(folder / "a.onnx", folder / "b.onnx")


@MODELS
def test_what_the_optimiser_rounds_otherwise_is_equal(shape: str, nodes: str, zero: Any, tmp_path: Path) -> None:
    report = report_of(tmp_path, shape, nodes, zero)
    assert report.ok, str(report)


@MODELS
@pytest.mark.parametrize("other", [
    {"w1": WEIGHTS["w1"].T.copy()}, {"ws": np.float32(0.0105)}, {"s0": np.float32(0.04)},
])  # fmt: skip
def test_another_weight_or_scale_behind_it_is_not(
    shape: str, nodes: str, zero: Any, other: dict[str, Any], tmp_path: Path
) -> None:
    report = report_of(tmp_path, shape, nodes, zero, **other)
    assert report.exit_code == 4, str(report)
