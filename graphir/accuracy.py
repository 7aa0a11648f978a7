"""Does a conversion cost accuracy? Both models over one labelled set, counted image by image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.inputs.files import read_npz
from graphir.safety.arguments import PathLike
from graphir.safety.foreign_text import one_line
from graphir.safety.isolation import forwarded
from graphir.structure.printed import Printed
from graphir.verification.isolated import run_in_child
from graphir.verification.options import ComparisonOptions
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import reference_of

if TYPE_CHECKING:
    from graphir.converters.formats import Judge

Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]
LABEL = "label"
OPEN_BATCH = 64


@dataclass(frozen=True)
class AccuracyReport(Printed):
    """How many of `samples` each side classified correctly, and for how many the two chose different classes."""

    data: str
    output: str
    samples: int
    reference: str
    candidate: str
    reference_correct: int
    candidate_correct: int
    differing: int

    def to_text(self) -> str:
        """The two accuracies and the number of disagreements."""
        width = max(len(self.reference), len(self.candidate))
        data, output = one_line(self.data), one_line(self.output)
        return "\n".join(
            [
                f"accuracy on {self.samples} samples of {data} (largest entry of {output}):",
                f"  before  {self.reference:{width}}  {self._share(self.reference_correct)}",
                f"  after   {self.candidate:{width}}  {self._share(self.candidate_correct)}",
                f"  the predicted class differs for {self.differing} of {self.samples}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, keys in a fixed order."""
        return {
            "data": self.data,
            "output": self.output,
            "samples": self.samples,
            "reference": self.reference,
            "candidate": self.candidate,
            "reference_correct": self.reference_correct,
            "candidate_correct": self.candidate_correct,
            "reference_accuracy": self.reference_correct / self.samples,
            "candidate_accuracy": self.candidate_correct / self.samples,
            "differing": self.differing,
        }

    def _share(self, correct: int) -> str:
        return f"{100 * correct / self.samples:.2f} %  ({correct} correct)"


def split_labels(
    arrays: Mapping[str, Array], inputs: Sequence[str], data: str
) -> tuple[dict[str, Array], Array]:
    """The arrays of the inputs, and the labels as one class index a sample.

    Raises VerificationError if an input or the labels are missing, or their lengths differ.
    """
    missing = [name for name in (*inputs, LABEL) if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "nothing"
        raise VerificationError(f"{data} lacks {', '.join(missing)}; it holds {found}")
    feeds = {name: arrays[name] for name in inputs}
    labels = np.asarray(arrays[LABEL]).reshape(-1)
    lengths = {name: len(array) if array.ndim else 0 for name, array in (feeds | {LABEL: labels}).items()}
    if len(set(lengths.values())) != 1 or not len(labels):
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise VerificationError(f"{data}: every array needs one row a sample, found {shown}")
    return feeds, labels.astype(np.int64)


def batches(feeds: Mapping[str, Array], size: int, *, fixed: bool) -> Iterator[tuple[dict[str, Array], int]]:
    """The samples in batches, each with how many of its rows count; with `fixed` the last is filled up with copies."""
    total = len(next(iter(feeds.values())))
    for start in range(0, total, size):
        count = min(size, total - start)
        part = {name: array[start : start + count] for name, array in feeds.items()}
        if fixed and count < size:
            part = {
                name: np.concatenate([rows, np.repeat(rows[-1:], size - count, axis=0)]) for name, rows in part.items()
            }
        yield part, count


def predicted(outputs: Mapping[str, Array], name: str, count: int) -> Array:
    """The index of the largest entry, a sample. Raises VerificationError for an output that is no table of classes."""
    scores = outputs[name] if name in outputs else next(iter(outputs.values()))
    rows = scores.reshape(len(scores), -1) if scores.ndim > 1 and scores.size == len(scores) * scores.shape[1] else None
    if rows is None or len(rows) < count:
        raise VerificationError(
            f"accuracy needs an output with one row of class scores a sample; {name} is {list(scores.shape)}"
        )
    chosen: Array = rows[:count].argmax(axis=1)
    return chosen


def compare_accuracy(
    reference: Run,
    candidate: Run,
    feeds: Mapping[str, Array],
    labels: Array,
    *,
    batch: int | None,
    progress: Callable[[str], None] | None = None,
) -> tuple[str, int, int, int]:
    """The output's name, both counts of correct answers, and the number of samples with different answers.

    `batch` is the batch size that the models insist on, None if they take any.
    """
    size = batch or min(OPEN_BATCH, len(labels))
    correct = [0, 0]
    differing = done = 0
    name = ""
    for part, count in batches(feeds, size, fixed=batch is not None):
        if progress is not None:
            progress(f"measuring accuracy: {done} of {len(labels)}")
        expected = reference(part)
        name = next(iter(expected))
        before, after = predicted(expected, name, count), predicted(candidate(part), name, count)
        wanted = labels[done : done + count]
        correct[0] += int((before == wanted).sum())
        correct[1] += int((after == wanted).sum())
        differing += int((before != after).sum())
        done += count
    return name, correct[0], correct[1], differing


def measure_accuracy(
    judge: Judge,
    graph: Graph,
    candidate: Graph | PathLike,
    labelled: PathLike,
    how: ComparisonOptions,
    progress: Callable[[str], None] | None = None,
) -> AccuracyReport:
    """Run source and candidate over the samples of an .npz (arrays by input name, and `label`) and count.

    The source is run by its judge, both in a child process. Raises VerificationError if the data do not fit the model,
    and RunEnded where onnxruntime ends that process.
    """

    def measured() -> AccuracyReport:
        name = Path(labelled).name
        feeds, labels = split_labels(read_npz(labelled), [value.name for value in graph.inputs], name)
        for value in graph.inputs:
            if value.rank is not None and value.rank != feeds[value.name].ndim:
                given = list(feeds[value.name].shape)
                raise VerificationError(f"{name}: {value.name} is {given}, but the model's input is {value.type}")
        with (
            closing(reference_of(judge, graph, how.memory_budget)) as reference,
            OnnxCandidate(candidate, providers=how.providers, memory=how.memory_budget) as under_test,
        ):
            output, *counts = compare_accuracy(
                reference.run, under_test.run, feeds, labels, batch=_fixed_batch(graph), progress=forwarded(progress)
            )
            return AccuracyReport(name, output, len(labels), reference.label, under_test.label, *counts)

    return run_in_child(measured, how, progress)


def _fixed_batch(graph: Graph) -> int | None:
    """The size of the first axis that the inputs insist on, None if it is open."""
    sizes = {value.shape[0] for value in graph.inputs if value.shape}
    fixed = {size for size in sizes if isinstance(size, int)}
    if len(fixed) > 1:
        raise VerificationError(f"the inputs have different batch sizes: {sorted(fixed)}")
    return fixed.pop() if fixed else None
