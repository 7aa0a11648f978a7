"""Weights that lie in one place of one file are read once."""

from __future__ import annotations

from pathlib import Path

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
