"""Batches of images from files: `mx.image.ImageIter` and `mx.io.ImageRecordIter`."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx import recordio
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.image.augmenters import Augmenter, CreateAugmenter
from graphir.converters.mxnet.mx.image.functions import (
    _get_interp_method,
    copyMakeBorder,
    imdecode,
    imresize,
    resize_short,
)
from graphir.converters.mxnet.mx.io import DISCARD, PAD, ROLL_OVER, DataBatch, DataIter
from graphir.converters.mxnet.mx.io_files import FileName, MXDataIter
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.refusals import refuse_training


class SkippedImage(RuntimeError):
    """An image that is left out of batches, as MXNet leaves it out."""


class ImageIter(DataIter):
    """Batches (N, C, H, W) of images, each changed by `aug_list`, by default `CreateAugmenter(data_shape, **kwargs)`.

    Images come from a file of records, or from a list: a file of lines `number label... path`, or `imglist` of labels
    and paths, below `path_root`. A last batch that is not full is filled with the first images (`pad`), left out
    (`discard`), or the first of the next round (`roll_over`).
    """

    FILLED_WITH = 0.0

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
        if last_batch_handle not in (PAD, DISCARD, ROLL_OVER):
            raise ValueError(f"last_batch_handle is {last_batch_handle!r}, expected pad, discard or roll_over")
        self._rolled: list[tuple[Any, Any]] | None = None
        self._is_over = False
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
        label_shape: tuple[int, ...] = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [(label_name, label_shape)]
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a new order under `shuffle`; behind the images that `roll_over` took for the next batch."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self._rolled is None:
            self._rewind()
            self._is_over = False

    def hard_reset(self) -> None:
        """Begin anew without the images that `roll_over` left."""
        self._rolled = None
        self.reset()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0

    def next_sample(self) -> tuple[Any, bytes]:
        """Return the label and the file's bytes of the next image. Raises StopIteration at the end, behind which the
        first image comes."""
        if self._is_over:
            raise StopIteration
        record = self.imgrec.read() if self.seq is None else None
        if record is None if self.seq is None else self.cur >= len(self.seq):
            if self.last_batch_handle != DISCARD:
                self._rewind()
            raise StopIteration
        if self.seq is None:
            header, content = recordio.unpack(record or b"")
            return header.label, content
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, name = self.imglist[key]
            return label, self.read_image(name)
        header, content = recordio.unpack(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self.imglist[key][0]), content

    def row_of(self, label: Any, image: NDArray) -> tuple[Any, Any]:
        """Return an image (C, H, W) after all augmenters, and its label. Raises SkippedImage for one to leave out."""
        label = np.asarray(label, np.float32).reshape(self.provide_label[0][1][1:])
        return self.augmentation_transform(image).asnumpy().transpose(2, 0, 1), label

    def _rows(self, count: int) -> list[tuple[Any, Any]]:
        """Return the next images and labels, fewer at the end."""
        rows: list[tuple[Any, Any]] = []
        while len(rows) < count:
            try:
                label, content = self.next_sample()
                rows.append(self.row_of(label, self.imdecode(content)))
            except SkippedImage:
                continue
            except StopIteration:
                break
        return rows

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end."""
        is_rolled = self._rolled is not None
        rows, self._rolled = self._rolled or self._rows(self.batch_size), None
        missing = self.batch_size - len(rows)
        if not rows or (missing and self.last_batch_handle == DISCARD):
            raise StopIteration
        if missing and self.last_batch_handle == ROLL_OVER and not is_rolled:
            self._rolled = rows
            raise StopIteration
        if missing:
            rows += self._rows(missing)
            self._is_over = self.last_batch_handle == PAD
        data = np.zeros(self.provide_data[0][1], self.dtype)
        if rows[0][0].shape != data.shape[1:]:
            raise MXNetError(f"an image of {rows[0][0].shape} is no part of a batch of {data.shape}")
        labels = np.full(self.provide_label[0][1], self.FILLED_WITH, np.float32)
        for index, (image, label) in enumerate(rows):
            data[index], labels[index] = image, label
        return DataBatch([NDArray(data)], [NDArray(labels)], pad=missing)

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise ValueError for what is no shape of images with three channels."""
        if len(data_shape) != 3:
            raise ValueError("data_shape should have length 3, with dimensions CxHxW")
        if data_shape[0] != 3:
            raise ValueError("This iterator expects inputs to have 3 channels.")

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


BANDS = "rgba"
IGNORED = frozenset((
    "ctx", "data_name", "device_id", "dtype", "label_name", "path_imgidx", "path_imglist", "prefetch_buffer",
    "preprocess_threads", "seed", "seed_aug", "shuffle_chunk_seed", "shuffle_chunk_size", "verbose",
)) | {f"{kind}_{band}" for kind in ("mean", "std") for band in BANDS}  # fmt: skip
NEUTRAL = {"max_random_contrast": 0, "max_random_scale": 1, "min_random_scale": 1, "max_random_illumination": 0,
           "max_crop_size": -1, "min_crop_size": -1, "rotate": -1, "max_img_size": 1e10, "min_img_size": 0,
           "random_resized_crop": False, "mirror": False, "mean_img": ""}  # fmt: skip
"""What may be stated with this value only, beside what else is 0 by default (max_rotate_angle, random_h, ...)."""


class ImageRecordIter(MXDataIter):
    """Batches (N, C, H, W) of a record file's images: resized, padded, cropped in the middle, normalized.

    `rand_crop`, `rand_mirror` and `shuffle` draw with Python's `random`, not as MXNet does. Raises TrainingError for
    other random changes of images, and for a file with a mean image.
    """

    DTYPE: Any = np.float32

    def __init__(
        self, path_imgrec: FileName, data_shape: Sequence[int], batch_size: int, label_width: int = 1,
        shuffle: bool = False, round_batch: bool = True, part_index: int = 0, num_parts: int = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._options: dict[str, Any] = {"resize": -1, "pad": 0, "fill_value": 255, "inter_method": 1, "scale": 1.0,
                         "rand_crop": False, "rand_mirror": False}  # fmt: skip
        for name, value in kwargs.items():
            if name not in self._options and name not in IGNORED and value and value != NEUTRAL.get(name):
                refuse_training(f"mx.io.ImageRecordIter with {name}={value}", "mx.image.ImageIter takes augmenters")
        self._options |= {name: value for name, value in kwargs.items() if name in self._options}
        self._shape, self._width, self._shuffles = tuple(data_shape), label_width, shuffle
        bands = BANDS[: self._shape[0]]
        self._mean = np.array([kwargs.get(f"mean_{band}", 0) for band in bands], np.float32)[:, None, None]
        std = np.array([kwargs.get(f"std_{band}", 1) for band in bands], np.float32)[:, None, None]
        self._factor = np.float32(self._options["scale"]) / std
        self._labels = _listed_labels(kwargs.get("path_imglist"))
        self._records = recordio.MXRecordIO(path_imgrec, "r")
        size = None if kwargs.get("path_imgidx") else self._records.size
        self._places = _part(_places(self._records), size, part_index, num_parts)
        names = kwargs.get("data_name", "data"), kwargs.get("label_name", "softmax_label")
        label_shape = (label_width,) if label_width > 1 else ()
        described = (names[0], self._shape, self.DTYPE), (names[1], label_shape, np.float32)
        super().__init__(len(self._places), batch_size, described, round_batch)
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a new order under `shuffle`."""
        super().reset()
        if self._shuffles:
            random.shuffle(self._places)

    def getindex(self) -> Any:
        """Return zeros, as MXNet's iterator does."""
        return np.zeros(self.batch_size, np.uint64)

    def rows_of(self, rows: NumpyArray[np.int64]) -> tuple[Any, Any]:
        """Return images and labels of these rows. Raises MXNetError for labels of another width."""
        data = np.zeros((len(rows), *self._shape), self.DTYPE)
        labels = np.zeros((len(rows), self._width), np.float32)
        for place, row in enumerate(rows):
            self._records._file.seek(self._places[row])
            header, content = recordio.unpack(self._records.read() or b"")
            label = np.atleast_1d(self._labels.get(header.id, header.label))
            if label.size != self._width:
                raise MXNetError(f"a record has {label.size} labels, label_width is {self._width}")
            labels[place] = label
            data[place] = self._normalized(np.asarray(self._sized(imdecode(content, int(self._shape[0] > 1)))))
        return data, labels if self._width > 1 else labels[:, 0]

    def _normalized(self, pixels: Any) -> Any:
        image = pixels.transpose(2, 0, 1)
        if self._options["rand_mirror"] and random.random() < 0.5:
            image = image[:, :, ::-1]
        if self.DTYPE is not np.float32:
            return image
        return (image.astype(np.float32) - self._mean) * self._factor

    def _sized(self, image: NDArray) -> NDArray:
        """Return the image at the size of the data: one that is too small is made larger, and then cut."""
        options, (_, height, width) = self._options, self._shape
        if options["resize"] > 0:
            image = resize_short(image, options["resize"], options["inter_method"])
        if options["pad"]:
            top = bottom = left = right = options["pad"]
            image = copyMakeBorder(image, top, bottom, left, right, 0, options["fill_value"])
        if image.shape[0] < height:
            image = self._resized(image, height, int(np.float32(height) / image.shape[0] * image.shape[1]))
        if image.shape[1] < width:
            image = self._resized(image, int(np.float32(width) / image.shape[1] * image.shape[0]), width)
        rest = image.shape[0] - height, image.shape[1] - width
        top, left = (random.randint(0, size) if options["rand_crop"] else size // 2 for size in rest)
        return image[top : top + height, left : left + width]

    def _resized(self, image: NDArray, height: int, width: int) -> NDArray:
        sizes = (*image.shape[:2], height, width)
        return imresize(image, width, height, interp=_get_interp_method(self._options["inter_method"], sizes))


class ImageRecordUInt8Iter(ImageRecordIter):
    """The same images as uint8, which are not normalized."""

    DTYPE = np.uint8


def _listed_labels(path: FileName | None) -> dict[int, Any]:
    if not path:
        return {}
    rows = [line.split("\t") for line in Path(path).read_text().splitlines()]
    return {int(row[0]): np.array(row[1:-1], np.float32) for row in rows}


def _places(records: recordio.MXRecordIO) -> list[int]:
    """Return where each record of a file begins."""
    places = [records.tell()]
    while records.read() is not None:
        places.append(records.tell())
    return places[:-1]


def _part(places: list[int], size: int | None, index: int, count: int) -> list[int]:
    """Return those of a part of a file: of equal bytes where its size is given, else of equal counts."""
    if size is None:
        step = -(-len(places) // count)
        return places[index * step : (index + 1) * step]
    step = -(-size // count) + 3 & ~3
    return [place for place in places if index * step <= place < (index + 1) * step]

__all__ = ["ImageIter", "ImageRecordIter", "ImageRecordUInt8Iter"]
