"""Random numbers. Runtimes draw their own: numbers differ from TensorFlow's, distributions do not."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import random as rnd
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Add, Cast, Floor, Min, Mul, Sub
from graphir.ops.indexing import Gather
from graphir.ops.reduction import TopK
from graphir.ops.shape import Shape
from graphir.types import DType

# Ranges of whole numbers up to this are drawn in float32 without a number that cannot come.
EXACT_RANGE = 1 << 20


def _read_seed(node: ImportNode) -> float | None:
    """Return the seed that is stated, as one number; None where TensorFlow would draw anew each time."""
    numbers: tuple[int, ...] | None
    if node.attrs.get("seed", 0) or node.attrs.get("seed2", 0):
        numbers = (int(node.attrs["seed"]), int(node.attrs["seed2"]))
    else:
        slot = SEED_SLOTS.get(node.op)
        numbers = None if slot is None else node.known(slot)
    node.decide(
        DecisionKind.RANDOM_NUMBERS,
        "every runtime draws its own: the numbers are not TensorFlow's"
        + (f", the seed {list(numbers)} only makes runs of one runtime alike" if numbers else ""),
    )
    return None if not numbers else float((numbers[0] * 31 + numbers[-1]) % (1 << 24))


SEED_SLOTS = {
    "StatelessMultinomial": 2,
    "StatelessRandomNormal": 1,
    "StatelessRandomUniform": 1,
    "StatelessRandomUniformInt": 1,
}


def _draw(node: ImportNode, dtype: DType, *, normal: bool, final: bool) -> Value:
    """Return random numbers of the shape that the first input states, from 0 to 1 or of the standard normal
    distribution."""
    seed = _read_seed(node)
    sizes = node.known(0)
    put = node.emit if final else node.step
    if sizes is not None:
        fixed = rnd.RandomNormal if normal else rnd.RandomUniform
        return put(fixed(sizes, dtype, seed=seed))
    zeros = node.step(ConstantOfShape(0.0, dtype), node.int64(node.input(0)), suffix="zeros")
    return put((rnd.RandomNormalLike if normal else rnd.RandomUniformLike)(dtype, seed=seed), zeros)


def drawing(*, normal: bool) -> ImportFunction:
    """Return the import function of numbers from 0 to 1, or of the standard normal distribution."""

    def import_drawn(node: ImportNode) -> Value:
        wanted = node.attrs["dtype"]
        if wanted is not DType.BFLOAT16:
            return _draw(node, wanted, normal=normal, final=True)
        return node.emit(Cast(wanted), _draw(node, DType.FLOAT32, normal=normal, final=False))

    return import_drawn


def import_uniform_integers(node: ImportNode) -> Value:
    """Whole numbers from `minval` to below `maxval`: floor(u * (maxval - minval)) + minval."""
    low, high = node.inputs[-2:]
    dtype = node.dtype(-1)
    known = node.known(-2), node.known(-1)
    span = None if known[0] is None or known[1] is None else known[1][0] - known[0][0]
    working = DType.FLOAT32 if span is not None and span <= EXACT_RANGE else DType.FLOAT64
    drawn = _draw(node, working, normal=False, final=False)
    width = node.step(Sub(), high, low, suffix="width")
    scaled = node.step(Mul(), drawn, node.cast(width, working, suffix="float_width"), suffix="scaled")
    whole = node.cast(node.step(Floor(), scaled), dtype, suffix="whole")
    last = node.step(Sub(), width, node.constant(1, dtype), suffix="last")
    return node.emit(Add(), node.step(Min(), whole, last, suffix="inside"), low)


def import_multinomial(node: ImportNode) -> Value:
    """Multinomial: classes drawn by logits (batch, classes)."""
    logits = node.input(0)
    if logits.dtype is not DType.FLOAT32:
        logits = node.cast(logits, DType.FLOAT32, suffix="logits")
    count = node.integer(1, "the number of samples")
    wanted = node.attrs["output_dtype"]
    return node.emit(rnd.Multinomial(wanted, sample_size=count, seed=_read_seed(node)), logits)


def import_shuffle(node: ImportNode) -> Value:
    """RandomShuffle: the slices along the first axis in a random order, that of as many random numbers."""
    data = node.input(0)
    if node.rank(data) == 0:
        return data
    size = node.shape(data)[0]
    seed = _read_seed(node)
    if isinstance(size, int):
        count = node.vector([size])
        drawn = node.step(rnd.RandomUniform((size,), seed=seed))
    else:
        count = node.step(Shape(start=0, end=1), data, suffix="rows")
        zeros = node.step(ConstantOfShape(), count, suffix="zeros")
        drawn = node.step(rnd.RandomUniformLike(DType.FLOAT32, seed=seed), zeros)
    _, order = node.steps(TopK(axis=-1), drawn, count)
    return node.emit(Gather(axis=0), data, order)


def import_key_counter(node: ImportNode) -> tuple[Value, ...]:
    """Return the state of a generator, which nothing but random operators read: zeros."""
    node.decide(
        DecisionKind.RANDOM_NUMBERS, "the generator's key and counter are zeros; only operators that draw may use them"
    )
    state = [node.constant([0], DType.UINT64), node.constant([0, 0], DType.UINT64)]
    return (*state, node.constant(1, DType.INT32))


IMPORTS: dict[str, ImportFunction] = {
    "Multinomial": import_multinomial,
    "RandomShuffle": import_shuffle,
    "RandomStandardNormal": drawing(normal=True),
    "RandomUniform": drawing(normal=False),
    "RandomUniformInt": import_uniform_integers,
    "StatelessMultinomial": import_multinomial,
    "StatelessRandomGetAlg": lambda node: node.constant(1, DType.INT32),
    "StatelessRandomGetKeyCounter": import_key_counter,
    "StatelessRandomGetKeyCounterAlg": import_key_counter,
    "StatelessRandomNormal": drawing(normal=True),
    "StatelessRandomNormalV2": drawing(normal=True),
    "StatelessRandomUniform": drawing(normal=False),
    "StatelessRandomUniformInt": import_uniform_integers,
    "StatelessRandomUniformIntV2": import_uniform_integers,
    "StatelessRandomUniformV2": drawing(normal=False),
}
