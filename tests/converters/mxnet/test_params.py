"""Reading and writing parameters: every container, every refusal, live MXNet's own files, and names."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphir.converters.mxnet.files.arrays import SparseArray
from graphir.converters.mxnet.files.checkpoint import find_checkpoint, match_structural_names
from graphir.converters.mxnet.files.params import open_params, read_params, split_prefixes, write_params
from graphir.errors import ExportFailure, FormatError, ImportFailure
from graphir.tensor import Tensor
from graphir.types import DType

ONE_TWO = struct.pack("<2f", 1, 2)
CONTEXT = struct.pack("<iii", 1, 0, 0)
V0 = struct.pack("<II", 1, 2) + CONTEXT + ONE_TWO
V1 = struct.pack("<IIq", 0xF993FAC8, 1, 2) + CONTEXT + ONE_TWO
V2 = struct.pack("<Iiiq", 0xF993FAC9, 0, 1, 2) + CONTEXT + ONE_TWO
V3 = struct.pack("<Iiiq", 0xF993FACA, 0, 1, 2) + CONTEXT + ONE_TWO
V3_SCALAR = struct.pack("<Iii", 0xF993FACA, 0, 0) + CONTEXT + ONE_TWO[:4]
ROW_SPARSE = (
    struct.pack("<Iiiqqiqqiiiiiq", 0xF993FAC9, 1, 2, 1, 2, 2, 3, 2, 1, 0, 0, 6, 1, 1) + ONE_TWO + struct.pack("<q", 1)
)
NONE_V0 = struct.pack("<I", 0)
NONE_V2 = struct.pack("<Iii", 0xF993FAC9, 0, 0)


def container(*arrays: bytes, names: list[bytes] | None = None, count: int | None = None) -> bytes:
    labels = [b"x%d" % slot for slot in range(len(arrays))] if names is None else names
    header = struct.pack("<QQQ", 0x112, 0, len(arrays) if count is None else count)
    tail = struct.pack("<Q", len(labels)) + b"".join(struct.pack("<Q", len(name)) + name for name in labels)
    return header + b"".join(arrays) + tail


def stored(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "x.params"
    path.write_bytes(data)
    return path


def npy(array: np.ndarray[Any, Any], descr: str | None = None) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    raw = buffer.getvalue()
    if descr is None:
        return raw
    body = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {array.shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body.encode() + array.tobytes()


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "arrays, versions, shapes",
    [
        ([V0], "V0", [(2,)]),
        ([V1], "V1", [(2,)]),
        ([V2], "V2", [(2,)]),
        ([V3], "V3", [(2,)]),
        ([V3_SCALAR], "V3", [()]),
        ([ROW_SPARSE], "V2", [(3, 2)]),
        ([V0, V1, V2, V3], "V0+V1+V2+V3", [(2,)] * 4),
        ([], "V2", []),
    ],
)
def test_versions(tmp_path: Path, arrays: list[bytes], versions: str, shapes: list[tuple[int, ...]]) -> None:
    opened = open_params(stored(tmp_path, container(*arrays)))
    assert (opened.container, [entry.shape for entry in opened.entries]) == (versions, shapes)
    assert [entry.tensor.numpy().shape for entry in opened.entries] == shapes


@pytest.mark.parametrize("array", [V0, V1, V2, V3])
def test_values_are_regions_of_the_file(tmp_path: Path, array: bytes) -> None:
    tensor = read_params(stored(tmp_path, container(array)))["x0"]
    assert tensor.region is not None
    assert tensor.numpy().tolist() == [1, 2]


def test_row_sparse_is_densified_or_kept(tmp_path: Path) -> None:
    path = stored(tmp_path, container(ROW_SPARSE))
    assert read_params(path)["x0"].numpy().tolist() == [[0, 0], [1, 2], [0, 0]]
    kept = read_params(path, sparse="keep")["x0"]
    assert isinstance(kept, SparseArray)
    assert (kept.storage, kept.data.shape, kept.indices.numpy().tolist()) == ("row_sparse", (1, 2), [1])


@pytest.mark.parametrize(
    "data, empty, names",
    [
        (container(NONE_V0, V0), ("x0",), ["x1"]),
        (container(V2, NONE_V2), ("x1",), ["x0"]),
        (container(V2, V2, names=[]), (), ["0", "1"]),
        (container(NONE_V2, V2, names=[]), ("0",), ["1"]),
    ],
)
def test_empty_arrays_and_lists_without_names(
    tmp_path: Path, data: bytes, empty: tuple[str, ...], names: list[str]
) -> None:
    opened = open_params(stored(tmp_path, data))
    assert (opened.empty, list(opened.tensors())) == (empty, names)


def test_trailing_bytes_are_reported(tmp_path: Path) -> None:
    assert open_params(stored(tmp_path, container(V2) + b"more")).trailing == 4


def test_kinds(tmp_path: Path) -> None:
    names = [b"arg:w", b"aux:m", b"features.0.weight"]
    entries = open_params(stored(tmp_path, container(V2, V2, V2, names=names))).entries
    assert [(entry.kind, entry.bare_name) for entry in entries] == [
        ("arg", "w"),
        ("aux", "m"),
        ("", "features.0.weight"),
    ]


GOOD = container(V2, V2)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "empty"),
        (b"<html>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b'{"nodes": []}', "symbol.json"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x80\x02}q", "pickle"),
        (V2, "single NDArray"),
        (struct.pack(">QQQ", 0x112, 0, 0), "big-endian"),
        (struct.pack("<Q", 2) + b"{}" + bytes(9), "safetensors"),
        (b"\x01\x02\x03\x04\x05\x06\x07\x08", "begins with 01 02"),
        (struct.pack("<QQQ", 0x112, 0, 1 << 60), "promises"),
        (container(V2, names=[b"a", b"b"]), "1 arrays and 2 names"),
        (container(V2, V2, names=[b"a", b"a"]), "two arrays are named 'a'"),
        (container(V2, names=[b"\xff\xfe"]), "not UTF-8"),
        (struct.pack("<QQQ", 0x112, 0, 1) + V2 + struct.pack("<QQ", 1, 1 << 40), "name 0 of 1 is .* bytes long"),
        (container(struct.pack("<II", 4096, 2)), "4096 dimensions"),
        (container(struct.pack("<Ii", 0xF993FAC9, 7)), "storage type 7"),
        (container(struct.pack("<Ii", 0xF993FACA, 1)), "storage type 1"),
        (container(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 99)), "element type 99"),
        (container(struct.pack("<Iiiq", 0xF993FAC9, 0, 1, -5)), r"shape \(-5,\)"),
        (container(struct.pack("<Iii2qiii", 0xF993FAC9, 0, 2, 1 << 40, 1 << 40, 1, 0, 0)), "no file can have"),
        (container(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 1 << 30, 1, 0, 0)), "cut short: array 0 of 1 needs"),
    ],
)
def test_refusals(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        open_params(stored(tmp_path, data))


@pytest.mark.parametrize("length", range(8, len(GOOD)))
def test_every_cut_is_noticed(tmp_path: Path, length: int) -> None:
    with pytest.raises(FormatError, match=r"cut short.*of them are missing.*at byte") as caught:
        open_params(stored(tmp_path, GOOD[:length]))
    assert caught.value.offset is not None


def test_missing_bytes_are_counted(tmp_path: Path) -> None:
    cut = (struct.pack("<QQQ", 0x112, 0, 1) + V0)[:-3]
    with pytest.raises(FormatError, match=r"needs 8 bytes here, 3 of them are missing; the file ends at byte 49"):
        open_params(stored(tmp_path, cut))


@pytest.mark.parametrize("path", ["no/such.params", "."])
def test_files_that_cannot_be_opened(path: str) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        open_params(path)


MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "data, lazy, dtype, expected",
    [
        (npy(MATRIX), True, DType.FLOAT32, MATRIX),
        (npy(MATRIX.astype(">f4")), False, DType.FLOAT32, MATRIX),
        (npy(np.asfortranarray(MATRIX)), False, DType.FLOAT32, MATRIX),
        (npy(np.array([True, False])), True, DType.BOOL, np.array([True, False])),
        (npy(np.array([1, -1], np.int8)), True, DType.INT8, np.array([1, -1])),
        (npy(np.array([0x3F80, 0x4000], np.uint16), "<b2"), True, DType.BFLOAT16, np.array([1, 2])),
        (npy(np.float32(3).reshape(())), True, DType.FLOAT32, np.array(3)),
        (npy(np.zeros((0, 3), np.float16)), True, DType.FLOAT16, np.zeros((0, 3))),
    ],
)
@pytest.mark.parametrize("wrapping", ["npy", "stored", "deflated"])
def test_npy_and_npz(
    tmp_path: Path, wrapping: str, data: bytes, lazy: bool, dtype: DType, expected: np.ndarray[Any, Any]
) -> None:
    compression = zipfile.ZIP_DEFLATED if wrapping == "deflated" else zipfile.ZIP_STORED
    raw = data if wrapping == "npy" else archive({"arg:conv0.weight.npy": data}, compression)
    ((name, tensor),) = read_params(stored(tmp_path, raw)).items()
    assert name == ("0" if wrapping == "npy" else "arg:conv0.weight")
    assert (tensor.region is not None) == (lazy and wrapping != "deflated")
    assert tensor.dtype is dtype
    assert np.array_equal(tensor.numpy().astype(expected.dtype), expected)


SPARSE_ROWS = {
    "w/data.npy": npy(np.array([[1, 2]], np.float32)),
    "w/indices.npy": npy(np.array([1])),
    "w/shape.npy": npy(np.array([3, 2])),
    "w/format.npy": b"\x93NUMPY malformed row_sparse",
}
SPARSE_CSR = {
    "w/data.npy": npy(np.array([1, 2], np.float32)),
    "w/indptr.npy": npy(np.array([0, 0, 2, 2])),
    "w/indices.npy": npy(np.array([0, 1])),
    "w/shape.npy": npy(np.array([3, 2])),
    "w/format.npy": b"\x93NUMPY malformed csr",
}


@pytest.mark.parametrize("members, storage", [(SPARSE_ROWS, "row_sparse"), (SPARSE_CSR, "csr")])
def test_sparse_npz(tmp_path: Path, members: dict[str, bytes], storage: str) -> None:
    (entry,) = open_params(stored(tmp_path, archive(members))).entries
    assert (entry.name, entry.storage, entry.tensor.numpy().tolist()) == ("w", storage, [[0, 0], [1, 2], [0, 0]])


@pytest.mark.parametrize(
    "data, message",
    [
        (archive({"a.npy": npy(MATRIX)})[:-30], "not a readable zip"),
        (archive({"a.npy": b"nothing"}), "not an .npy file"),
        (archive({"a.npy": npy(MATRIX).replace(b"(2, 3)", b"(2 \t3)")}), "no readable shape"),
        (archive({"a.npy": npy(MATRIX)}).replace(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xff"), "not a readable zip"),
        (archive({"a.npy": npy(MATRIX)[:-4]}), "cut short.*4 are missing"),
        (archive({"a.npy": npy(MATRIX, "<U4")}), "'<U4'"),
        (archive({"x/data.pkl": b""}), "PyTorch"),
        (archive({name: data for name, data in SPARSE_CSR.items() if "indptr" not in name}), "has no indptr"),
        (archive(SPARSE_CSR | {"w/format.npy": b"coo"}), "names no sparse format"),
        (archive(SPARSE_ROWS | {"w/indices.npy": npy(np.array([1, 2]))}), "indices of shape"),
    ],
)
def test_npz_refusals(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        open_params(stored(tmp_path, data))


def test_damaged_compression_is_refused_when_read(tmp_path: Path) -> None:
    data = bytearray(archive({"a.npy": npy(np.random.default_rng(0).random(4096))}, zipfile.ZIP_DEFLATED))
    data[20000:20100] = bytes(100)
    tensor = read_params(stored(tmp_path, bytes(data)))["a"]
    with pytest.raises(FormatError, match="cannot be unpacked"):
        tensor.numpy()


@pytest.mark.parametrize("index, reason", [(7, "row index"), (0.5, "row indices are float64")])
def test_sparse_index_out_of_range_is_refused_when_read(tmp_path: Path, index: float, reason: str) -> None:
    members = SPARSE_ROWS | {"w/indices.npy": npy(np.array([index]))}
    tensor = read_params(stored(tmp_path, archive(members)))["w"]
    with pytest.raises(FormatError, match=reason):
        tensor.numpy()


DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool", "int16", "uint16", "uint64"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), np_shape=st.booleans())
def test_round_trip(tmp_path: Path, data: st.DataObject, np_shape: bool) -> None:
    shapes = hnp.array_shapes(min_dims=0 if np_shape else 1, min_side=0 if np_shape else 1, max_side=4)
    arrays = st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, shapes))
    written = data.draw(st.dictionaries(st.text(max_size=12), arrays, max_size=5))
    write_params(tmp_path / "x.params", written, np_shape=np_shape)
    read = read_params(tmp_path / "x.params")
    assert list(read) == list(written)
    np.testing.assert_equal({name: tensor.numpy() for name, tensor in read.items()}, written)
    assert {name: str(tensor.dtype) for name, tensor in read.items()} == {k: v.dtype.name for k, v in written.items()}


def test_written_tensors_are_streamed_and_bfloat16_survives(tmp_path: Path) -> None:
    path = stored(tmp_path, archive({"w.npy": npy(np.arange(70_000, dtype=np.uint16), "<b2")}))
    tensor = read_params(path)["w"]
    write_params(tmp_path / "y.params", {"arg:w": tensor})
    again = read_params(tmp_path / "y.params")["arg:w"]
    assert (again.dtype, again.sha256()) == (DType.BFLOAT16, tensor.sha256())


@pytest.mark.parametrize(
    "array, message",
    [
        (np.float32(1), "need np_shape"),
        (np.zeros((0, 2), np.float32), "need np_shape"),
        (np.zeros(2, np.complex64), "complex64"),
        (Tensor.of(np.array(["a"])), "string"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path: Path, array: Any, message: str) -> None:
    with pytest.raises(ExportFailure, match=message):
        write_params(tmp_path / "x.params", {"arg:w": array})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    def broken() -> np.ndarray[Any, Any]:
        raise FormatError("broken on purpose")

    path = stored(tmp_path, GOOD)
    with pytest.raises(FormatError, match="on purpose"):
        write_params(path, {"w": Tensor.computed(DType.FLOAT32, (2,), broken)})
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (GOOD, [path])


def test_write_to_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ExportFailure, match="its folder does not exist"):
        write_params(tmp_path / "no" / "x.params", {"w": MATRIX})


@pytest.mark.live
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"])
def test_files_of_live_mxnet(tmp_path: Path, mxnet: ModuleType, dtype: str) -> None:
    array = mxnet.nd.array(np.arange(6).reshape(2, 3) % 2, dtype=dtype)
    mxnet.nd.save(str(tmp_path / "live"), {"arg:x": array})
    tensor = read_params(tmp_path / "live")["arg:x"]
    write_params(tmp_path / "ours", {"arg:x": tensor})
    assert (str(tensor.dtype), tensor.numpy().tolist()) == (dtype, array.asnumpy().tolist())
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "live").read_bytes()


@pytest.mark.live
def test_bfloat16_of_live_mxnet(tmp_path: Path, mxnet: ModuleType) -> None:
    mxnet.nd.save(str(tmp_path / "x"), {"x": mxnet.nd.amp_cast(mxnet.nd.array([1.5, 2]), dtype="bfloat16")})
    tensor = read_params(tmp_path / "x")["x"]
    assert (tensor.dtype, tensor.numpy().astype(np.float32).tolist()) == (DType.BFLOAT16, [1.5, 2])


@pytest.mark.live
@pytest.mark.parametrize(
    "source",
    [
        "row_sparse_array(([[1, 2], [3, 4]], [1, 3]), shape=(4, 2))",
        "csr_matrix(([1., 2, 3], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3))",
        "zeros('row_sparse', (4, 2))",
        "zeros('csr', (3, 3))",
    ],
)
def test_sparse_arrays_of_live_mxnet(tmp_path: Path, mxnet: ModuleType, source: str) -> None:
    name, _, arguments = source.partition("(")
    array = eval(f"make({arguments}", {"make": getattr(mxnet.nd.sparse, name)})
    mxnet.nd.save(str(tmp_path / "x"), {"s": array, "after": mxnet.nd.ones((2,))})
    read = read_params(tmp_path / "x")
    assert read["s"].numpy().tolist() == array.asnumpy().tolist()
    assert read["after"].numpy().tolist() == [1, 1]


@pytest.mark.live
def test_np_shape_arrays_of_live_mxnet(tmp_path: Path, mxnet: ModuleType) -> None:
    with mxnet.util.np_shape(True):
        arrays = {"s": mxnet.np.array(3.0).as_nd_ndarray(), "z": mxnet.np.zeros((0, 3)).as_nd_ndarray()}
        mxnet.nd.save(str(tmp_path / "live"), arrays)
    opened = open_params(tmp_path / "live")
    write_params(tmp_path / "ours", opened.tensors(), np_shape=True)
    assert (opened.container, [entry.shape for entry in opened.entries]) == ("V3", [(), (0, 3)])
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "live").read_bytes()


@pytest.mark.parametrize(
    "file, container_name, count, first",
    [
        ("mxnet/bmxnet-mnist-32/model-0000.params", "V0", 18, "arg:batchnorm1_beta"),
        ("mxnet/gluoncv-cifar-resnet20-v1/model-0000.params", "V2", 107, "arg:cifarresnetv10_conv0_weight"),
        ("mxnet/mtcnn-det1-pnet/model-0000.params", "V0", 13, "arg:prelu2_gamma"),
        ("mxnet/xdl-blaze-dnn/model-0000.params", "V2", 42, "aux:bn_1_moving_var"),
        ("mxnet_params_only/legacy-ndarray-v0/legacy_ndarray.v0", "V0", 6, "0"),
        ("mxnet_params_only/mean-224-nd/mean_224.nd", "V0", 1, "mean_img"),
    ],
)
def test_real_files(shared: Path, file: str, container_name: str, count: int, first: str) -> None:
    opened = open_params(shared / "models" / file)
    assert (opened.container, len(opened.entries), opened.entries[0].name) == (container_name, count, first)
    assert (opened.trailing, opened.empty) == (0, ())


@pytest.mark.live
@pytest.mark.parametrize("name", ["bmxnet-mnist-32", "gluoncv-cifar-resnet20-v2", "mtcnn-det3-onet", "xdl-blaze-dnn"])
def test_real_files_hold_what_live_mxnet_reads(shared: Path, mxnet: ModuleType, name: str) -> None:
    path = shared / "models" / "mxnet" / name / "model-0000.params"
    live = {key: array.asnumpy() for key, array in mxnet.nd.load(str(path)).items()}
    np.testing.assert_equal({key: tensor.numpy() for key, tensor in read_params(path).items()}, live)


def test_split_prefixes() -> None:
    assert split_prefixes({"arg:a": 1, "aux:b": 2, "c": 3, "arg": 4}) == ({"a": 1}, {"b": 2}, {"c": 3, "arg": 4})


FILES = ("net-symbol.json", "net-0000.params", "net-0010.params", "net-0002.params", "other-0099.params")


@pytest.mark.parametrize(
    "files, asked, symbol, params, epoch, others",
    [
        (FILES, "", "net-symbol.json", "net-0010.params", 10, ["net-0000.params", "net-0002.params"]),
        (FILES, "net", "net-symbol.json", "net-0010.params", 10, ["net-0000.params", "net-0002.params"]),
        (FILES, "net-symbol.json", "net-symbol.json", "net-0010.params", 10, ["net-0000.params", "net-0002.params"]),
        (FILES, "net-0002.params", "net-symbol.json", "net-0002.params", 2, ["net-0000.params", "net-0010.params"]),
        (("net.json", "net.params"), "net.json", "net.json", "net.params", None, []),
        (("net.json", "net.params"), "net.params", "net.json", "net.params", None, []),
        (("net.json", "net.params", "unrelated.json"), "", "net.json", "net.params", None, []),
        (("net-symbol.json",), "", "net-symbol.json", None, None, []),
        (("net-symbol.json", "net.params"), "net", "net-symbol.json", "net.params", None, []),
    ],
)
def test_find_checkpoint(
    tmp_path: Path,
    files: tuple[str, ...],
    asked: str,
    symbol: str,
    params: str | None,
    epoch: int | None,
    others: list[str],
) -> None:
    for name in files:
        (tmp_path / name).touch()
    found = find_checkpoint(tmp_path / asked)
    assert found.symbol == tmp_path / symbol
    assert found.params == (None if params is None else tmp_path / params)
    assert (found.epoch, [path.name for path in found.others]) == (epoch, others)


@pytest.mark.parametrize(
    "files, asked, message",
    [
        ((), "", r"no \*-symbol.json in this folder$"),
        (("b.onnx", "a.txt"), "", "another kind is named by its file: .*b.onnx"),
        (("a-symbol.json", "b-symbol.json"), "", r"2 models in this folder \(a, b\)"),
        (("net-0000.params",), "net-0000.params", "no symbol for .*net-symbol.json and .*net.json"),
        (("net-symbol.json",), "net-0003.params", "no such file"),
        ((), "net", "no symbol"),
        ((), "net-symbol.json", "no symbol"),
    ],
)
def test_find_checkpoint_refuses(tmp_path: Path, files: tuple[str, ...], asked: str, message: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(ImportFailure, match=message):
        find_checkpoint(tmp_path / asked)


def shaped(**shapes: tuple[int, ...]) -> dict[str, Tensor]:
    return {name.replace("__", "."): Tensor.of(np.zeros(shape, np.float32)) for name, shape in shapes.items()}


TWO_DENSE = shaped(a__0__weight=(4, 3), a__0__bias=(4,), a__1__weight=(4, 4), a__1__bias=(4,))


@pytest.mark.parametrize(
    "names, shapes, params, expected",
    [
        (["w", "b"], {}, shaped(w=(2,)), {"w": "w"}),
        (
            ["data", "dense0_weight", "dense0_bias", "dense1_weight", "dense1_bias"],
            {"dense0_weight": (4, 3), "dense0_bias": (4,), "dense1_weight": (4, 4), "dense1_bias": (4,)},
            TWO_DENSE,
            {
                "a.0.weight": "dense0_weight",
                "a.0.bias": "dense0_bias",
                "a.1.weight": "dense1_weight",
                "a.1.bias": "dense1_bias",
            },
        ),
        # the shapes say more than the order
        (
            ["dense1_weight", "dense0_weight"],
            {"dense0_weight": (4, 3), "dense1_weight": (4, 4)},
            shaped(x__weight=(4, 3), y__weight=(4, 4)),
            {"x.weight": "dense0_weight", "y.weight": "dense1_weight"},
        ),
        # a downsampling branch comes first in the symbol, last in the file; the counters tell
        (
            ["s_conv3_weight", "s_conv2_weight"],
            {"s_conv2_weight": (4, 4), "s_conv3_weight": (4, 4)},
            shaped(body__weight=(4, 4), downsample__weight=(4, 4)),
            {"body.weight": "s_conv2_weight", "downsample.weight": "s_conv3_weight"},
        ),
        (
            ["data", "bn_gamma", "bn_moving_mean"],
            {},
            shaped(f__gamma=(3,), f__running_mean=(3,)),
            {"f.gamma": "bn_gamma", "f.running_mean": "bn_moving_mean"},
        ),
        (
            ["lstm0_l0_i2h_weight", "lstm0_l0_h2h_weight"],
            {},
            shaped(r__l0_i2h_weight=(8, 2), r__l0_h2h_weight=(8, 2)),
            {"r.l0_i2h_weight": "lstm0_l0_i2h_weight", "r.l0_h2h_weight": "lstm0_l0_h2h_weight"},
        ),
    ],
)
def test_structural_names(
    names: list[str], shapes: dict[str, tuple[int, ...] | None], params: dict[str, Tensor], expected: dict[str, str]
) -> None:
    assert match_structural_names(names, shapes, params) == expected


@pytest.mark.parametrize(
    "names, shapes, params, message",
    [
        (["dense0_weight"], {}, TWO_DENSE, "2 blocks with bias, weight in the file .a.0, a.1., 0 in the symbol"),
        (["c0_weight", "c1_weight"], {}, shaped(x__weight=(2, 2)), "1 blocks .*2 in the symbol"),
        (["c0_weight", "c1_weight"], {}, shaped(x__weight=(2, 2), y__weight=(3, 2)), "give the shapes of the inputs"),
        (["c0_weight"], {"c0_weight": (3, 3)}, shaped(x__weight=(2, 2)), r"have weight \(2, 2\)"),
    ],
)
def test_structural_names_that_do_not_fit(
    names: list[str], shapes: dict[str, tuple[int, ...] | None], params: dict[str, Tensor], message: str
) -> None:
    with pytest.raises(ImportFailure, match=message):
        match_structural_names(names, shapes, params)


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18_v1", "resnet50_v1", "mobilenetv2_0.25", "squeezenet1.0", "inceptionv3"])
def test_structural_names_of_gluon_models(tmp_path: Path, mxnet: ModuleType, name: str) -> None:
    net = mxnet.gluon.model_zoo.vision.get_model(name)
    net.initialize()
    net.hybridize()
    side = 299 if name.startswith("inception") else 224
    net(mxnet.nd.zeros((1, 3, side, side)))
    net.export(str(tmp_path / "m"))
    net.save_parameters(str(tmp_path / "m.gluon"))
    symbol = json.loads((tmp_path / "m-symbol.json").read_text())
    order = [node["name"] for node in symbol["nodes"] if node["op"] == "null"]
    arguments, auxiliary, _ = split_prefixes(read_params(tmp_path / "m-0000.params"))
    shapes = {key: tensor.shape for key, tensor in (arguments | auxiliary).items()}
    expected = {key: parameter.name for key, parameter in net._collect_params_with_prefix().items()}
    assert match_structural_names(order, shapes, read_params(tmp_path / "m.gluon")) == expected
