"""What a format gives the fuzzer, and how a case is made of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Random = random.Random

# Sizes, counts and codes around which readers fail: signs, the ends of every width, products that overflow, claims.
NUMBERS = (
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 63, 64, 100, 127, 128, 255, 256, 1000, 4095, 4096, 32767, 32768, 65535,
    65536, 10**6, 10**8, 10**9, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1,
    -1, -2, -3, -127, -128, -32768, -(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1, 2**64, 10**30, 0xF993FAC9,
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """Files by name (folders with /), the one that is opened ("." is their folder), options of `graphir.convert`."""

    entry: str
    files: Mapping[str, bytes]
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_file(self, name: str, content: bytes) -> Model:
        """The model with one file replaced or added."""
        return replace(self, files={**self.files, name: content})


@dataclass(frozen=True)
class Format:
    """A format as the fuzzer sees it; see the package's docstring."""

    name: str
    seeds: Callable[[], Sequence[Model]]
    mutate: Callable[[Random, Model, Sequence[Model]], Model]
    targets: tuple[str, ...] = ("result.onnx", "result.onnx", "result.graphir.json", "result-symbol.json")


@dataclass(frozen=True)
class Case:
    """One case: the files to write, and the name of the target to convert to."""

    model: Model
    target: str


_seeds: dict[str, Sequence[Model]] = {}


def format_seeds(format: Format) -> Sequence[Model]:
    """Return the seeds of a format, which are made once."""
    if format.name not in _seeds:
        _seeds[format.name] = format.seeds()
    return _seeds[format.name]


def make_case(format: Format, seed: int, number: int) -> Case:
    """Case `number`, the same each time."""
    chance = random.Random(f"{format.name}:{seed}:{number}")
    seeds = format_seeds(format)
    return Case(format.mutate(chance, chance.choice(seeds), seeds), chance.choice(format.targets))


def number(chance: Random) -> int:
    """An integer that breaks things."""
    return chance.choice(NUMBERS) if chance.random() < 0.9 else chance.getrandbits(chance.choice((8, 16, 32, 64)))


__all__ = ["NUMBERS", "Case", "Format", "Model", "Random", "format_seeds", "make_case", "number"]
