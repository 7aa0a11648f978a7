"""Detections as arrays: where they stand among a model's outputs, and how much two boxes overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Detections:
    """Rows of a detection head: `classes` and `scores` (batch, rows), `boxes` (batch, rows, 4); a row whose class is
    negative holds no detection. `more` are arrays (batch, rows, ...) that belong to the rows, masks for one.

    Raises VerificationError for shapes that do not fit together.
    """

    classes: Floats
    scores: Floats
    boxes: Floats
    more: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        rows = self.classes.shape
        shapes = (self.scores.shape, self.boxes.shape, *(array.shape[:2] for array in self.more))
        if len(rows) != 2 or shapes != (rows, (*rows, 4), *(rows for _ in self.more)):
            others = ", ".join(str(list(shape)) for shape in shapes)
            raise VerificationError(f"classes {list(rows)} of detections do not fit scores and boxes {others}")

    @property
    def batch(self) -> int:
        """The number of images."""
        return self.classes.shape[0]

    def image(self, index: int) -> Detections:
        """The rows of one image, as a batch of one."""
        part = slice(index, index + 1)
        more = tuple(array[part] for array in self.more)
        return Detections(self.classes[part], self.scores[part], self.boxes[part], more)


@dataclass(frozen=True)
class DetectionOutputs:
    """The outputs that hold detections: one of rows `[class, score, x1, y1, x2, y2, ...]`, or three that hold classes,
    scores and boxes; and those that have a row for each of them."""

    names: tuple[str, ...]
    more: tuple[str, ...] = ()

    def read(self, outputs: Mapping[str, Array]) -> Detections:
        """The detections among a model's outputs. Raises KeyError for one that is absent, VerificationError for a
        shape of no detections."""
        more = tuple(np.asarray(outputs[name], np.float64) for name in self.more)
        arrays = [np.asarray(outputs[name], np.float64) for name in self.names]
        if len(arrays) == 1:
            rows = arrays[0]
            if rows.ndim != 3 or rows.shape[2] < 6:
                raise VerificationError(f"{self.names[0]} has the shape {list(rows.shape)}, expected (batch, rows, 6)")
            rest = (rows[..., 6:],) if rows.shape[2] > 6 else ()
            return Detections(rows[..., 0], rows[..., 1], rows[..., 2:6], (*rest, *more))
        classes, scores, boxes = arrays
        return Detections(_flat(classes), _flat(scores), boxes, more)


def find_detections(outputs: Mapping[str, Array]) -> DetectionOutputs | None:
    """Which of a reference's outputs hold detections, by their shapes and values; None if none do.

    What says so is an array (batch, rows, 6 or 7) whose first column holds whole numbers from -1 on, or the three of
    classes (batch, rows) or (batch, rows, 1), which are whole numbers from -1 on, scores alike, and boxes (batch, rows,
    4). Where classes and scores are whole numbers both, the first one holds the classes, as in GluonCV. Any other
    output with a row each belongs to them. A shape alone is no proof: ask `cuts.is_cut` of the model first.

    >>> rows = np.array([[[1, 0.5, 0, 0, 2, 2], [-1, -1, -1, -1, -1, -1]]])
    >>> find_detections({"rows": rows})
    DetectionOutputs(names=('rows',), more=())
    """
    for name, array in outputs.items():
        if array.ndim == 3 and array.shape[2] in (6, 7) and _are_classes(array[..., 0]):
            return DetectionOutputs((name,), _with_rows(outputs, array.shape[:2], (name,)))
    for boxes, array in outputs.items():
        if array.ndim != 3 or array.shape[2] != 4:
            continue
        rows = array.shape[:2]
        columns = [name for name, other in outputs.items() if other.shape in (rows, (*rows, 1))]
        classes = next((name for name in columns if _are_classes(outputs[name])), None)
        scores = next((name for name in columns if name != classes and outputs[name].dtype.kind in "fV"), None)
        if classes is not None and scores is not None:
            names = (classes, scores, boxes)
            return DetectionOutputs(names, _with_rows(outputs, rows, names))
    return None


def selected_detections(indices: Array, boxes: Array, scores: Array) -> Detections:
    """What ONNX's NonMaxSuppression selects: `indices` (n, 3) of batch, class and box, of `boxes` (batch, k, 4) with
    `scores` (batch, classes, k). The images are filled up with empty rows of -1.

    Raises VerificationError for indices outside of these arrays, or another shape.
    """
    limits = (*scores.shape[:2], boxes.shape[1]) if scores.ndim == boxes.ndim == 3 else ()
    if indices.ndim != 2 or indices.shape[1] != 3 or not limits or ((indices < 0) | (indices >= limits)).any():
        said = f"indices {list(indices.shape)} do not fit boxes {list(boxes.shape)}, scores {list(scores.shape)}"
        raise VerificationError(said)
    counts = np.bincount(indices[:, 0].astype(np.int64), minlength=limits[0])
    rows = (limits[0], int(counts.max(initial=0)))
    found = Detections(np.full(rows, -1.0), np.full(rows, -1.0), np.full((*rows, 4), -1.0))
    for image in range(limits[0]):
        _, classes, places = indices[indices[:, 0] == image].T
        found.classes[image, : len(places)] = classes
        found.scores[image, : len(places)] = scores[image, classes, places]
        found.boxes[image, : len(places)] = boxes[image, places]
    return found


def overlaps(box: Floats, others: Floats, give: float) -> tuple[Floats, Floats]:
    """The intersection over union of a box (4) with others (n, 4), corners in any order, and how far it moves at most
    if every coordinate moves by `give`.

    A side of an intersection moves by 2 * give, and an area by that times the sum of its sides.

    >>> overlaps(np.array([0.0, 0.0, 2.0, 2.0]), np.array([[1.0, 0.0, 3.0, 2.0]]), 0.0)[0].round(3).tolist()
    [0.333]
    """
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    shared = np.maximum(0.0, np.minimum(high, highs) - np.maximum(low, lows))
    sizes, own = highs - lows, high - low
    inner = shared.prod(axis=1)
    union = sizes.prod(axis=1) + own.prod() - inner
    moved_inner = 2 * give * shared.sum(axis=1) + 4 * give * give
    moved_union = 2 * give * (sizes.sum(axis=1) + own.sum()) + 8 * give * give + moved_inner
    with np.errstate(all="ignore"):
        found = np.where(union > 0, inner / union, 0.0)
        moved = np.where(union > moved_union, (moved_inner + found * moved_union) / (union - moved_union), 1.0)
    return found, np.minimum(moved, 1.0)


def _flat(array: Floats) -> Floats:
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _are_classes(array: Array) -> bool:
    if array.dtype.kind not in "iufV":
        return False
    numbers = array.astype(np.float64)
    return bool(numbers.size and (numbers >= -1).all() and (numbers == np.floor(numbers)).all())


def _with_rows(outputs: Mapping[str, Array], rows: Sequence[int], held: Sequence[str]) -> tuple[str, ...]:
    """The other outputs with a row each."""
    return tuple(
        name
        for name, array in outputs.items()
        if name not in held and array.shape[:2] == tuple(rows) and rows[1] > 1 and array.dtype.kind in "fiubV"
    )


__all__ = ["DetectionOutputs", "Detections", "find_detections", "overlaps", "selected_detections"]
