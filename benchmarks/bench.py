"""Whether `graphir bench` measures what a plain loop around onnxruntime measures: the ratio of their medians.

    python benchmarks/bench.py [--model models/digits] [--batch 1,32,256] [--seconds 3] [--repeats 5]

Both time the same file with the same inputs in processes of their own, which take turns; the least of the repeats'
medians counts. A ratio of 1 is what is wanted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOP = """
import sys, time
import numpy as np, onnxruntime
path, name, shape, seconds = sys.argv[1], sys.argv[2], eval(sys.argv[3]), float(sys.argv[4])
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
feeds = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
end, taken = time.perf_counter() + seconds * 0.1, []
while time.perf_counter() < end:
    session.run(None, feeds)
end = time.perf_counter() + seconds * 0.9
while time.perf_counter() < end:
    start = time.perf_counter()
    session.run(None, feeds)
    taken.append(time.perf_counter() - start)
print(np.median(taken))
"""


def output_of(command: Sequence[object]) -> str:
    """What a process prints. Raises CalledProcessError for one that fails."""
    found = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": found},
    ).stdout  # fmt: skip


def compare(model: Path, batch: int, seconds: float, repeats: int) -> None:
    """Print a row."""
    loops, benches, name, shape = [], [], "", ()
    for _ in range(repeats):
        told = json.loads(
            output_of(["-m", "graphir", "bench", model, "--batch", batch, "--seconds", seconds, "--json"])
        )
        row = told["rows"][0]
        benches.append(row["p50"])
        ((name, type_),) = row["inputs"].items()
        shape = tuple(json.loads(type_.removeprefix("float32")))
        loops.append(float(output_of(["-c", LOOP, model, name, shape, seconds])))
    loop, bench = min(loops), min(benches)
    print(f"| {model.stem} | {batch} | {loop * 1e3:.4f} | {bench * 1e3:.4f} | {bench / loop:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "digits", help="one with one float32 input")
    parser.add_argument("--batch", default="1,32,256", help="sizes of the batch, with commas")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{options.model.stem}.onnx"
        output_of(["-m", "graphir", "convert", options.model, path, "-q"])
        print("| model | batch | plain loop, ms | graphir bench, ms | ratio |\n|---|---:|---:|---:|---:|")
        for batch in options.batch.split(","):
            compare(path, int(batch), options.seconds, options.repeats)


if __name__ == "__main__":
    main()
