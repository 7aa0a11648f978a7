"""Tensors: where the elements come from, how they lie in bytes, and how they get to a file."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies._internal.core import DataObject
from numpy.typing import NDArray

from graphir.errors import FormatError, GraphError, ShapeError
from graphir.files.regions import CHUNK, SMALL, FileRegion, SourceFiles
from graphir.tensor import Tensor, byte_size, unpacked
from graphir.types import DType
from tests.typed import untyped

GRID = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
BIG = 3 * CHUNK // 2


def raw(tensor: Tensor) -> bytes:
    return b"".join(tensor.chunks())


def in_file(folder: Path, array: NDArray[Any], offset: int = 0) -> Tensor:
    """The array's elements in a file, behind and before other bytes."""
    path = folder / "weights.bin"
    path.write_bytes(b"#" * offset + array.tobytes() + b"#")
    return Tensor.at(path, offset, DType.of(array.dtype), array.shape)


def refuse() -> NDArray[Any]:
    raise AssertionError("the elements were read")


@pytest.fixture(params=["array", "computed", "region", "odd region"])
def grid(request: pytest.FixtureRequest, tmp_path: Path) -> Tensor:
    """GRID from each kind of source."""
    if request.param == "array":
        return Tensor.of(GRID)
    if request.param == "computed":
        return Tensor.computed(DType.FLOAT32, GRID.shape, lambda: GRID)
    return in_file(tmp_path, GRID, 0 if request.param == "region" else 4097)


def test_elements(grid: Tensor) -> None:
    np.testing.assert_array_equal(grid.numpy(), GRID)
    assert (grid.size, grid.nbytes, str(grid.type), raw(grid)) == (24, 96, "float32[2, 3, 4]", GRID.tobytes())
    assert grid.sha256() == hashlib.sha256(GRID.tobytes()).hexdigest()


@pytest.mark.parametrize(("change", "expected"), [
    (lambda t: t.reshaped((6, 4)), GRID.reshape(6, 4)),
    (lambda t: t.reshaped((24,)).reshaped((4, 3, 2)), GRID.reshape(4, 3, 2)),
    (lambda t: t.transposed((2, 0, 1)), GRID.transpose(2, 0, 1)),
    (lambda t: t.transposed((1, 0, 2)).transposed((1, 0, 2)), GRID),
    (lambda t: t.reshaped((1, 6, 1, 4)).transposed((1, 0, 3, 2)), GRID.reshape(6, 1, 4, 1)),
    (lambda t: t.rows(1, 2), GRID[1:2]),
    (lambda t: t.rows(0, 0), GRID[:0]),
    (lambda t: t.reshaped((6, 4)).rows(1, 5).rows(1, 3), GRID.reshape(6, 4)[2:4]),
])  # fmt: skip
def test_rearranged(grid: Tensor, change: Callable[..., Any], expected: NDArray[Any]) -> None:
    found = change(grid)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert (found.shape, raw(found)) == (expected.shape, expected.tobytes())


@pytest.mark.parametrize("change", [
    lambda t: t.reshaped((5, 5)), lambda t: t.reshaped((-2, -12)), lambda t: t.transposed((0, 1)),
    lambda t: t.transposed((0, 0, 1)), lambda t: t.rows(0, 3), lambda t: t.rows(-1, 1), lambda t: t.rows(2, 1),
])  # fmt: skip
def test_rearrangements_that_do_not_fit(grid: Tensor, change: Callable[..., Any]) -> None:
    with pytest.raises(GraphError, match=r"float32\[2, 3, 4\]"):
        change(grid)


@pytest.mark.parametrize(("change", "expected"), [
    (lambda t: t.reshaped((4, 6)), FileRegion("w", 8, 96)),
    (lambda t: t.rows(1, 2), FileRegion("w", 56, 48)),
    (lambda t: t.reshaped((2, 1, 12)).transposed((1, 0, 2)), FileRegion("w", 8, 96)),
    (lambda t: t.transposed((1, 0, 2)), None),
])  # fmt: skip
def test_what_stays_a_region(change: Callable[..., Any], expected: FileRegion | None) -> None:
    assert change(Tensor.at("w", 8, DType.FLOAT32, (2, 3, 4))).region == expected


@pytest.mark.parametrize("change", [
    lambda t: t.reshaped((4, 6)), lambda t: t.transposed((2, 1, 0)), lambda t: t.rows(0, 1), repr,
    lambda t: (t.type, t.size, t.nbytes),
])  # fmt: skip
def test_nothing_is_read_before_it_is_needed(change: Callable[..., Any]) -> None:
    change(Tensor.computed(DType.FLOAT32, (2, 3, 4), refuse))


@pytest.mark.parametrize(("value", "dtype", "expected"), [
    ([1, 2], None, "int64[2]"), (1.5, None, "float64[]"), ([True], None, "bool[1]"), ([1, 2], DType.INT8, "int8[2]"),
    ([["a"], ["b"]], None, "string[2, 1]"), (np.array(["a"], object), None, "string[1]"), ("a", None, "string[]"),
    (np.zeros((0, 3), np.float16), None, "float16[0, 3]"), ([-8, 7], DType.INT4, "int4[2]"),
    (np.arange(3, dtype=">i2"), None, "int16[3]"), ([0.5], DType.BFLOAT16, "bfloat16[1]"),
])  # fmt: skip
def test_made_of_anything(value: Any, dtype: DType | None, expected: str) -> None:
    assert str(Tensor.of(value, dtype).type) == expected


@pytest.mark.parametrize(("value", "dtype", "error", "text"), [
    ([[1], [1, 2]], None, GraphError, "no tensor can be made"),
    (["a", 1, None], DType.STRING, GraphError, "strings only"),
    ([None], None, GraphError, "strings only"), (["x"], DType.FLOAT32, GraphError, "no tensor of float32"),
    (Tensor.of([1.0]), DType.INT8, GraphError, "no tensor of int8"),
    (np.zeros(1, "M8"), None, ShapeError, "no such dtype"),
])  # fmt: skip
def test_made_of_nonsense(
    value: Tensor | list[Any] | NDArray[Any], dtype: DType | None, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Tensor.of(value, dtype)


@pytest.mark.parametrize("sources", [{}, {"array": GRID, "compute": lambda: GRID}])
def test_one_source_only(sources: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match="exactly one"):
        Tensor(DType.FLOAT32, (2, 3, 4), **sources)


@pytest.mark.parametrize(("dtype", "shape"), [(DType.FLOAT64, (2, 3, 4)), (DType.FLOAT32, (24,))])
def test_sources_must_give_what_was_said(dtype: DType, shape: tuple[int, ...]) -> None:
    with pytest.raises(GraphError, match="float32"):
        Tensor(dtype, shape, array=GRID)
    with pytest.raises(GraphError, match="gave float32"):
        Tensor.computed(dtype, shape, lambda: GRID).numpy()


def test_elements_cannot_be_written(tmp_path: Path) -> None:
    held = GRID.copy()
    for found in (Tensor.of(held).numpy(), in_file(tmp_path, GRID).numpy()):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1
    held[0] = 1


def test_big_endian_elements_become_native() -> None:
    tensor = Tensor.of(np.arange(3, dtype=">u4"))
    assert raw(tensor) == np.arange(3, dtype="<u4").tobytes()
    assert tensor.numpy().dtype.isnative


@pytest.mark.parametrize("use", [Tensor.sha256, raw, lambda t: t.nbytes, lambda t: t.write_to(io.BytesIO())])
def test_strings_are_no_raw_bytes(use: Callable[..., Any]) -> None:
    with pytest.raises(GraphError, match="strings"):
        use(Tensor.of(["a", "bc"]))


PACKED = [
    (DType.INT4, [-8, 7, -1], b"\x78\x0f"),
    (DType.UINT4, [1, 2, 15], b"\x21\x0f"),
    (DType.INT2, [-2, 1, -1, 0, 1], b"\x36\x01"),
    (DType.UINT2, [3, 0, 1], b"\x13"),
    (DType.FLOAT4E2M1, [0.5, -6.0, 1.0], b"\xf1\x02"),
    (DType.INT4, [], b""),
]


@pytest.mark.parametrize(("dtype", "elements", "expected"), PACKED)
def test_packed_as_onnx_packs(dtype: DType, elements: list[float], expected: bytes, tmp_path: Path) -> None:
    tensor = Tensor.of(elements, dtype)
    assert (raw(tensor), tensor.nbytes) == (expected, len(expected))
    path = tmp_path / "packed"
    path.write_bytes(b"12345" + expected)
    found = Tensor.at(path, 5, dtype, (len(elements),))
    assert found.numpy().astype(np.float32).tolist() == elements


SMALL_DTYPES = [DType.INT2, DType.INT4, DType.UINT2, DType.UINT4, DType.FLOAT4E2M1]


@given(st.sampled_from(SMALL_DTYPES), st.binary(max_size=9), st.data())
def test_packing_gives_the_bytes_back(dtype: DType, code: bytes, data: DataObject) -> None:
    per_byte = 8 // dtype.bits
    count = len(code) * per_byte - (data.draw(st.integers(0, per_byte - 1)) if code else 0)
    found = unpacked(np.frombuffer(code, np.uint8), dtype, (count,))
    free = len(code) * 8 - count * dtype.bits
    expected = code[:-1] + bytes([code[-1] & (0xFF >> free)]) if code else b""
    assert raw(Tensor.of(found)) == expected


@pytest.mark.parametrize(("dtype", "shape", "size"), [
    (DType.FLOAT32, (2, 3), 24), (DType.INT4, (3,), 2), (DType.INT2, (5,), 2), (DType.BOOL, (7,), 7),
    (DType.INT8, (), 1),
    (DType.COMPLEX128, (2,), 32), (DType.FLOAT64, (0, 9), 0),
])  # fmt: skip
def test_byte_size(dtype: DType, shape: tuple[int, ...], size: int) -> None:
    assert byte_size(dtype, shape) == size


def test_chunks_are_small(tmp_path: Path) -> None:
    tensor = in_file(tmp_path, np.arange(BIG, dtype=np.uint8), 3)
    assert [len(chunk) for chunk in tensor.chunks()] == [CHUNK, BIG - CHUNK]


def opened(kind: str, folder: Path) -> Any:
    return untyped({
        "buffered": lambda: open(folder / "out", "wb"),
        "unbuffered": lambda: open(folder / "out", "wb", buffering=0),
        "both ways": lambda: open(folder / "out", "w+b"),
        "memory": io.BytesIO,
        "append": lambda: open(folder / "out", "ab"),
        "gzip": lambda: gzip.open(folder / "out", "wb"),
    }[kind])()


@pytest.mark.parametrize("kind", ["buffered", "unbuffered", "both ways", "memory", "append", "gzip"])
@pytest.mark.parametrize("count", [0, 24, SMALL, SMALL + 1, BIG])
@pytest.mark.parametrize("kernel_copies", [True, False])
def test_copied_between_files(
    kind: str, count: int, kernel_copies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes before and behind land where they belong, however the target is buffered."""
    if not kernel_copies:
        monkeypatch.setattr(os, "copy_file_range", refuse_to_copy, raising=False)
    elements = np.arange(count, dtype=np.uint32).astype(np.uint8)
    tensor = in_file(tmp_path, elements, 11)
    with opened(kind, tmp_path) as file:
        file.write(b"head")
        assert tensor.write_to(file) == count
        assert file.tell() == 4 + count
        file.write(b"tail")
        found = file.getvalue() if kind == "memory" else None
    if found is None:
        found = gzip.decompress((tmp_path / "out").read_bytes()) if kind == "gzip" else (tmp_path / "out").read_bytes()
    assert found == b"head" + elements.tobytes() + b"tail"


def refuse_to_copy(*arguments: int) -> None:
    raise OSError(18, "Invalid cross-device link")


def test_copied_to_another_file_system(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system to write to")
    tensor = in_file(tmp_path, np.arange(BIG, dtype=np.uint8), 1)
    target = other / f"graphir-test-{os.getpid()}"
    try:
        with open(target, "wb") as file:
            tensor.write_to(file)
        assert target.read_bytes() == raw(tensor)
    finally:
        target.unlink()


def test_copied_into_a_pipe(tmp_path: Path) -> None:
    tensor = in_file(tmp_path, np.arange(BIG, dtype=np.uint8))
    with subprocess.Popen([sys.executable, "-c", "import sys; print(len(sys.stdin.buffer.read()))"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # fmt: skip
        assert child.stdin is not None
        tensor.write_to(child.stdin)
        found, _ = child.communicate()
    assert int(found) == BIG


def test_many_tensors_share_open_files(tmp_path: Path) -> None:
    tensor = in_file(tmp_path, GRID)
    target = io.BytesIO()
    with SourceFiles() as sources:
        assert [tensor.rows(row, row + 1).write_to(target, sources) for row in (1, 0)] == [48, 48]
    assert target.getvalue() == GRID[::-1].tobytes()


@pytest.mark.parametrize("count", [100, BIG])
@pytest.mark.parametrize("use", [Tensor.numpy, Tensor.sha256, lambda t: t.write_to(io.BytesIO())])
def test_sources_that_were_cut_short(use: Callable[..., Any], count: int, tmp_path: Path) -> None:
    tensor = in_file(tmp_path, np.zeros(count, np.uint8), 5000)
    os.truncate(tmp_path / "weights.bin", 5000 + count // 2)
    with pytest.raises(FormatError, match=r"weights\.bin.*cut short.*at byte"):
        use(tensor)


@pytest.mark.parametrize("count", [100, BIG])
def test_copies_of_what_was_cut_short_say_where(count: int, tmp_path: Path) -> None:
    tensor = in_file(tmp_path, np.zeros(count, np.uint8), 5000)
    os.truncate(tmp_path / "weights.bin", 5000 + count // 2)
    with open(tmp_path / "out", "wb") as file, pytest.raises(FormatError, match=f"at byte {5000 + count // 2}"):
        tensor.write_to(file)


@pytest.mark.parametrize("use", [Tensor.numpy, lambda t: t.write_to(io.BytesIO())])
def test_sources_that_are_gone(use: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="gone"):
        use(Tensor.at(tmp_path / "gone", 0, DType.FLOAT32, (2,)))


MEMORY = """
import re, sys
from pathlib import Path
from graphir.tensor import Tensor
from graphir.types import DType

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

before = anonymous()
tensor = Tensor.at(sys.argv[1], 16, DType.FLOAT32, (75, 1 << 20))
views = tensor.numpy(), tensor.rows(3, 9).numpy(), tensor.reshaped((1 << 20, 75)).numpy()
tensor.sha256()
with open(sys.argv[2], "wb") as file:
    tensor.write_to(file)
print(anonymous() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
def test_anonymous_memory_stays_small(tmp_path: Path) -> None:
    source, target = tmp_path / "sparse", tmp_path / "copy"
    with open(source, "wb") as file:
        file.truncate(16 + (300 << 20))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(source), str(target)], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert target.stat().st_size == 300 << 20
    assert int(done.stdout) < 16 << 10


def shorten(path: Path) -> None:
    os.truncate(path, 100)


def rewrite(path: Path) -> None:
    path.write_bytes(bytes(1 << 20))
    os.utime(path, ns=(0, 1))


def replace(path: Path) -> None:
    path.with_name("other").write_bytes(bytes(1 << 20))
    os.replace(path.with_name("other"), path)


READERS = [
    lambda t: t.numpy().sum(), lambda t: t.sha256(), lambda t: list(t.chunks()), lambda t: t.write_to(io.BytesIO()),
]  # fmt: skip


@pytest.mark.parametrize(("change", "text"), [
    (shorten, "weights end .* early; was the file cut short"), (rewrite, "was changed or replaced since"),
    (replace, "was changed or replaced since"), (Path.unlink, "cannot (read|map)"),
])  # fmt: skip
@pytest.mark.parametrize("read", READERS, ids=["numpy", "sha256", "chunks", "write"])
@pytest.mark.parametrize("elements", [16, 1 << 17], ids=["small", "large"])
def test_a_file_that_changes_before_it_is_read(
    tmp_path: Path, change: Callable[..., Any], text: str, read: Callable[..., Any], elements: int
) -> None:
    (tmp_path / "w").write_bytes(b"\1" * (1 << 20))
    tensor = Tensor.at(tmp_path / "w", 64, DType.FLOAT32, (elements,)).reshaped((2, elements // 2)).rows(1, 2)
    change(tmp_path / "w")
    with pytest.raises(FormatError, match=text):
        read(tensor)


def test_a_file_that_changes_while_it_is_copied(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"\1" * (1 << 20))
    tensor = Tensor.at(tmp_path / "w", 0, DType.FLOAT32, (1 << 18,))
    sources = SourceFiles()
    with open(tmp_path / "out", "wb") as out:
        tensor.write_to(out, sources)
    rewrite(tmp_path / "w")
    with pytest.raises(FormatError, match="was changed"):
        sources.__exit__(None, None, None)


class Changing(io.BytesIO):
    """A target at whose first bytes something happens to the source."""

    def __init__(self, change: Callable[[], object]) -> None:
        super().__init__()
        self.change = change

    def write(self, data: Any) -> int:
        self.change()
        return super().write(data)


def test_a_file_that_changes_while_what_is_computed_of_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"\1" * (1 << 20))
    tensor = Tensor.at(tmp_path / "w", 0, DType.FLOAT32, (512, 512)).transposed((1, 0))
    with pytest.raises(FormatError, match="was changed"):
        tensor.write_to(Changing(lambda: rewrite(tmp_path / "w")))
    tensor = Tensor.at(tmp_path / "w", 0, DType.FLOAT32, (512, 512)).transposed((1, 0))
    out = Changing(lambda: replace(tmp_path / "w"))  # the old file is still the one that is mapped
    assert tensor.write_to(out) == len(out.getvalue()) == 1 << 20


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_converted_elements_are_written_in_pieces(dtype: DType) -> None:
    array = np.random.default_rng(3).standard_normal((3, (1 << 19) - 5), np.float32) * np.float32(1e5)
    tensor = Tensor.of(array).converted(dtype)
    with np.errstate(over="ignore"):
        expected = array.astype(dtype.numpy())
    pieces = list(tensor.chunks())
    assert len(pieces) > 1
    assert b"".join(pieces) == expected.tobytes()
    assert tensor.numpy().tobytes() == expected.tobytes()
    assert (tensor.dtype, tensor.shape) == (dtype, array.shape)
