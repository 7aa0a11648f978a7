"""What a fault really changes, measured by onnxruntime alone: no part of graphir has a say in it."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import onnx

from .builder import Array, Feeds, Network
from .model import Model, every_value, run, session

SCENES = ((2, 1.0), (3, 1.0), (1, 1.0), (2, 0.2), (2, 5.0), (1, 20.0), (3, 50.0), (2, 1.0), (3, 5.0), (1, 1.0),
          (9, 1.0))  # fmt: skip
"""Batch and width of each set of inputs."""
FACTOR = 100
"""How many times the floor a change has to be for it to count as an effect: verify allows 20 times a floor that it
measures with other inputs."""
COARSE = 10
"""How many times what the rounding of every float16 value changes: all of it, not a last place of the inputs."""
LEAST = 2e-4
"""The least change that counts, relative to a slice of an output, or 2 % of whole numbers: some thousand units in the
last place of float32, 40 times what verify allows at least."""
SMALL_SLICE = 1e-3
"""A slice whose largest magnitude is less than this part of the whole is measured against this part of the whole."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A network with weights of a seed, inputs of several widths, its results on them and their floor by output."""

    network: Network
    model: Model
    feeds: tuple[Feeds, ...]
    results: tuple[dict[str, Array], ...]
    floors: tuple[dict[str, float], ...]


@dataclass(frozen=True)
class Effect:
    """The largest change by slices over all sets of inputs, the floor there, and in how many sets it is clear.

    `fails` is what onnxruntime said where the candidate does not run on inputs that the model takes, `runs` on how many
    it does."""

    change: float
    floor: float
    sets: int
    fails: str = ""
    runs: int = len(SCENES)

    @property
    def is_clear(self) -> bool:
        """Whether the fault shows well above the floor."""
        return self.sets > 0


@lru_cache
def judged(network: Network, seed: int) -> Judged:
    """The network, run without optimisations; its floor is what a last place of the inputs, optimisations, and the
    rounding of every value to its own type change."""
    proto = network.build(seed)
    generator = np.random.Generator(np.random.PCG64(seed + 1000))
    feeds = tuple(network.draw(generator, batch, width) for batch, width in SCENES)
    plain, fast = session(proto), session(proto, optimize=True)
    seen = every_value(proto, feeds[0])
    written = session(rounded(proto, seen))
    results = tuple(run(plain, fed) for fed in feeds)
    floors = []
    for fed, found in zip(feeds, results, strict=True):
        others = [run(fast, fed), *(run(plain, moved(fed, generator)) for _ in range(3))]
        coarse = run(written, fed)
        floors.append({
            name: max(
                change(array, coarse[name]) * COARSE / FACTOR, *(change(array, other[name]) for other in others)
            )
            for name, array in found.items()
        })
    return Judged(network, Model(proto, seen), feeds, results, tuple(floors))


def rounded(proto: onnx.ModelProto, seen: Mapping[str, Array]) -> onnx.ModelProto:
    """The model with an Identity behind every float16 value. onnxruntime computes neighbouring float16 operators in
    float32 without rounding between them, unless an operator between them is one that has a float16 kernel."""
    model = Model(copy.deepcopy(proto), seen)
    names = [node.name for node in model.nodes() if node.output and seen[node.output[0]].dtype == np.float16]
    for name in names:
        model.after(model.node(name), "Identity")
    return model.proto


def moved(feeds: Mapping[str, Array], generator: np.random.Generator) -> Feeds:
    """Every float one unit in the last place up or down."""
    found: Feeds = {}
    for name, array in feeds.items():
        up = generator.integers(0, 2, array.shape).astype(bool)
        if array.dtype.kind == "f":
            ends = np.where(up, np.inf, -np.inf).astype(array.dtype)
            found[name] = np.nextafter(array, ends)
        else:
            found[name] = array
    return found


def change(reference: Array, candidate: Array) -> float:
    """The largest difference relative to the largest magnitude, of the whole and of every slice along every axis but
    the first; infinite for other shapes, dtypes and places of what is not finite. Whole numbers that differ count
    by hundredths, so that near ties that fall the other way in one place of a map are no effect."""
    if reference.shape != candidate.shape:
        return math.inf
    if not reference.size:
        return 0.0
    if reference.dtype != candidate.dtype:
        return math.inf
    if reference.dtype.kind in "iub":
        return float(np.count_nonzero(reference != candidate)) / reference.size / 100
    left, right = reference.astype(np.float64), candidate.astype(np.float64)
    finite = np.isfinite(left)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True) or not np.isfinite(right[finite]).all():
        return math.inf
    with np.errstate(invalid="ignore"):
        size, distance = np.where(finite, np.abs(left), 0), np.where(finite, np.abs(left - right), 0)
    whole = float(size.max())
    if whole == 0:
        return math.inf if distance.max() else 0.0
    found = float(distance.max()) / whole
    for axis in range(1, left.ndim):
        others = tuple(other for other in range(left.ndim) if other != axis)
        scale = np.maximum(size.max(axis=others), SMALL_SLICE * whole)
        found = max(found, float((distance.max(axis=others) / scale).max()))
    return found


def effect_of(base: Judged, proto: onnx.ModelProto) -> Effect:
    """What the candidate changes on the inputs. Raises what onnxruntime raises if it does not even load."""
    held = session(proto)
    most, floor, sets, runs, fails = 0.0, 0.0, 0, 0, ""
    for fed, expected, floors in zip(base.feeds, base.results, base.floors, strict=True):
        try:
            found = run(held, fed)
        except Exception as error:  # onnxruntime's errors have no common base but this
            fails = fails or str(error).splitlines()[0]
            sets += 1
            continue
        runs += 1
        by_output = {name: change(array, found[name]) for name, array in expected.items()}
        sets += any(size > max(base.network.least or LEAST, FACTOR * floors[name]) for name, size in by_output.items())
        for name, size in by_output.items():
            if size > most:
                most, floor = size, floors[name]
    return Effect(most, floor, sets, fails, runs)


def differs_at(base: Judged, proto: onnx.ModelProto, width: float) -> bool:
    """Whether the candidate gives other numbers at all, on inputs so many times as wide as usual, or a tenth of that,
    which saturates less."""
    first, second = session(base.model.proto), session(proto)
    for size in dict.fromkeys((width, max(width / 10, 1.0))):
        feeds = base.network.draw(np.random.Generator(np.random.PCG64(int(size))), SCENES[0][0], size)
        expected, found = run(first, feeds), run(second, feeds)
        if any(not np.array_equal(array, found[name], equal_nan=True) for name, array in expected.items()):
            return True
    return False


__all__ = ["SCENES", "Effect", "Judged", "change", "differs_at", "effect_of", "judged"]
