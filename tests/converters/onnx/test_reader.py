"""Opening ONNX files: weights stay where they are, and what is no good ONNX file is refused with a reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from graphir.converters import detect_format
from graphir.converters.kernel.protobuf import write_varint
from graphir.converters.onnx import from_model, load
from graphir.converters.onnx.files.wire import strip_weights
from graphir.errors import FormatError, GraphirError, ImportFailure
from graphir.tensor import Tensor
from graphir.types import DType
from tests.building import Change, add_weights, parse_model, save_model
from tests.typed import untyped

ADD = "g (float[N] x) => (float[N] y) { y = Add(x, w) }"
LARGE = np.arange(1000, dtype=np.float32)


def external(name: str, shape: tuple[int, ...], *, data_type: int = 1, **entries: str) -> Any:
    """Return a TensorProto whose elements lie in another file."""
    proto = onnx.TensorProto(name=name, dims=shape, data_type=data_type, data_location=onnx.TensorProto.EXTERNAL)
    for key, text in entries.items():
        proto.external_data.add(key=key, value=text)
    return proto


def tensor_of(proto: Any, folder: Path) -> Tensor:
    """The tensor that an initializer becomes."""
    made = parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    made.graph.initializer.append(proto)
    tensor = from_model(save_model(folder / "model.onnx", made))[proto.name].tensor
    assert tensor is not None
    return tensor


def test_large_weights_stay_in_the_file(tmp_path: Path) -> None:
    made = parse_model(ADD)
    add_weights(made, w=LARGE)
    path = save_model(tmp_path / "model.onnx", made)
    tensor = from_model(path)["w"].tensor
    assert tensor is not None
    assert tensor.region is not None
    assert path.read_bytes()[tensor.region.offset :][: tensor.region.nbytes] == LARGE.tobytes()
    np.testing.assert_array_equal(tensor.numpy(), LARGE)


def test_weights_inside_subgraphs_and_constants_stay_too(tmp_path: Path) -> None:
    branch = onnx.parser.parse_graph("branch () => (float[N] r) { c = Constant() r = Identity(c) }")
    branch.node[0].attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(LARGE)))
    made = parse_model("g (bool c) => (float[N] y) { y = If(c) }")
    for name in ("then_branch", "else_branch"):
        made.graph.node[0].attribute.append(onnx.helper.make_attribute(name, branch))
    graph = from_model(save_model(tmp_path / "model.onnx", made))
    (node,) = graph.nodes
    regions = [inner["c"].tensor.region for inner in node.subgraphs]  # type: ignore[union-attr]
    assert [region is not None and region.nbytes for region in regions] == [4000, 4000]


def test_stripping_changes_nothing_but_the_raw_data() -> None:
    made = parse_model(ADD)
    add_weights(made, w=LARGE)
    add_weights(made, small=LARGE[:4])
    stripped = strip_weights(memoryview(made.SerializeToString()))
    found = onnx.ModelProto.FromString(stripped.message)
    assert [length for _, length in stripped.regions] == [4000]
    found.graph.initializer[0].raw_data = LARGE.tobytes()
    found.graph.initializer[0].ClearField("external_data")
    assert found == made


TYPED = [
    ("int32_data", DType.INT8, [-3, 4], np.array([-3, 4], np.int8)),
    ("int32_data", DType.BOOL, [0, 1], np.array([False, True])),
    ("int32_data", DType.UINT16, [65535, 1], np.array([65535, 1], np.uint16)),
    ("int32_data", DType.FLOAT16, [0x3C00, 0xC000], np.array([1, -2], np.float16)),
    ("int32_data", DType.BFLOAT16, [0x3F80, 0xC000], np.array([1, -2], ml_dtypes.bfloat16)),
    ("int32_data", DType.FLOAT8E5M2, [0x3C, 0xC0], np.array([1, -2], ml_dtypes.float8_e5m2)),
    ("int32_data", DType.INT4, [0xF1], np.array([1, -1], ml_dtypes.int4)),
    ("int32_data", DType.UINT4, [0xF1], np.array([1, 15], ml_dtypes.uint4)),
    ("int64_data", DType.INT64, [-(1 << 40), 1], np.array([-(1 << 40), 1])),
    ("uint64_data", DType.UINT32, [1 << 31, 1], np.array([1 << 31, 1], np.uint32)),
    ("uint64_data", DType.UINT64, [1 << 63, 1], np.array([1 << 63, 1], np.uint64)),
    ("float_data", DType.FLOAT32, [1.5, -2.0], np.array([1.5, -2], np.float32)),
    ("double_data", DType.FLOAT64, [1.5, -2.0], np.array([1.5, -2])),
    ("float_data", DType.COMPLEX64, [1.0, 2.0, 3.0, 4.0], np.array([1 + 2j, 3 + 4j], np.complex64)),
    ("string_data", DType.STRING, [b"a", "\u00e9".encode()], np.array(["a", "\u00e9"], object)),
]


@pytest.mark.parametrize("field, dtype, stored, expected", TYPED, ids=lambda item: str(item)[:12])
def test_typed_fields(
    tmp_path: Path, field: str, dtype: DType, stored: list[Any], expected: NDArray[Any]
) -> None:
    from graphir.converters.onnx.dtypes import CODES

    proto = onnx.TensorProto(name="w", dims=[2], data_type=CODES[dtype])
    getattr(proto, field).extend(stored)
    tensor = tensor_of(proto, tmp_path)
    assert tensor.dtype is dtype
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_packed_raw_data(tmp_path: Path) -> None:
    proto = onnx.TensorProto(name="w", dims=[3], data_type=onnx.TensorProto.INT4, raw_data=b"\xf1\x07")
    assert tensor_of(proto, tmp_path).numpy().tolist() == [1, -1, 7]


def test_external_data_is_a_region(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(64) + LARGE.tobytes())
    tensor = tensor_of(external("w", (1000,), location="weights.bin", offset="64", length="4000"), tmp_path)
    assert tensor.region is not None
    assert (tensor.region.offset, tensor.region.nbytes) == (64, 4000)
    np.testing.assert_array_equal(tensor.numpy(), LARGE)


def hub_cache(folder: Path, location: str) -> Path:
    """A cache of links: `snapshots/1/model.onnx` and its data link to files with hashes for names in `blobs`."""
    blobs, snapshot = folder / "blobs", folder / "snapshots" / "1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "def").write_bytes(LARGE.tobytes())
    made = parse_model(ADD)
    made.graph.initializer.append(external("w", (1000,), location=location))
    save_model(blobs / "abc", made)
    (snapshot / "model.onnx").symlink_to("../../blobs/abc")
    (snapshot / "model.onnx_data").symlink_to("../../blobs/def")
    return snapshot / "model.onnx"


def test_external_data_behind_links_of_a_cache(tmp_path: Path) -> None:
    tensor = from_model(hub_cache(tmp_path, "model.onnx_data"))["w"].tensor
    assert tensor is not None
    np.testing.assert_array_equal(tensor.numpy(), LARGE)


OUTSIDE = [
    ("../secret", "climbs"),
    ("sub/../../secret", "climbs"),
    ("/etc/hosts", "relative"),
    ("C:\\secret", "relative"),
    ("\\secret", "relative"),
    ("", "relative"),
    ("link", "outside"),
    ("folder", "no file"),
    ("missing.bin", "No such file"),
]


@pytest.mark.parametrize("location, reason", OUTSIDE)
def test_external_data_stays_in_the_folder(tmp_path: Path, location: str, reason: str) -> None:
    inside = tmp_path / "model"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(4000))
    (inside / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(GraphirError, match=f"initializer w.*{reason}"):
        tensor_of(external("w", (1000,), location=location), inside)


BAD_EXTERNAL = [
    ({"offset": "4000"}, "end at byte 8000"),
    ({"offset": "-4"}, "expected a number"),
    ({"length": "12"}, "takes 4000 bytes"),
    ({"offset": "99999999999999999999"}, "end at byte"),
]


@pytest.mark.parametrize("entries, reason", BAD_EXTERNAL)
def test_external_data_lies_in_its_file(tmp_path: Path, entries: dict[str, str], reason: str) -> None:
    (tmp_path / "w.bin").write_bytes(LARGE.tobytes())
    with pytest.raises(ImportFailure, match=f"initializer w.*{reason}"):
        tensor_of(external("w", (1000,), location="w.bin", **untyped(entries)), tmp_path)


def test_external_data_of_a_model_in_memory() -> None:
    made = parse_model(ADD)
    made.graph.initializer.append(external("w", (1000,), location="w.bin"))
    with pytest.raises(ImportFailure, match="give the path of the model"):
        from_model(made)


VALID = parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }").SerializeToString()
NOT_ONNX = [
    (b"", "empty"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
    (b"<!DOCTYPE html><html></html>", "HTML"),
    (b"PK\x03\x04rest", "zip archive"),
    (b"\x00\x01\x02\x03", "the number 0"),
    (b"\x08\x08", "no graph"),
    (b"\x1c\x00\x00\x00TFL3", "TensorFlow Lite"),
    (VALID[:-3], "cut short"),
    (VALID[:20], "cut short"),
    (b"\x08" + b"\xff" * 11, "64 bits"),
    (b"\x0f", "the wire type 7"),
]


@pytest.mark.parametrize("data, reason", NOT_ONNX, ids=[reason for _, reason in NOT_ONNX])
def test_what_is_no_onnx_file(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert detect_format(path) == "onnx"
    with pytest.raises(FormatError, match=reason):
        load(path)


INVALID: list[tuple[str, Change, str]] = [
    ("opset_import", lambda made: made.ClearField("opset_import"), "no opset_import"),
    ("ir_version", lambda made: made.ClearField("ir_version"), "no ir_version"),
    ("name", lambda made: made.ParseFromString(VALID.replace(b"Neg", b"N\xffg")), "'N.xffg' is not UTF-8"),
    ("newer opset", lambda made: setattr(made.opset_import[0], "version", 999), "opset 999 is unknown"),
    ("opset 0", lambda made: setattr(made.opset_import[0], "version", 0), "opset 0 is unknown"),
]


@pytest.mark.parametrize("name, change, reason", INVALID, ids=[name for name, _, _ in INVALID])
def test_invalid_models(name: str, change: Change, reason: str) -> None:
    made = onnx.ModelProto.FromString(VALID)
    change(made)
    with pytest.raises(FormatError, match=reason):
        from_model(made)


def test_a_bomb_of_nested_graphs_is_refused(tmp_path: Path) -> None:
    inner = bytes(2000)
    for _ in range(200):
        for field in (6, 5, 1):  # a graph in an attribute in a node
            inner = write_varint(field << 3 | 2) + write_varint(len(inner)) + inner
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x08" + write_varint(7 << 3 | 2) + write_varint(len(inner)) + inner)
    with pytest.raises(FormatError, match="nested"):
        from_model(path)


def test_a_missing_file() -> None:
    with pytest.raises(ImportFailure, match="No such file"):
        from_model(os.path.join("no", "model.onnx"))


def test_content_goes_before_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(VALID)
    assert detect_format(path) == "onnx"
