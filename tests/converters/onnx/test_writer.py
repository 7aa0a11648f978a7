"""The streaming writer: byte for byte what onnx reads, in all three modes, and nothing left behind by a failure."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from graphir.converters.mxnet.files.params import read_params, write_params
from graphir.converters.onnx.files import writer
from graphir.converters.onnx.files.records import OnnxModel, OnnxNode
from graphir.converters.onnx.files.writer import model_bytes, output_addition, write_model
from graphir.errors import ExportFailure
from graphir.files.writing import PARTIAL, partial_prefix
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

MODES = ("inline", "external", "reference")
F32 = DType.FLOAT32


def model(initializers: dict[str, Tensor], *, outputs: list[str] | None = None) -> OnnxModel:
    """Every initializer passed on to an output of its own."""
    names = list(initializers) if outputs is None else outputs
    return OnnxModel(
        name="g",
        opset=21,
        nodes=[OnnxNode("Identity", (name,), (f"{name}_out",), name, {}) for name in names],
        inputs=[],
        outputs=[(f"{name}_out", initializers[name].type) for name in names],
        initializers=initializers,
    )


def weights() -> dict[str, np.ndarray[Any, Any]]:
    generator = np.random.Generator(np.random.PCG64(5))
    shapes = {"large": (1 << 18,), "middle": (40, 50), "small": (3,), "scalar": (), "empty": (0, 4)}
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def mapped(tmp_path: Path) -> dict[str, Tensor]:
    """Weights that lie in a .params file, and some that do not."""
    arrays = weights()
    kept = {name: array for name, array in arrays.items() if array.ndim and array.size}
    write_params(tmp_path / "w.params", kept)
    return {**read_params(tmp_path / "w.params"), "scalar": Tensor.of(arrays["scalar"]),
            "empty": Tensor.of(arrays["empty"])}  # fmt: skip


@pytest.mark.parametrize(
    "array",
    [
        *(np.array([[1, 2, 3], [4, 5, 6]], dtype) for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8")),
        *(np.array([0, 255], dtype) for dtype in ("u1", "u2", "u4", "u8")),
        np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32),
        np.array([1.5, -2, 3e38], ml_dtypes.bfloat16),
        *(
            np.array([1.5, -2, 0.25], getattr(ml_dtypes, name))
            for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
        ),
        np.array([[-8, 7, 1], [0, -1, 3]], ml_dtypes.int4),
        np.array([15, 0, 9], ml_dtypes.uint4),
        np.array([1.5, -6, 0.5], ml_dtypes.float4_e2m1fn),
        np.array([True, False, True]),
        np.array([1 + 2j, 3], np.complex64),
        np.array([1 + 2j, 3], np.complex128),
        np.array(3.5, np.float32),
        np.array(7, np.int64),
        np.array(True),
        np.zeros((0, 4), np.float32),
        np.zeros((3, 0), np.int64),
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(24, dtype=np.float32)[::-2],
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
@pytest.mark.parametrize("weights", ["inline", "external"])
def test_elements_are_exact(
    array: np.ndarray[Any, Any], weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "INLINE_BELOW", 1)
    write_model(model({"w": Tensor.of(array)}), tmp_path / "m.onnx", weights=weights)
    loaded = onnx.load(tmp_path / "m.onnx").graph.initializer[0]
    found = numpy_helper.to_array(loaded)
    assert tuple(loaded.dims) == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.tobytes() == np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).tobytes()


@pytest.mark.parametrize("weights", ["inline", "external"])
def test_strings(weights: str, tmp_path: Path) -> None:
    array = np.array([["a", "\udcff"], ["\u00e9\u4e2d", b"\xff\x00"]], object)
    write_model(model({"w": Tensor.of(array)}), tmp_path / "m.onnx", weights=weights)
    proto = onnx.load(tmp_path / "m.onnx").graph.initializer[0]
    assert list(proto.string_data) == [b"a", b"\xff", "\u00e9\u4e2d".encode(), b"\xff\x00"]
    assert tuple(proto.dims) == (2, 2)


@pytest.mark.parametrize("mode", MODES)
def test_onnxruntime_reads_every_mode_alike(mode: str, mapped: dict[str, Tensor], tmp_path: Path) -> None:
    files = write_model(model(mapped), tmp_path / "m.onnx", weights=mode)
    assert [path.name for path in files] == (["m.onnx", "m.onnx.data"] if mode == "external" else ["m.onnx"])
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    found = dict(zip([item.name for item in session.get_outputs()], session.run(None, {}), strict=True))
    expected = weights()
    assert {name: found[f"{name}_out"].tobytes() for name in expected} == {
        name: array.tobytes() for name, array in expected.items()
    }


def places(path: Path) -> dict[str, dict[str, str]]:
    loaded = onnx.load(path, load_external_data=False)
    return {
        tensor.name: {entry.key: entry.value for entry in tensor.external_data}
        for tensor in loaded.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }


def test_places_of_external_weights(mapped: dict[str, Tensor], tmp_path: Path) -> None:
    write_model(model(mapped), tmp_path / "a b.onnx", weights="external")
    found = places(tmp_path / "a b.onnx")
    assert set(found) == {"large", "middle"}
    assert {place["location"] for place in found.values()} == {"a b.onnx.data"}
    assert int(found["large"]["offset"]) % 4096 == 0
    assert int(found["middle"]["offset"]) % 64 == 0
    assert {name: int(place["length"]) for name, place in found.items()} == {"large": 4 << 18, "middle": 8000}


def test_external_without_large_weights_is_one_file(tmp_path: Path) -> None:
    files = write_model(model({"w": Tensor.of(np.ones(3, np.float32))}), tmp_path / "m.onnx", weights="external")
    assert files == [tmp_path / "m.onnx"]
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_reference_points_into_the_source(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write_params(tmp_path / "below" / "w.params", {"large": weights()["large"]})
    tensors = {"large": read_params(tmp_path / "below" / "w.params")["large"]}
    write_model(model(tensors), tmp_path / "m.onnx", weights="reference")
    assert places(tmp_path / "m.onnx")["large"]["location"] == "below/w.params"
    assert (tmp_path / "m.onnx").stat().st_size < 1000


def test_reference_refuses_a_target_elsewhere(mapped: dict[str, Tensor], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(ExportFailure, match=r"outside the target's folder .*out; write the \.onnx beside them"):
        write_model(model(mapped), tmp_path / "out" / "m.onnx", weights="reference")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "limit, mode, files, message",
    [
        (1 << 20, "auto", 2, ""),
        (2 << 20, "auto", 1, ""),
        (1 << 20, "external", 2, ""),
        (1 << 20, "reference", 1, ""),
        (1 << 20, "inline", 0, r"do not fit into one ONNX file \(protobuf ends at 2 GiB\); use --weights external"),
        (1 << 20, "outline", 0, "weights='outline': expected one of auto, inline, external, reference"),
    ],
)
def test_limit_of_one_file(
    limit: int, mode: str, files: int, message: str, mapped: dict[str, Tensor], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(writer, "SINGLE_FILE_LIMIT", limit)
    if files:
        assert len(write_model(model(mapped), tmp_path / "m.onnx", weights=mode)) == files
        return
    with pytest.raises(ExportFailure, match=message):
        write_model(model(mapped), tmp_path / "m.onnx", weights=mode)
    assert [path.name for path in tmp_path.iterdir()] == ["w.params"]


def test_limit_of_the_structure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SINGLE_FILE_LIMIT", 500 - (1 << 20))
    large = model({"w": Tensor.of(np.ones(1000, np.float32))})
    with pytest.raises(ExportFailure, match="weights do not fit into one protobuf message; write the model to a file"):
        model_bytes(large)
    large.nodes *= 20
    with pytest.raises(ExportFailure, match=r"the model takes \d+ bytes, more than protobuf's 2 GiB"):
        write_model(large, tmp_path / "m.onnx", weights="external")
    assert list(tmp_path.iterdir()) == []


def test_bytes_equal_the_file(mapped: dict[str, Tensor], tmp_path: Path) -> None:
    write_model(model(mapped), tmp_path / "m.onnx", weights="inline")
    assert model_bytes(model(mapped)) == (tmp_path / "m.onnx").read_bytes()


@pytest.mark.parametrize("mode", MODES)
def test_a_model_is_written_over(mode: str, mapped: dict[str, Tensor], tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"old" * 10**6)
    (tmp_path / f"{partial_prefix('m.onnx')}0{PARTIAL}").write_bytes(b"from a run that was killed" * 10**5)
    write_model(model(mapped), tmp_path / "m.onnx", weights=mode)
    write_model(model(mapped), tmp_path / "m.onnx", weights=mode)
    assert len(onnx.load(tmp_path / "m.onnx").graph.initializer) == 5
    assert not [path for path in tmp_path.iterdir() if PARTIAL in path.name]


def chain(count: int) -> OnnxModel:
    names = [f"v{index}" for index in range(count + 1)]
    nodes = [
        OnnxNode("Elu", (names[index],), (names[index + 1],), f"n{index}", {"alpha": 1.5}) for index in range(count)
    ]
    type_ = TensorType(F32, (2,))
    return OnnxModel("chain", nodes, [("v0", type_)], [(names[-1], type_)], {}, 21)


def seconds(count: int, folder: Path) -> float:
    made = chain(count)
    started = time.process_time()
    write_model(made, folder / "m.onnx")
    return time.process_time() - started


def test_time_is_linear_in_nodes(tmp_path: Path) -> None:
    small = min(seconds(10_000, tmp_path) for _ in range(3))
    large = seconds(100_000, tmp_path)
    assert len(onnx.load(tmp_path / "m.onnx").graph.node) == 100_000
    assert large < 25 * small


@pytest.mark.parametrize(
    "value, kind, found",
    [
        (3, "i", 3),
        (True, "i", 1),
        (1.5, "f", 1.5),
        ("text", "s", b"text"),
        (b"\xff", "s", b"\xff"),
        ("a\udcff", "s", b"a\xff"),
        (("\udcff", ""), "strings", [b"\xff", b""]),
        ((1, 2), "ints", [1, 2]),
        ((), "ints", []),
        ((1.5, 2), "floats", [1.5, 2]),
        (("a", "b"), "strings", [b"a", b"b"]),
    ],
)
def test_attributes(value: object, kind: str, found: object) -> None:
    made = chain(1)
    made.nodes[0].attributes["a"] = value
    attribute = next(
        item for item in onnx.load_from_string(model_bytes(made)).graph.node[0].attribute if item.name == "a"
    )
    stored = getattr(attribute, kind)
    assert (list(stored) if kind.endswith("s") and kind != "s" else stored) == found


def test_tensor_attribute() -> None:
    made = chain(1)
    made.nodes[0].attributes["a"] = Tensor.of(np.array([1, 2], np.int16))
    attribute = onnx.load_from_string(model_bytes(made)).graph.node[0].attribute[1]
    assert numpy_helper.to_array(attribute.t).tolist() == [1, 2]


@pytest.mark.parametrize("value", ["\ud800", ("a", "\ud800")])
def test_texts_that_utf8_has_no_bytes_for(value: object) -> None:
    made = chain(1)
    made.nodes[0].attributes["a"] = value
    with pytest.raises(ExportFailure, match=r"attribute a of n0: .*surrogate"):
        model_bytes(made)


@pytest.mark.parametrize("value", [None, object(), {"a": 1}, (1, "a"), 2j])
def test_attributes_that_onnx_cannot_hold(value: object) -> None:
    made = chain(1)
    made.nodes[0].attributes["a"] = value
    with pytest.raises(ExportFailure, match=r"n0 \(Elu\): attribute a is"):
        model_bytes(made)


def test_output_addition() -> None:
    extended = onnx.load_from_string(model_bytes(chain(3)) + output_addition(["v1", "v2"]))
    assert [item.name for item in extended.graph.output] == ["v3", "v1", "v2"]
    assert len(extended.graph.node) == 3
