"""Sentences as numbers, and batches of them by length, for BucketingModule."""

from __future__ import annotations

import bisect
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray
from graphir.converters.mxnet.mx.io import DataBatch, DataDesc, DataIter


def encode_sentences(
    sentences: Iterable[Iterable[str]],
    vocab: dict[str, int] | None = None,
    invalid_label: int = -1,
    invalid_key: str = "\n",
    start_label: int = 0,
    unknown_token: str | None = None,
) -> tuple[list[list[int]], dict[str, int]]:
    """Sentences as lists of numbers, and the numbers by word.

    Without a `vocab` every new word gets the next number from `start_label` on, `invalid_label` left out, which is that
    of `invalid_key`. With one, new words are the `unknown_token`, which gets a number where it has none (MXNet 1.9.1
    gives it another for each of them); raises AssertionError if there is none.
    """
    replaced = None if vocab is None else unknown_token
    grows = vocab is None or unknown_token is not None
    vocab = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    encoded = []
    for sentence in sentences:
        coded = []
        for word in sentence:
            known = word if word in vocab or replaced is None else replaced
            if known not in vocab:
                if not grows:
                    raise AssertionError(f"{word!r} is not in the vocabulary, and no unknown_token is stated")
                following += following == invalid_label
                vocab[known] = following
                following += 1
            coded.append(vocab[known])
        encoded.append(coded)
    return encoded, vocab


class BucketSentenceIter(DataIter):
    """Batches of sentences of about one length; the label of a word is the next one.

    Sentences are padded with `invalid_label` to the next of the `buckets`, by default the lengths that at least a
    batch of sentences has; longer ones are left out. Shuffled by Python's and numpy's generators, as MXNet does.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ValueError(f"the layout is {layout!r}, expected NT (batch first) or TN (time first)")
        self.data_name, self.label_name, self.layout = data_name, label_name, layout
        self.dtype, self.invalid_label = dtype, invalid_label
        sizes = sorted(buckets or _common_lengths(sentences, batch_size))
        buckets_of_rows: list[list[Any]] = [[] for _ in sizes]
        discarded = 0
        for sentence in sentences:
            place = bisect.bisect_left(sizes, len(sentence))
            if place == len(sizes):
                discarded += 1
                continue
            row = np.full(sizes[place], invalid_label, dtype)
            row[: len(sentence)] = sentence
            buckets_of_rows[place].append(row)
        print(f"{discarded} sentences are longer than the largest bucket, {max(sizes, default=0)}, and are left out")
        self.buckets = [size for size, rows in zip(sizes, buckets_of_rows, strict=True) if rows]
        if not self.buckets:
            raise ValueError(f"no sentence fits a bucket of {sizes}: state buckets, or a smaller batch_size")
        self.data = [np.asarray(rows, dtype) for rows in buckets_of_rows if rows]
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._described(data_name, self.default_bucket_key)]
        self.provide_label = [self._described(label_name, self.default_bucket_key)]
        self.idx = [
            (place, row)
            for place, rows in enumerate(self.data)
            for row in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.reset()

    def reset(self) -> None:
        """Begin anew, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            np.random.shuffle(rows)
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(ndarray.array(rows, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration after the last."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        place, row = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (arrays[place][row : row + self.batch_size] for arrays in (self.nddata, self.ndlabel))
        if self.layout == "TN":
            data, label = data.T, label.T
        size = self.buckets[place]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=size,
            provide_data=[self._described(self.data_name, size)],
            provide_label=[self._described(self.label_name, size)],
        )

    def _described(self, name: str, size: int) -> DataDesc:
        shape = (self.batch_size, size) if self.layout == "NT" else (size, self.batch_size)
        return DataDesc(name, shape, layout=self.layout)


def _common_lengths(sentences: Sequence[Sequence[int]], batch_size: int) -> list[int]:
    counts = np.bincount([len(sentence) for sentence in sentences])
    return [length for length, count in enumerate(counts) if count >= batch_size]


__all__ = ["BucketSentenceIter", "encode_sentences"]
