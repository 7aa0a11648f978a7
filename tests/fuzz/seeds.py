"""Valid models of every operator, made from the rows of `tests/equivalence`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, overload

from tests.equivalence.case import Case
from tests.equivalence.table import CASES
from tests.fuzz.case import Model


class LazySeeds(Sequence[Model]):
    """Seeds that are made when they are drawn, each once."""

    def __init__(self, count: int, make: Callable[[int], Model]) -> None:
        self._made: dict[int, Model] = {}
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Model: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Model]: ...

    def __getitem__(self, index: int | slice) -> Model | Sequence[Model]:
        if isinstance(index, slice):
            return [self[slot] for slot in range(*index.indices(self._count))]
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]


def of_rows(make: Callable[[Case], Model]) -> LazySeeds:
    """A seed for each row of the operators' tables."""
    return LazySeeds(len(CASES), lambda index: make(CASES[index]))


@cache
def mxnet_model(row: Case) -> Model:
    """The row as a symbol, with a .params file where it has weights; its data have shapes, its options say which."""
    from graphir.converters.mxnet import write_params

    files = {"m-symbol.json": row.symbol_json().encode()}
    held = {**dict.fromkeys(row.variables("param"), "arg"), **dict.fromkeys(row.variables("aux"), "aux")}
    if held:
        arrays = row.arrays()
        named: dict[str, Any] = {f"{kind}:{name}": arrays[name] for name, kind in held.items()}
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "m-0000.params")
            write_params(place, named)
            files["m-0000.params"] = place.read_bytes()
    return Model("m-symbol.json", files, {"shapes": row.shapes()})


def converted(row: Case, target: str) -> Model:
    """The row converted by graphir; `target` names the file that is opened. The symbol itself where it cannot be."""
    import graphir

    source = mxnet_model(row)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in source.files.items():
            (folder / file).write_bytes(content)
        (folder / "made").mkdir()
        try:
            graphir.convert(folder / source.entry, folder / "made" / target, **source.options)
        except graphir.GraphirError:
            return source
        files = {file.name: file.read_bytes() for file in (folder / "made").iterdir()}
    return Model(target, files)


__all__ = ["LazySeeds", "converted", "mxnet_model", "of_rows"]
