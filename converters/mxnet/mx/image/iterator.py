"""`ImageIter`: batches of images from a list of files, or from a file of records."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import recordio
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.image.augmenters import Augmenter
from graphir.converters.mxnet.mx.image.create import CreateAugmenter
from graphir.converters.mxnet.mx.image.functions import imdecode
from graphir.converters.mxnet.mx.io import DISCARD, PAD, DataBatch, DataIter
from graphir.converters.mxnet.mx.ndarray import NDArray


class ImageIter(DataIter):
    """Batches (N, C, H, W) of images, each changed by `aug_list`, by default `CreateAugmenter(data_shape, **kwargs)`.

    Images come from a file of records, or from a list: a file of lines `number label... path`, or `imglist` of labels
    and paths, below `path_root`. A last batch that is not full is filled with its last images, or left out (`discard`).
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Augmenter] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = PAD,
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in (PAD, DISCARD):
            raise ValueError(f"last_batch_handle is {last_batch_handle!r}, expected pad or discard")
        self.imgrec: Any = None
        self.imglist: dict[Any, tuple[Any, str]] | None = None
        self.seq: list[Any] | None = None
        if path_imgrec:
            index = path_imgidx or f"{os.path.splitext(path_imgrec)[0]}.idx"
            is_indexed = os.path.isfile(index)
            self.imgrec = recordio.MXIndexedRecordIO(index, path_imgrec, "r") if is_indexed else (
                recordio.MXRecordIO(path_imgrec, "r"))  # fmt: skip
            self.seq = list(self.imgrec.keys) if is_indexed else None
        if path_imglist:
            rows = [line.strip().split("\t") for line in Path(path_imglist).read_text().splitlines()]
            self.imglist = {int(row[0]): (np.array(row[1:-1], np.float32), row[-1]) for row in rows}
        elif imglist is not None:
            self.imglist = {
                str(number): (np.array(np.atleast_1d(row[0]), np.float32), row[1])
                for number, row in enumerate(imglist, 1)
            }
        if self.imglist is not None and self.imgrec is None:
            self.seq = list(self.imglist)
        if self.imgrec is None and self.imglist is None:
            raise AssertionError("images come from path_imgrec, path_imglist or imglist; none is given")
        if num_parts > 1 and self.seq is not None:
            count = len(self.seq) // num_parts
            self.seq = self.seq[part_index * count : (part_index + 1) * count]
        self.path_root, self.shuffle, self.data_shape, self.label_width = path_root, shuffle, data_shape, label_width
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else list(aug_list)
        self.last_batch_handle, self.dtype, self.cur = last_batch_handle, dtype, 0
        self.provide_data = [(data_name, (batch_size, *data_shape))]
        label_shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [(label_name, label_shape)]
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a new order under `shuffle`."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0

    def next_sample(self) -> tuple[Any, bytes]:
        """Return the label and the file's bytes of the next image. Raises StopIteration at the end."""
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            header, content = recordio.unpack(record)
            return header.label, content
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, content = recordio.unpack(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self.imglist[key][0]), content

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end."""
        images: list[Any] = []
        labels: list[Any] = []
        while len(images) < self.batch_size:
            try:
                label, content = self.next_sample()
            except StopIteration:
                break
            images.append(self.augmentation_transform(self.imdecode(content)).asnumpy().transpose(2, 0, 1))
            labels.append(np.asarray(label, np.float32).reshape(self.provide_label[0][1][1:]))
        missing = self.batch_size - len(images)
        if not images or (missing and self.last_batch_handle == DISCARD):
            raise StopIteration
        data = np.zeros(self.provide_data[0][1], self.dtype)
        if images[0].shape != data.shape[1:]:
            raise MXNetError(f"an image of {images[0].shape} is no part of a batch of {data.shape}")
        label_rows = np.zeros(self.provide_label[0][1], np.float32)
        data[: len(images)], label_rows[: len(labels)] = images, labels
        return DataBatch([NDArray(data)], [NDArray(label_rows)], pad=missing)

    def imdecode(self, s: bytes) -> NDArray:
        """Return the image of a file's bytes."""
        return imdecode(s)

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of a file below `path_root`. Raises MXNetError for a file that cannot be read."""
        try:
            return Path(self.path_root or "", fname).read_bytes()
        except OSError as error:
            raise MXNetError(f"cannot read the image {fname}: {error}") from error

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """Return an image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data


__all__ = ["ImageIter"]
