"""Densities of distributions, and likelihoods of sequences element by element, in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require

CIRCLE = float(np.float32(2 * np.pi))  # in float64 too
Formula = Callable[..., Array]


def _log_gamma_of(number: float) -> float:
    if math.isnan(number):
        return number
    if math.isinf(number) or (number <= 0 and number == math.floor(number)):
        return math.inf
    return math.lgamma(number)


log_gamma = np.vectorize(_log_gamma_of, otypes=[np.float64])  # in double precision, whatever the argument is


def _placed(sample: Array, parameter: Array, last: int = 0) -> Array:
    """Return the parameter with axes of size 1 for those that only the sample has."""
    first = parameter.ndim - last
    require(max(1, last) <= parameter.ndim <= sample.ndim, f"a parameter of rank {parameter.ndim} of {sample.ndim}")
    wanted = (*sample.shape[:first], *sample.shape[sample.ndim - last :])
    require(parameter.shape == wanted, f"a parameter {parameter.shape}, samples {sample.shape}")
    ones = (1,) * (sample.ndim - parameter.ndim)
    return parameter.reshape(*parameter.shape[:first], *ones, *parameter.shape[first:])


def density(
    logarithm: Formula, attrs: Attributes, sample: Array, *parameters: Array, plain: Formula | None=None
) -> Array:
    """Compute a density of samples, from its logarithm or its own formula."""
    require(all(each.dtype == sample.dtype for each in parameters), "operands of several dtypes")
    require(sample.dtype.kind == "f", f"dtype {sample.dtype}, expected floats")
    wide = np.float64 if sample.dtype == np.float64 else np.float32
    placed = [_placed(sample, each).astype(wide) for each in parameters]
    x = sample.astype(wide)
    with np.errstate(all="ignore"):
        if attrs.get("is_log"):
            result = logarithm(x, *placed)
        else:
            result = np.exp(logarithm(x, *placed)) if plain is None else plain(x, *placed)
        return np.array(np.broadcast_to(result, sample.shape)).astype(sample.dtype)


def log_normal(x: Array, mean: Array, deviation: Array) -> Array:
    """Of the normal distribution."""
    return np.asarray(-((x - mean) ** 2) / (2 * deviation**2) - np.log(deviation) - np.log(CIRCLE) / 2)


def normal(x: Array, mean: Array, deviation: Array) -> Array:
    """Of the normal distribution, itself; negative for a negative deviation."""
    return np.asarray(np.exp(-((x - mean) ** 2) / (2 * deviation**2)) / (deviation * np.sqrt(CIRCLE)))


def log_gamma_density(x: Array, shape: Array, rate: Array) -> Array:
    """Of the gamma distribution with a rate."""
    return np.asarray(shape * np.log(rate) + (shape - 1) * np.log(x) - rate * x - log_gamma(shape))


def log_poisson(x: Array, rate: Array) -> Array:
    """Of Poisson's distribution."""
    return np.asarray(x * np.log(rate) - log_gamma(x + 1) - rate)


def log_negative_binomial(x: Array, limit: Array, chance: Array) -> Array:
    """Of the failures before `limit` successes."""
    counts = log_gamma(x + limit) - log_gamma(x + 1) - log_gamma(limit)
    return np.asarray(counts + limit * np.log(chance) + x * np.log(1 - chance))


def dirichlet(attrs: Attributes, sample: Array, alpha: Array) -> Array:
    """Dirichlet's density of the vectors along the last axis."""
    require(sample.dtype == alpha.dtype and sample.dtype.kind == "f", f"dtypes {sample.dtype} and {alpha.dtype}")
    placed, x = _placed(sample, alpha, last=1).astype(np.float64), sample.astype(np.float64)
    with np.errstate(all="ignore"):
        result = ((placed - 1) * np.log(x)).sum(-1) + log_gamma(placed.sum(-1)) - log_gamma(placed).sum(-1)
        result = result if attrs.get("is_log") else np.exp(result)
        return np.asarray(result).reshape(sample.shape[:-1] or (1,)).astype(sample.dtype)


def _chance(scores: Array, labels: list[int], blank: int) -> float:
    """Return the probability of the labels, of the probabilities (T, C) of each step."""
    symbols = [blank]
    for label in labels:
        symbols += [label, blank]
    chances = np.zeros(len(symbols) + 2)  # two places in front of the first stand for nothing
    chances[2] = 1.0
    for step in scores:
        result = np.zeros_like(chances)
        for index, symbol in enumerate(symbols):
            skips = index > 1 and symbol not in (blank, symbols[index - 2])
            result[index + 2] = (chances[index + 2] + chances[index + 1] + chances[index] * skips) * step[symbol]
        chances = result
    return float(chances[-1] + (chances[-2] if labels else 0.0))


def ctc_loss(attrs: Attributes, data: Array, label: Array, *lengths: Array) -> Array:
    """Return the negative logarithm of the probability of each row of labels, 0 where it is impossible."""
    require(data.dtype == np.float32 and data.ndim == 3 and label.ndim == 2, f"{data.dtype}{data.shape}, {label.shape}")
    require(label.shape[1] <= data.shape[0], f"{label.shape[1]} labels of {data.shape[0]} steps")
    further = list(lengths)
    steps = further.pop(0) if attrs.get("use_data_lengths") else np.full(len(label), data.shape[0])
    counts = further.pop(0) if attrs.get("use_label_lengths") else None
    is_first = attrs.get("blank_label", "first") == "first"
    blank, padding = (0, 0) if is_first else (data.shape[2] - 1, -1)
    scores = np.exp(data.astype(np.float64) - data.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    result = []
    for index, row in enumerate(label.astype(np.int64).tolist()):
        count = [*row, padding].index(padding) if counts is None else int(counts[index])
        chance = _chance(scores[: int(steps[index]), index], row[:count], blank)
        result.append(-np.log(chance) if chance > 0 else 0.0)
    return np.array(result, data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_random_pdf_dirichlet": dirichlet,
    "_random_pdf_exponential": partial(density,
        lambda x, rate: np.log(rate) - rate * x, plain=lambda x, rate: rate * np.exp(-rate * x)
    ),
    "_random_pdf_gamma": partial(density, log_gamma_density),
    "_random_pdf_generalized_negative_binomial": partial(density,
        lambda x, mean, dispersion: log_negative_binomial(x, 1 / dispersion, 1 / (mean * dispersion + 1))
    ),
    "_random_pdf_negative_binomial": partial(density, log_negative_binomial),
    "_random_pdf_normal": partial(density, log_normal, plain=normal),
    "_random_pdf_poisson": partial(density, log_poisson),
    "_random_pdf_uniform": partial(
        density, lambda x, low, high: -np.log(high - low), plain=lambda x, low, high: 1 / (high - low)
    ),
    "CTCLoss": ctc_loss,
}
