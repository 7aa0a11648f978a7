"""Parts of values in Keras's models: what stands in brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.arguments import argument, tensor_argument, whole_numbers
from graphir.converters.tensorflow.keras.context import KerasValue, Layer, values_in
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.slicing import Slice


def get_item(layer: Layer) -> Endpoint:
    """Return the slices, numbers, new axes and `...` of an index."""
    key = argument(layer, 1, "key", "slice_spec")
    parts = key if isinstance(key, list) else [key]
    if any(isinstance(number, KerasValue) for number in values_in(parts)):
        raise Refusal("an index that is computed")
    for part in parts:
        if isinstance(part, Mapping) and not _is_ellipsis(part):
            ends = [part.get(key) for key in ("start", "stop", "step")]
            whole_numbers([end for end in ends if end is not None], "its parts")
        elif part is not None and not _is_ellipsis(part):
            whole_numbers([part], "its parts")
    return layer.apply(_import_item(parts), "value", [tensor_argument(layer)])


def _import_item(parts: Sequence[Any]) -> ImportFunction:
    def import_item(node: ImportNode) -> Imported:
        value = node.input(0)
        rest = node.rank(value) - sum(part is not None and not _is_ellipsis(part) for part in parts)
        axis, result_axis = 0, 0
        cuts: list[tuple[int, int, int, int]] = []
        gone: list[int] = []
        new_axes: list[int] = []
        far = np.iinfo(np.int64).max
        for part in parts:
            if _is_ellipsis(part):
                axis, result_axis = axis + rest, result_axis + rest
                continue
            if part is None:
                new_axes.append(result_axis)
                result_axis += 1
                continue
            if isinstance(part, Mapping):
                step = part.get("step") or 1
                begin, end = (0, far) if step > 0 else (far, -far)
                begin = begin if part.get("start") is None else int(part["start"])
                end = end if part.get("stop") is None else int(part["stop"])
                result_axis += 1
            else:
                step, begin, end = 1, int(part), int(part) + 1 or far
                gone.append(axis)
            if (begin, end, step) != (0, far, 1):
                cuts.append((begin, end, axis, step))
            axis += 1
        if cuts:
            value = node.step(Slice(), value, *map(node.vector, zip(*cuts, strict=True)), suffix="part")
        if gone:
            value = node.step(Squeeze(), value, node.vector(gone), suffix="squeezed")
        return node.step(Unsqueeze(), value, node.vector(new_axes), suffix="item") if new_axes else value

    return import_item


def _is_ellipsis(part: Any) -> bool:
    return part is Ellipsis or (isinstance(part, Mapping) and part.get("class_name") == "__ellipsis__") or part == "..."
