"""Batches of images with their boxes: `mx.image.ImageDetIter`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.image.detection import Boxes, CreateDetAugmenter, DetAugmenter, are_boxes
from graphir.converters.mxnet.mx.image.iterator import ImageIter, SkippedImage
from graphir.converters.mxnet.mx.io import PAD
from graphir.converters.mxnet.mx.ndarray import NDArray


class ImageDetIter(ImageIter):
    """Batches of images and their boxes (N, most boxes of an image, numbers of a box), filled up with -1.

    The label of an image is the width of its header, the width of a box, more of the header, then the boxes. Images
    without a box that has an area are left out. Augmenters are `CreateDetAugmenter(data_shape, **kwargs)` by default.
    """

    FILLED_WITH = -1.0

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[DetAugmenter] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = PAD,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size=batch_size, data_shape=data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist,
            path_root=path_root, path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index, num_parts=num_parts,
            aug_list=[], imglist=imglist, data_name=data_name, label_name=label_name,
            last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist: Any = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """Return the most boxes that an image has, and the numbers of a box."""
        self.reset()
        most, width = 0, 0
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                break
            boxes = self._parse_label(label)
            most, width = max(most, len(boxes)), boxes.shape[1]
        self.reset()
        return most, width

    def _parse_label(self, label: Any) -> Boxes:
        """Return the boxes of a label that have an area. Raises SkippedImage where there is none."""
        raw = np.asarray(label).ravel()
        if raw.size < 7:
            raise SkippedImage(f"Label shape is invalid: {raw.shape}")
        header, width = int(raw[0]), int(raw[1])
        if width < 5 or (raw.size - header) % width:
            raise SkippedImage(f"Label shape {raw.shape} inconsistent with annotation width {width}.")
        boxes = raw[header:].reshape(-1, width)
        boxes = boxes[are_boxes(boxes)]
        if not len(boxes):
            raise SkippedImage("Encounter sample with no valid label.")
        return boxes

    def row_of(self, label: Any, image: NDArray) -> tuple[Any, Any]:
        """Return an image and its boxes after all augmenters. Raises SkippedImage for boxes that are none."""
        image, boxes = self.augmentation_transform(image, self._parse_label(label))
        if not (are_boxes(boxes) & (boxes[:, 0] >= 0)).any():
            raise SkippedImage("Invalid label occurs.")
        rows = np.full(self.label_shape, self.FILLED_WITH, np.float32)
        rows[: len(boxes)] = boxes
        return image.asnumpy().transpose(2, 0, 1), rows

    def augmentation_transform(self, data: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return an image and its boxes after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise ValueError for a shape of labels that these boxes do not fit into."""
        if len(label_shape) != 2:
            raise ValueError("label_shape should have length 2")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(
                f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            )
        if label_shape[1] != self.label_shape[1]:
            raise ValueError(f"label_shape object width inconsistent: {self.label_shape[1]} vs {label_shape[1]}.")

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Give batches another size of images, or room for more boxes."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = data_shape
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = label_shape

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this iterator and another one room for equally many boxes, and return the other one."""
        if not isinstance(it, ImageDetIter) or it.label_shape[1] != self.label_shape[1]:
            raise AssertionError("boxes of one width are synchronized with those of another ImageDetIter")
        most = max(self.label_shape[0], it.label_shape[0])
        for item in (self, it):
            item.reshape(None, (most, item.label_shape[1]))
        return it

__all__ = ["ImageDetIter"]
