"""What pages take for granted, made in the current folder by their comments that begin with `set up`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.equivalence.live import interpreter
from tests.requirements import shared_folder

ROOT = Path(__file__).resolve().parents[2]


def shared(*names: str) -> None:
    """Files of the folder `shared`. Raises FileNotFoundError without it."""
    folder = shared_folder()
    if folder is None:
        raise FileNotFoundError("no folder `shared` with golden files beside the repository")
    for name in names:
        shutil.copy(folder / name, ".")


def quantized(name: str) -> None:
    """A network that live MXNet quantized, with calibrated ranges, as NAME-symbol.json and NAME-0000.params."""
    command = [interpreter(), "-m", "tests.models.quantized", "made"]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    for ending in ("-symbol.json", "-0000.params"):
        shutil.copy(f"made/naive-auto{ending}", f"{name}{ending}")


def tensorflow(program: str) -> None:
    """Run a program for which live TensorFlow is imported as `tf`, in a process of its own."""
    subprocess.run([sys.executable, "-c", f"import tensorflow as tf\n{program}"], check=True, capture_output=True)
