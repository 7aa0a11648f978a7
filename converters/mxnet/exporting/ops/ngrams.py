"""Counts of n-grams: each of a pool is compared with all windows of the data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.ops.text import TfIdfMode, TfIdfVectorizer
from graphir.safety.limits import charge_nodes
from graphir.types import DType


def _grams(op: TfIdfVectorizer) -> dict[int, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the n-grams of the pool by their length, (how many, length)."""
    bounds = (*op.ngram_counts, len(op.pool_int64s))
    result = {}
    for length, (start, stop) in enumerate(pairwise(bounds), 1):
        result[length] = np.array(op.pool_int64s[start:stop], np.int64).reshape(-1, length)
    return result


def export_tfidf(node: ExportNode[TfIdfVectorizer]) -> None:
    """Sums of equal windows, each n-gram's at its place."""
    op = node.op
    if op.pool_strings:
        node.refuse("MXNet has no tensors of string; feed the numbers of a dictionary's entries")
    rank, dtype = node.rank(), node.dtype()
    (size,) = node.fixed(node.shape()[-1:], node.input(0).name)
    data = node.entry(0)
    if rank == 1:
        data = node.step("expand_dims", data, suffix="row", axis=0)
    counts, indices = _counts(node, data, size, dtype)
    width = max(op.ngram_indexes) + 1
    shape = (width,) if rank == 1 else None
    node.charge(max(len(indices), 1) * width * 2, "the places of its n-grams")
    chosen = np.zeros((max(len(indices), 1), width), np.float32)
    for number, index in enumerate(indices):
        chosen[number, op.ngram_indexes[index]] = 1
    if not counts:
        result = node.step("_zeros", suffix="nothing", shape=(1, width))
        if rank == 2:
            sizes = node.fixed(node.result.shape, node.result.name)
            result = node.step("broadcast_to", result, suffix="nothing", shape=sizes)
    else:
        joined = counts[0]
        if len(counts) > 1:
            joined = node.step("Concat", *counts, suffix="counts", dim=1, num_args=len(counts))
        result = node.step("dot", joined, node.constant(chosen, DType.FLOAT32, "places"), suffix="totals")
    if op.mode is TfIdfMode.IDF:
        result = node.step("_greater_scalar", result, suffix="there", scalar=0)
    if op.mode is not TfIdfMode.TF and op.weights:
        weights = np.zeros((1, width), np.float32)
        weights[0, list(op.ngram_indexes)] = op.weights
        result = node.step("broadcast_mul", result, node.constant(weights, DType.FLOAT32, "weights"), suffix="weighted")
    if shape is None:
        node.bind(result)
    else:
        node.emit("Reshape", result, shape=shape)


def _counts(node: ExportNode[TfIdfVectorizer], data: Entry, size: int, dtype: DType) -> tuple[list[Entry], list[int]]:
    """Return the counts of the n-grams, a length and a skip each, and for each of their columns its place in the
    pool."""
    op = node.op
    counts: list[Entry] = []
    indices: list[int] = []
    first = 0

    def count(grams: np.ndarray[tuple[int, ...], np.dtype[np.int64]], apart: int, windows: int) -> Entry:
        equal: Entry | None = None
        for index in range(grams.shape[1]):
            begin = index * apart
            part = node.step("slice_axis", data, suffix="entries", axis=1, begin=begin, end=begin + windows)
            part = node.step("expand_dims", part, suffix="entries", axis=2)
            wanted = node.constant(grams[:, index].reshape(1, 1, -1), dtype, "pool")
            hit = node.step("broadcast_equal", part, wanted, suffix="equal")
            equal = hit if equal is None else node.step("elemwise_mul", equal, hit, suffix="equal")
        assert equal is not None
        total = node.step("sum", equal, suffix="count", axis=1, keepdims=False)
        return node.export.cast(total, DType.FLOAT32)

    for length, grams in _grams(op).items():
        own = range(first, first + len(grams))
        first += len(grams)
        if not len(grams) or not op.min_gram_length <= length <= op.max_gram_length:
            continue
        most = min(op.max_skip_count, (size - 1) // (length - 1) - 1) if length > 1 else 0  # more skip past the end
        charge_nodes(max(most, 0), f"node {node.node.name!r} ({op.name}): the ways to skip")
        for skip in range(most + 1):
            windows = size - (length - 1) * (skip + 1)
            if windows > 0:
                counts.append(count(grams, skip + 1, windows))
                indices.extend(own)
    return counts, indices


EXPORTS = table(row(TfIdfVectorizer, export_tfidf))
