"""The types of values that become inputs, as the whole model gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.importing.importer import Importer
from graphir.errors import GraphirError
from graphir.types import TensorType

Given = Mapping[str, object]


def types_at_cuts(
    source: TFSource, inputs: Sequence[str], outputs: Sequence[str] | None, shapes: Given | None, dtypes: Given | None
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what is given of shapes and dtypes, and for the values that become inputs what follows from the whole
    model.

    Where that cannot be imported (a cut may be what makes a model readable) only what is given is known.
    """
    cuts = {plain(name) for name in inputs}
    before = [
        {name: kind for name, kind in (given or {}).items() if plain(name) not in cuts} for given in (shapes, dtypes)
    ]
    found_shapes, found_dtypes = dict(shapes or {}), dict(dtypes or {})
    try:
        whole = Importer(source, before[0], dtypes=before[1], outputs=outputs).run()
    except GraphirError:
        return found_shapes, found_dtypes
    stated = {plain(name) for name in found_shapes}, {plain(name) for name in found_dtypes}
    meant = {plain(str(source.results.get(name, name))): name for name in cuts}
    for value in whole.values:
        for name in {meant[source_name] for source_name in map(plain, value.sources) if source_name in meant}:
            if not isinstance(value.type, TensorType):
                continue
            if value.shape is not None and name not in stated[0]:
                found_shapes[name] = tuple(dim if isinstance(dim, int) else None for dim in value.shape)
            if value.dtype is not None and name not in stated[1]:
                found_dtypes[name] = value.dtype
    return found_shapes, found_dtypes


def plain(name: str) -> str:
    """Return `x` for `x:0`."""
    return name.removesuffix(":0")
