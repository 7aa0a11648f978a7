"""Models that a script writes with live TensorFlow or Keras."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from graphir.converters.tensorflow.live.process import SETTINGS, live_python
from tests.requirements import missing

ROOT = Path(__file__).parents[2]


def write_models(writer: Path, folder: Path, *arguments: str) -> Path:
    """Run the script, which takes these arguments too and writes into the folder. Skips without TensorFlow, unless it
    was promised.
    """
    python = live_python()
    if python is None:
        missing("TensorFlow", "there is no TensorFlow to write models")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = SETTINGS | {"PYTHONPATH": paths}
    # -P: modules beside the script have names of Python's own.
    command = [str(python), "-P", str(writer), str(folder), *arguments]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder
