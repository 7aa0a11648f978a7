"""Random numbers written for MXNet and read again: the distribution is the same, the numbers are not."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.errors import UnsupportedOpError
from graphir.types import DType, TensorType
from tests.converters.mxnet.exporting import Array, Row, mxnet_outputs, read_again, row, written
from tests.equivalence.live import Live
from tests.typed import untyped

SIZE = (60, 70)
ZEROS = np.zeros(SIZE, np.float32)
CHANCES = np.log(np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]], np.float32)) + 2
NORMAL, UNIFORM, DOUBLE = {"mean": 3.0, "scale": 0.5}, {"low": -1.0, "high": 5.0}, 11
EVEN = (2.0, 6 / 12**0.5)
ROWS = (
    (row("normal", "RandomNormal", shape=SIZE, seed=3.0, wanted=("_random_normal",), **untyped(NORMAL)), (3.0, 0.5)),
    (row("uniform", "RandomUniform", shape=SIZE, wanted=("_random_uniform",), **untyped(UNIFORM)), EVEN),
    (row("float64", "RandomUniform", shape=SIZE, dtype=DOUBLE, **untyped(UNIFORM)), EVEN),
    (row("like", "RandomNormalLike", ZEROS, wanted=("_random_normal_like",), **untyped(NORMAL)), (3.0, 0.5)),
    (row("like", "RandomUniformLike", ZEROS, wanted=("_random_uniform_like",), **untyped(UNIFORM)), EVEN),
    (row("another dtype", "RandomNormalLike", ZEROS.astype(np.int32), dtype=DOUBLE,
         wanted=("Cast", "_random_normal_like"), **untyped(NORMAL)), (3.0, 0.5)),
    (row("chances", "Bernoulli", ZEROS + np.float32(0.3)), (0.3, 0.458)),
    (row("truths", "Bernoulli", ZEROS + np.float32(0.3), dtype=9), (0.3, 0.458)),
    (row("integers", "Bernoulli", ZEROS.astype(np.float64) + 0.3, dtype=6), (0.3, 0.458)),
    (row("classes", "Multinomial", CHANCES, sample_size=4000), (1.2, 0.6, 0.75, 0.829)),
    (row("int64", "Multinomial", CHANCES, sample_size=4000, dtype=7), (1.2, 0.6, 0.75, 0.829)),
)  # fmt: skip
NAMES = [f"{source.op} {source.name}" for source, _ in ROWS]


def moments(array: Array) -> list[float]:
    """What is near for two draws: mean and deviation of each of two rows, or of all numbers."""
    rows = array if array.shape[0] == 2 else array.reshape(1, -1)
    return [float(number) for part in rows.astype(np.float64) for number in (part.mean(), part.std())]


@pytest.mark.live
@pytest.mark.parametrize("source, expected", ROWS, ids=NAMES)
def test_live_mxnet_draws_alike(source: Row, expected: tuple[float, ...], live: Live) -> None:
    symbol = written(source)
    (found,) = mxnet_outputs(live, symbol.text, symbol.fed(source.data), {})
    assert str(TensorType(DType.of(found.dtype.name), found.shape)) == str(symbol.graph.outputs[0].type)
    assert np.allclose(moments(found), expected, atol=0.1)


@pytest.mark.parametrize("source, expected", ROWS, ids=NAMES)
def test_what_is_written_is_read_alike(source: Row, expected: tuple[float, ...]) -> None:
    symbol = written(source)
    (found,) = read_again(symbol.text, symbol.params, source.data, opset=21)
    assert str(TensorType(DType.of(found.dtype.name), found.shape)) == str(symbol.graph.outputs[0].type)
    assert np.allclose(moments(found), expected, atol=0.1)


@pytest.mark.parametrize("source", [source for source, _ in ROWS], ids=NAMES)
def test_it_is_a_decision(source: Row) -> None:
    symbol = written(source)
    assert "random numbers" in {decision.kind for decision in symbol.graph.decisions}
    assert source.wanted is None or tuple(symbol.operators) == source.wanted


def test_a_seed_is_dropped_with_a_word() -> None:
    (decision,) = written(ROWS[0][0]).graph.decisions
    assert "the seed 3 is dropped: call mx.random.seed" in decision.text


def test_dtype_that_mxnet_does_not_draw() -> None:
    with pytest.raises(UnsupportedOpError, match="no tensors of bfloat16"):
        written(row("bfloat16", "RandomUniform", shape=SIZE, dtype=16))
