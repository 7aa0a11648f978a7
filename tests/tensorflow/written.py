"""Models that a script writes with live TensorFlow or Keras."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from graphir.converters.tensorflow.live.process import SETTINGS, live_python
from tests.requirements import missing


def write_models(writer: Path, folder: Path) -> Path:
    """Run the script, which writes into the folder. Skips without TensorFlow, unless it was promised."""
    python = live_python()
    if python is None:
        missing("TensorFlow", "there is no TensorFlow to write models")
    done = subprocess.run(
        [python, str(writer), str(folder)], env=os.environ | SETTINGS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder
