"""Weights that lie in one place of one file are read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import DType
from graphir.analysis import fingerprint
from graphir.analysis.fingerprint import Fingerprints
from graphir.errors import FormatError
from graphir.serial.equal import same_tensor
from graphir.tensor import Tensor


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(np.arange(8, dtype=np.float32).tobytes())
    return path


def test_one_place_is_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = (Tensor.at(file, start, DType.FLOAT32, (4,)) for start in (0, 0, 16))
    digests: list[Tensor] = []

    def digest(tensor: Tensor) -> int:
        digests.append(tensor)
        return len(digests)

    monkeypatch.setattr(fingerprint, "digest", digest)
    prints = Fingerprints()
    assert [prints.digest(tensor) for tensor in (first, again, other)] == [1, 1, 2]
    assert digests == [first, other]
    monkeypatch.setattr(Tensor, "chunks", lambda tensor: pytest.fail("the bytes are read"))
    assert same_tensor(first, again)


def test_one_place_of_another_shape_or_of_a_file_that_was_written_to_is_another(file: Path) -> None:
    first = Tensor.at(file, 0, DType.FLOAT32, (4,))
    assert not same_tensor(first, Tensor.at(file, 0, DType.FLOAT32, (2, 2)))
    file.write_bytes(np.zeros(9, np.float32).tobytes())
    later = Tensor.at(file, 0, DType.FLOAT32, (4,))
    assert first.place != later.place
    with pytest.raises(FormatError):
        same_tensor(first, later)


def lying_in(path: Path, array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that lies in a file of its own."""
    path.write_bytes(array.tobytes())
    return Tensor.at(path, 0, DType.of(array.dtype), array.shape)


LARGE = np.arange(5000, dtype=np.float32)
TWISTED = np.concatenate([LARGE[:1500], LARGE[1501:0:-1][:1], LARGE[1501:]])


@pytest.mark.parametrize(
    ("array", "same"),
    [
        (LARGE, True),
        (LARGE.reshape(50, 100), False),
        (LARGE.view(np.int32), False),
        (LARGE[::-1].copy(), False),
        (TWISTED, False),  # which differs where no sample is taken
        (LARGE[:-1], False),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_number_is_that_of_the_same_bytes(
    array: np.ndarray[Any, Any], same: bool, in_file: bool, tmp_path: Path
) -> None:
    prints = Fingerprints()
    first = prints.number(lying_in(tmp_path / "first", LARGE))
    other = lying_in(tmp_path / "other", array) if in_file else Tensor.of(array)
    assert (prints.number(other) == first) == same
    assert prints.same(other, Tensor.at(tmp_path / "first", 0, DType.FLOAT32, LARGE.shape)) == same


def test_more_that_look_alike_than_are_compared() -> None:
    """Twice as many tensors of one sample as are compared with each other, each of them twice."""
    arrays = [LARGE.copy() for _ in range(2 * fingerprint.ALIKE)]
    for place, array in enumerate(arrays):
        array[1500] = -place
    prints = Fingerprints()
    numbers = [[prints.number(Tensor.of(array.copy())) for array in arrays] for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert len(set(numbers[0])) == len(arrays)


def test_what_is_known_to_be_the_same_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = (lying_in(tmp_path / name, LARGE) for name in ("first", "other"))
    prints = Fingerprints()
    assert prints.number(first) == prints.number(other)
    monkeypatch.setattr(Tensor, "chunks", lambda tensor: pytest.fail("the bytes are read"))
    assert prints.same(first, other)


@pytest.mark.parametrize("changed", [False, True])
def test_tensors_that_come_in_pieces_of_other_sizes_are_compared_as_one_run_of_bytes(
    tmp_path: Path, changed: bool
) -> None:
    elements = np.arange(600_001, dtype=np.float32) % 2048
    stored = elements.astype(np.float16)
    stored[-1] += np.float16(changed)
    (tmp_path / "halves").write_bytes(stored.tobytes())
    converted = Tensor.of(elements).converted(DType.FLOAT16)
    assert same_tensor(converted, Tensor.at(tmp_path / "halves", 0, DType.FLOAT16, (600_001,))) is not changed
