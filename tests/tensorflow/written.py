"""Models that a script writes with live TensorFlow or Keras."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

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


def values_of(parameter: str, file: str, request: pytest.FixtureRequest) -> list[Any]:
    """Return the values of a parameter in the rows of a file that run: only their models need to be written."""
    calls = [getattr(item, "callspec", None) for item in request.session.items if item.path == Path(file)]
    return [call.params[parameter] for call in calls if call is not None and parameter in call.params]
