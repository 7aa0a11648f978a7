"""Likelihoods of sequences in numpy, element by element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def _chance(scores: Array, labels: list[int], blank: int) -> float:
    """The probability of the labels, of the probabilities (T, C) of each step."""
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
    """The negative logarithm of the probability of each row of labels, 0 where it is impossible."""
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


OPERATORS: Mapping[str, Reference] = {"CTCLoss": ctc_loss}
