"""A file that is being written to is not taken for what it will be."""

from __future__ import annotations

import os
import time
from pathlib import Path

from graphir.files.regions import TICK, stamp_of


def test_a_write_of_just_now_is_waited_out(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    before = stamp_of(os.stat(path))
    assert time.time_ns() - before[3] >= TICK
    path.write_bytes(b"other")
    assert stamp_of(os.stat(path)) != before
