"""The smallest parts of two models that show where they differ: two .onnx files, the numbers that go in, and a script
that runs both in onnxruntime alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.errors import GraphirError, VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import choose_providers
from graphir.safety.foreign_text import one_line
from graphir.types import DType, TensorType
from graphir.verification.numbers.compare import difference
from graphir.verification.regions.parts import Segment
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.layouts import order_inside

SCRIPT = '''"""Runs reference.onnx and candidate.onnx on the numbers beside them and prints how their results differ.

Needs numpy and onnxruntime. Ends with 0 if the difference is there, 1 if it is not.
"""

import pathlib
import sys

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
ORDER = {order}


def run(which):
    options = onnxruntime.SessionOptions()
    if which == "reference":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    if which == "candidate":
        providers = {providers!r} + providers
        for key, value in {entries!r}.items():
            options.add_session_config_entry(key, value)
    session = onnxruntime.InferenceSession(str(HERE / (which + ".onnx")), options, providers=providers)
    with np.load(HERE / (which + "_inputs.npz")) as stored:
        arrays = [stored["input_%d" % place] for place in range(len(session.get_inputs()))]
    feeds = {{item.name: array for item, array in zip(session.get_inputs(), arrays)}}
    return session.run(None, feeds)[0]


expected, found = run("reference"), run("candidate")
if ORDER and found.ndim == len(ORDER):
    found = found.transpose(ORDER)
with np.load(HERE / "expected.npz") as stored:
    drift = np.abs(stored["reference"].astype("float64") - expected.astype("float64")).max(initial=0.0)
if expected.shape != found.shape:
    print("the shapes differ:", expected.shape, found.shape)
    sys.exit(0)
a, b = expected.astype("float64"), found.astype("float64")
scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
both = np.isfinite(a) & np.isfinite(b)
largest = np.abs(a - b)[both].max(initial=0.0) if (np.isfinite(a) == np.isfinite(b)).all() else float("inf")
print("largest magnitude of the reference  %g" % scale)
print("largest difference                  %g  (limit {limit:g})" % largest)
print("from what was recorded              %g" % drift)
sys.exit(0 if largest > {limit!r} * scale else 1)
'''
README = """{title}

reference.onnx and candidate.onnx are the parts of both models between the last values that agree and {name}.
*_inputs.npz is what goes in, in the order of each one's inputs: the reference's own numbers, laid out as it takes them.
expected.npz is what both gave. `python reproduce.py` runs both and ends with 0 if the difference is there.
"""


def write_minimal(
    folder: str | os.PathLike[str],
    segment: Segment,
    fed: tuple[Mapping[str, Array], Mapping[str, Array]],
    what: str,
    limit: float,
    providers: str | Sequence[str] = "cpu",
) -> list[Path]:
    """Write the parts of both models around a cause and what reproduces it; the files that were written.

    `fed` are the reference's numbers at the edges by the names of each part's inputs, as it takes them. The candidate's
    part runs on `providers`. The folder is made where it is not there. Raises VerificationError for a folder that holds
    files already, and where the parts alone do not show the difference.
    """
    from graphir.converters.onnx import save

    place = check_folder(folder)
    results: dict[str, Array] = {}
    made: dict[str, tuple[Graph, dict[str, Array]]] = {}
    for side, which in enumerate(("reference", "candidate")):
        part = _part(segment, side, fed[side])
        inputs = {value.name: fed[side][value.name] for value in part.inputs}
        results[which] = _result(part, inputs, optimize=side == 1, providers=providers if side == 1 else "cpu")
        made[which] = part, inputs
    order = order_inside(results["candidate"], results["reference"])
    laid = results["candidate"].transpose(order) if order else results["candidate"]
    scale, largest, _ = difference(results["reference"], laid)
    if largest <= limit * scale:
        raise VerificationError(
            f"{segment.value.name}: the parts of both models give the same on these numbers, so they reproduce nothing"
        )
    place.mkdir(parents=True, exist_ok=True)
    for which, (part, inputs) in made.items():
        save(part, place / f"{which}.onnx")
        numbered: dict[str, Any] = {f"input_{slot}": array for slot, array in enumerate(inputs.values())}
        np.savez(place / f"{which}_inputs.npz", **numbered)
    recorded: dict[str, Any] = dict(results)
    np.savez(place / "expected.npz", **recorded)
    chosen, name = choose_providers(providers), segment.value.name
    script = SCRIPT.format(
        order=order, limit=limit, entries={key: text for choice in chosen for key, text in choice.entries.items()},
        providers=[choice.named for choice in chosen if choice.row.name != "cpu"],
    )  # fmt: skip
    (place / "reproduce.py").write_text(script, encoding="utf-8")
    about = README.format(title=one_line(f"{name}: {what}"), name=one_line(name))
    (place / "README.txt").write_text(about, encoding="utf-8")
    return sorted(place.iterdir())


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder, if nothing in it would be overwritten. Raises VerificationError."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise VerificationError(f"{place} is there already and no empty folder: name one that is new or empty")
    return place


def _part(segment: Segment, side: int, arrays: Mapping[str, Array]) -> Graph:
    """Return a part as a graph of its own, of the reference (0) or of the candidate (1), its inputs by their names
    there; they get the types of their numbers where the graph does not know them."""
    value = (segment.value, segment.other)[side]
    part = value.graph.extract([value], [end for end in segment.ends[side] if end.producer is not None])
    for given in part.inputs:
        array = arrays[given.name]
        if given.dtype is None or given.rank is None:
            shape = array.shape if given.rank is None else None
            part.refine(given, TensorType(DType.of(array.dtype) if given.dtype is None else given.dtype, shape))
    return part


def _result(
    part: Graph, inputs: Mapping[str, Array], *, optimize: bool, providers: str | Sequence[str]
) -> Array:
    try:
        with OnnxCandidate(part, optimize=optimize, providers=providers) as under_test:
            (found,) = under_test.run(inputs).values()
            return found
    except GraphirError as error:
        name = part.outputs[0].name
        raise VerificationError(f"the part of a model that makes {name} does not run: {error}") from error
