"""`graphir.quantize`: what is written runs, costs what the report says, and keeps a stated limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image

import graphir
from graphir.converters.onnx.quantizable import write_quantizable
from graphir.errors import ArgumentError, ExportFailure, GraphirError, VerificationError
from graphir.graph import Graph
from graphir.ops.linear import MatMul
from graphir.runtime import quantizer
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from models.mobilenet import mobilenet
from tests.building import run_model

from .networks import DIGITS, LABELLED, need_onnx_ir, rows, two_products, write

QUICK = {"seconds": 0.01}
quantize: Any = graphir.quantize  # with options as keywords, which its signature does not have
SHAPES = {"data": ("N", 1, 8, 8)}


def run(path: Path, **feeds: Any) -> Any:
    return next(iter(run_model(path, feeds).values()))


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load_model(str(path)).graph.node]


@pytest.mark.parametrize("activations", ["uint8", "int8", "uint16", "int16"])
def test_static_digits(tmp_path: Path, activations: str) -> None:
    target = tmp_path / "digits.onnx"
    report = quantize(
        DIGITS, target, feeds=LABELLED, shapes=SHAPES, accuracy=LABELLED, activations=activations, **QUICK
    )
    labelled = np.load(LABELLED)
    correct = int((run(target, data=labelled["data"]).argmax(1) == labelled["label"]).sum())
    assert report.reached
    assert report.is_written
    assert report.accuracy is not None
    assert correct == report.accuracy.candidate_correct >= 440
    assert "QuantizeLinear" in operators(target)
    assert "BatchNormalization" not in operators(target)
    assert report.sizes[1] == target.stat().st_size < report.sizes[0] / 2
    assert 0 < report.error < 0.05
    assert report.opset == (21 if "16" in activations else 17)
    assert {layer.nodes[0] for layer in report.layers} >= {"conv1", "conv2", "fc1", "fc2"}
    assert [layer.caused for layer in report.layers] == sorted((layer.caused for layer in report.layers), reverse=True)


@pytest.mark.parametrize("method", ["minmax", "entropy", "percentile"])
def test_methods_calibrate_in_steps(tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Counting(quantizer._OneBatch):
        def __init__(self, feeds: Any) -> None:
            super().__init__(feeds)
            sizes.append(len(feeds["x"]))

    monkeypatch.setattr("graphir.quantization.run.run_in_child", lambda function, *_: function())
    monkeypatch.setattr(quantizer, "_OneBatch", Counting)
    report = quantize(
        two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx", feeds={"x": rows()}, method=method, samples=20,
        **QUICK,
    )  # fmt: skip
    assert set(sizes) == ({4} if method == "minmax" else {1})
    assert 18 <= sum(sizes) == report.calibrated_on <= 20
    assert report.error < 0.3


def test_dynamic_needs_no_feeds(tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    report = quantize(two_products(tmp_path / "in.onnx"), target, kind="dynamic", **QUICK)
    assert "drawn" in report.error_on
    assert operators(target).count("MatMulInteger") == 2
    assert np.isfinite(run(target, x=rows())).all()


def test_int4(tmp_path: Path) -> None:
    need_onnx_ir()
    source, target = two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx"
    fine = quantize(source, target, kind="int4", block_size=16, feeds={"x": rows()}, **QUICK)
    assert operators(target).count("MatMulNBits") == 2
    assert fine.own_operators == ["com.microsoft.MatMulNBits"]
    expected, found = run(source, x=rows()), run(target, x=rows())
    assert fine.error == pytest.approx(np.linalg.norm(found - expected) / np.linalg.norm(expected), rel=0.2)
    kept = quantize(source, target, kind="int4", feeds={"x": rows()}, max_error=fine.error / 2, **QUICK)
    assert kept.reached == (kept.error <= fine.error / 2)
    assert "int4 in blocks of 32" in str(kept)


def test_gemm_is_int4_and_stays_where_excluded(tmp_path: Path) -> None:
    need_onnx_ir()
    target = tmp_path / "digits.onnx"
    quantize(DIGITS, target, kind="int4", shapes=SHAPES, exclude=["fc1"], **QUICK)
    assert operators(target).count("MatMulNBits") == 1


def test_per_channel_is_better_where_channels_differ(tmp_path: Path) -> None:
    source = tmp_path / "mobilenet.onnx"
    graphir.save(mobilenet(size=32, batch="N", classes=10), source)
    images = np.random.default_rng(0).normal(size=(16, 3, 32, 32)).astype(np.float32)
    fine, coarse = (
        quantize(source, tmp_path / "out.onnx", feeds={"input": images}, per_channel=per_channel, **QUICK)
        for per_channel in (True, False)
    )
    own = [np.median([layer.own for layer in report.layers if layer.operator == "Conv"]) for report in (fine, coarse)]
    assert own[0] < 0.75 * own[1]


def test_limit_keeps_as_few_layers_as_it_needs(tmp_path: Path) -> None:
    source, target = two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx"
    free = quantize(source, target, feeds={"x": rows()}, **QUICK)
    written = operators(target)
    report = quantize(source, target, feeds={"x": rows()}, max_error=0.7 * free.error, **QUICK)
    assert operators(target).count("QuantizeLinear") < written.count("QuantizeLinear")
    assert report.reached
    assert 0 < report.kept < len(report.layers)
    assert report.error <= 0.7 * free.error
    assert {name for each in report.left for name in each.nodes} >= set(report.layers[0].nodes)
    assert any(kept == report.kept - 1 and error > 0.7 * free.error for kept, error, _ in report.trials)


def test_limit_that_nothing_keeps(tmp_path: Path) -> None:
    source, target = two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx"
    report = quantize(source, target, feeds={"x": rows()}, max_error=1e-9, **QUICK)
    assert (report.reached, report.is_written, report.exit_code, target.exists()) == (False, False, 4, False)
    assert "NOT REACHED" in str(report)
    report = quantize(source, target, feeds={"x": rows()}, max_error=1e-9, keep_best=True, **QUICK)
    assert (report.reached, report.is_written, target.exists()) == (False, True, True)
    assert report.error == min(error for _, error, _ in report.trials)


def test_arrays_named_after_two_inputs(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.onnx",
        """scores (float[N, 8] x, float[N, 8] mask) => (float[N, 8] y) {
            product = MatMul(x, w)
            y = Add(product, mask)
        }""",
        w=np.random.default_rng(0).normal(size=(8, 8)),
    )
    folder = tmp_path / "feeds"
    folder.mkdir()
    np.save(folder / "x.npy", rows(24, 8))
    np.save(folder / "mask.npy", np.zeros((24, 8), np.float32))
    report = quantize(source, tmp_path / "out.onnx", feeds=folder, **QUICK)
    assert report.calibrated_on == 16
    assert report.timing.inputs == "x float32[1, 8], mask float32[1, 8]"


def test_inputs_of_any_name(tmp_path: Path) -> None:
    text = "named (float[N, 8] file) => (float[N, 8] y) { y = MatMul(file, w) }"
    source = write(tmp_path / "in.onnx", text, w=np.eye(8))
    model = onnx.load_model(str(source))
    model.graph.node[0].name = model.graph.node[0].output[0] = model.graph.output[0].name = "a/../b:0"
    onnx.save_model(model, str(source))
    report = quantize(source, tmp_path / "out.onnx", feeds={"file": rows(width=8)}, **QUICK)
    assert [layer.value for layer in report.layers] == ["a/../b:0"]


def test_limit_of_the_error_needs_own_samples(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="feeds"):
        quantize(two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx", kind="dynamic", max_error=0.1, **QUICK)


def test_drop_of_accuracy(tmp_path: Path) -> None:
    report = quantize(
        DIGITS, tmp_path / "out.onnx", feeds=LABELLED, shapes=SHAPES, accuracy=LABELLED, max_drop=0.005, **QUICK
    )
    assert report.reached
    assert report.drop <= 0.005


def test_mobilenet_from_images(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for index in range(10):
        pixels = generator.integers(0, 255, (4, 5, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((40 + index, 50)).save(tmp_path / f"{index}.png")
    source = tmp_path / "mobilenet.onnx"
    graphir.save(mobilenet(size=32, batch="N", classes=10), source)
    report = quantize(source, tmp_path / "out.onnx", feeds=tmp_path, **QUICK)
    assert "resized to 32x32" in str(report)
    assert report.sizes[1] < 0.35 * report.sizes[0]
    assert sum(layer.operator == "Conv" for layer in report.layers) == 28
    assert all(0 < layer.own < 0.1 for layer in report.layers if layer.operator == "Conv")


def test_relu_that_rounding_replaces_costs_nothing(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    source = write(
        tmp_path / "in.onnx",
        "relu (float[N, 8] x) => (float[N, 8] y) { a = MatMul(x, w)  b = Relu(a)  y = MatMul(b, v) }",
        w=generator.normal(size=(8, 8)), v=generator.normal(size=(8, 8)),
    )  # fmt: skip
    report = quantize(source, tmp_path / "out.onnx", feeds={"x": rows(width=8)}, **QUICK)
    assert "Relu" not in operators(tmp_path / "out.onnx")
    assert max(layer.own for layer in report.layers) < 0.2  # of what comes before the Relu it is 0.7


def test_control_flow_stays_float(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.onnx",
        """branch (float[N, 8] x, bool c) => (float[N, 8] y) {
            a = MatMul(x, w)
            y = If(c) <then_branch = yes () => (float[N, 8] t) { t = Neg(a) },
                       else_branch = no () => (float[N, 8] e) { e = Exp(a) }>
        }""",
        w=np.eye(8),
    )
    feeds = {"x": rows(1, 8), "c": np.array(True)}
    report = quantize(source, tmp_path / "out.onnx", feeds=feeds, **QUICK)
    assert "If" in {each.operator for each in report.left}
    assert [layer.operator for layer in report.layers] == ["MatMul"]
    assert run(tmp_path / "out.onnx", **feeds).shape == (1, 8)


def test_fixed_batch_is_filled(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.onnx", "fixed (float[4, 8] x) => (float[4, 8] y) { y = MatMul(x, w) }", w=np.eye(8) + 0.5
    )
    report = quantize(source, tmp_path / "out.onnx", feeds={"x": rows(18, 8)}, **QUICK)
    assert report.calibrated_on == 12
    assert report.timing.inputs == "x float32[4, 8]"


def test_weights_of_the_source_are_as_they_were(tmp_path: Path) -> None:
    source = two_products(tmp_path / "in.onnx")
    before = source.read_bytes()
    quantize(source, tmp_path / "out.onnx", feeds={"x": rows()}, **QUICK)
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.onnx", "out.onnx"]


@pytest.mark.parametrize(
    "feeds, text",
    [
        (None, "--kind dynamic"),
        ("normal", "--kind dynamic"),
        ({"z": rows()}, "lack x"),
        ({"x": rows(width=31)}, "x is [40, 31], but the model's input is float32[N, 32]"),
        ({"x": np.full((2, 32), np.nan, np.float32)}, "NaN or infinities"),
        ({"x": rows(0)}, "no elements"),
        ({"x": rows().reshape(-1)}, "x is [1280]"),
    ],
)
def test_feeds_that_do_not_fit(tmp_path: Path, feeds: Any, text: str) -> None:
    with pytest.raises(VerificationError) as refusal:
        quantize(two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx", feeds=feeds, **QUICK)
    assert text in str(refusal.value)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    "options, text",
    [
        ({"kind": "int8"}, "kind='int8'"),
        ({"kind": "dynamic", "activations": "int8"}, "only kind static"),
        ({"kind": "int4", "method": "entropy"}, "only kind static"),
        ({"block_size": 32}, "only kind int4"),
        ({"kind": "int4", "block_size": 24}, "block_size=24"),
        ({"kind": "int4", "per_channel": False}, "a block"),
        ({"max_drop": 0.1}, "needs labelled data"),
        ({"max_drop": 0.1, "max_error": 0.1, "accuracy": "x.npz"}, "one of them"),
        ({"max_error": float("nan")}, "finite"),
        ({"keep_best": True}, "needs a limit"),
        ({"activations": "int16", "opset": 17}, "opset 21"),
        ({"samples": 1}, "2 or more"),
        ({"exclude": "fc1"}, "several in a list"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        quantize(tmp_path / "absent.onnx", tmp_path / "out.onnx", **options)


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_nothing_to_quantize(tmp_path: Path, kind: str) -> None:
    source = write(tmp_path / "in.onnx", "nothing (float[N, 8] x) => (float[N, 8] y) { y = Exp(x) }")
    with pytest.raises(ExportFailure, match=f"nothing to quantize as {kind}.*the model has Exp"):
        quantize(source, tmp_path / "out.onnx", kind=kind, feeds={"x": rows(width=8)}, **QUICK)


def test_quantized_models_are_refused(tmp_path: Path) -> None:
    source, once = two_products(tmp_path / "in.onnx"), tmp_path / "once.onnx"
    quantize(source, once, feeds={"x": rows()}, **QUICK)
    with pytest.raises(ExportFailure, match="quantized already"):
        quantize(once, tmp_path / "twice.onnx", feeds={"x": rows()}, **QUICK)


def test_weights_beyond_one_file_are_refused_before_they_are_read(tmp_path: Path) -> None:
    def explode() -> Any:
        raise AssertionError("the weights were read")

    graph = Graph("large")
    x = graph.add_input("x", TensorType(DType.FLOAT32, ("N", 30000)))
    weight = graph.add_parameter("w", Tensor.computed(DType.FLOAT32, (30000, 20000), explode))
    graph.set_outputs([graph.add(MatMul(), x, weight)])
    with pytest.raises(ExportFailure, match=r"2,400,000,000 bytes of weights: onnxruntime\.quantization takes"):
        write_quantizable(graph, tmp_path / "float.onnx", None, lambda source, target: None)


def test_source_is_not_overwritten(tmp_path: Path) -> None:
    source = two_products(tmp_path / "in.onnx")
    with pytest.raises(ExportFailure, match="a file of the source"):
        quantize(source, source, feeds={"x": rows()}, **QUICK)


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx_ir", None)
    monkeypatch.delitem(__import__("sys").modules, "onnxruntime.quantization.matmul_nbits_quantizer", raising=False)
    with pytest.raises(GraphirError, match=r"needs onnx_ir for kind int4.*pip install 'onnx-ir"):
        quantize(two_products(tmp_path / "in.onnx"), tmp_path / "out.onnx", kind="int4")
