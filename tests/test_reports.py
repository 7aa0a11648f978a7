"""What a worker of xdist tells: everything but that a set-up or an end passed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = "from tests.conftest import pytest_runtest_protocol\n"
TESTS = """
import pytest

@pytest.fixture
def without_set_up(): raise ValueError
@pytest.fixture
def without_end():
    yield
    raise ValueError
@pytest.fixture
def absent(): pytest.skip()

def test_set_up(without_set_up): pass
def test_end(without_end): pass
def test_absent(absent): pass
def test_skipped(): pytest.skip()
def test_fails(): assert 0
@pytest.mark.xfail(strict=True)
def test_passes_for_once(): pass
@pytest.mark.xfail
def test_known(): assert 0
"""


def test_nothing_but_what_passed_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="ascii")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="ascii")
    (tmp_path / "test_all.py").write_text(TESTS, encoding="ascii")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "--no-header", "--tb=no"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    lines = found.stdout.splitlines()
    assert {line.partition(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))} == {
        "ERROR test_all.py::test_set_up", "ERROR test_all.py::test_end", "FAILED test_all.py::test_fails",
        "FAILED test_all.py::test_passes_for_once",
    }, found.stdout  # fmt: skip
    assert lines[-1].startswith("2 failed, 1 passed, 2 skipped, 1 xfailed, 2 errors in "), found.stdout
