"""What a registry of many small models costs: CPU time of all processes of `graphir convert-all`, for each model.

    python benchmarks/registry.py [--model models/digits] [--models 1000] [--jobs 2] [--verify]

The models are copies of one, each in a folder of its own. Measured is user and system time of the command, its workers
and what these are forked from, as `os.wait4` reports it, on an empty place for results and then on one where all is
done. Linux only: what outlives its parent is counted too, for which this process adopts it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUBREAPER = 36  # linux/prctl.h


def adopt() -> None:
    """Become the parent of descendants whose own parent ends. Raises OSError where the system cannot."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt processes")


def seconds_of(command: list[str]) -> tuple[float, float]:
    """CPU time of a command with all that it started, and wall time. Raises CalledProcessError if it fails."""
    kept = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    started, total, code = time.perf_counter(), 0.0, 0
    child = subprocess.Popen(command, env=kept)
    while True:
        try:
            process, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        total += usage.ru_utime + usage.ru_stime
        if process == child.pid:
            code = child.returncode = os.waitstatus_to_exitcode(status)
    if code:
        raise subprocess.CalledProcessError(code, command)
    return total, time.perf_counter() - started


def main() -> None:
    """Measure, and print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "digits", help="a folder with one model")
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verify", action="store_true")
    options = parser.parse_args()
    adopt()
    with tempfile.TemporaryDirectory(prefix="graphir-registry-") as scratch:
        zoo, out = Path(scratch, "zoo"), Path(scratch, "out")
        for number in range(options.models):
            folder = zoo / f"model{number:05}"
            folder.mkdir(parents=True)
            for file in options.model.glob("*-*.*"):
                if file.suffix in (".json", ".params", ".onnx"):
                    shutil.copy(file, folder)
        proof = ["--verify", "--against", "reference"] if options.verify else []
        command = [
            sys.executable, "-m", "graphir", "convert-all", str(zoo), "--out", str(out), "--jobs", str(options.jobs),
            "-q", *proof,
        ]  # fmt: skip
        for what in ("all new", "all done before"):
            cpu, wall = seconds_of(command)
            each = 1000 * cpu / options.models
            print(f"{what}: {cpu:.1f} s of CPU, {each:.1f} ms a model; {wall:.1f} s with {options.jobs} jobs")


if __name__ == "__main__":
    main()
