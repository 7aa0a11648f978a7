"""Whatever happens to a conversion while it writes, the target is the old file or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.attacks.writing_faults import TARGETS

# How many times each fault is tried; without it a few times, in CI the same each time.
COUNT = os.environ.get("GRAPHIR_FAULTS", "")
SEED = "1" if "CI" in os.environ else str(int.from_bytes(os.urandom(3)))


@pytest.mark.skipif(sys.platform == "win32", reason="signals, limits and users are POSIX")
@pytest.mark.parametrize("kind", TARGETS)
def test_the_target_is_the_old_file_or_the_new_one(kind: str) -> None:
    command = [sys.executable, "-m", "tests.attacks.writing_faults", kind, SEED, *filter(None, [COUNT])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["findings"], SEED) == ([], SEED)
    assert {"0", "1", "130", "143", "129", "SIGKILL"} <= set(outcome["ends"])
