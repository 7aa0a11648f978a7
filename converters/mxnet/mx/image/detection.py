"""Augmenters of images with boxes, which move with the picture.

A box is a row: its class, then its left, top, right and bottom edge as parts of the image's width and height.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx import ndarray as nd
from graphir.converters.mxnet.mx.image.augmenters import (
    Augmenter,
    CastAug,
    ColorNormalizeAug,
    ForceResizeAug,
    ResizeAug,
    color_augmenters,
)
from graphir.converters.mxnet.mx.image.functions import copyMakeBorder, fixed_crop
from graphir.converters.mxnet.mx.ndarray import NDArray

Boxes = Any
Region = tuple[int, int, int, int]
Pair = Any
"""Two numbers, or one for both."""


class DetAugmenter(Augmenter):
    """A function of an image and its boxes."""

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return the changed image and boxes."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class DetBorrowAug(DetAugmenter):
    """An augmenter that moves nothing."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter) or isinstance(augmenter, DetAugmenter):
            raise TypeError("Borrowing from invalid Augmenter")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """Return the class's name and what the augmenter writes."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return the changed image and the boxes as they are."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, or with a probability none."""

    skip_prob: float

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        choices = list(aug_list) if isinstance(aug_list, list | tuple) else [aug_list]
        if not all(isinstance(augmenter, DetAugmenter) for augmenter in choices):
            raise ValueError("Allow DetAugmenter in list only")
        super().__init__(skip_prob=skip_prob)
        self.aug_list, self.skip_prob = choices, skip_prob if choices else 1

    def dumps(self) -> Any:
        """Return the class's name and what its augmenters write."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return what one of the augmenters gives."""
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """The image's mirror, with a probability."""

    p: float

    def __init__(self, p: float) -> None:
        super().__init__(p=p)

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return the image or its mirror; the boxes are changed themselves."""
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, 1], label[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return src, label


class _RandomRegion(DetAugmenter):
    """A region with a ratio and an area within bounds, by which the picture is cut or put on a larger one."""

    aspect_ratio_range: Any
    area_range: Any
    max_attempts: int
    least_area = 0.0

    def __init__(self, **kwargs: Any) -> None:
        for name in ("aspect_ratio_range", "area_range"):
            kwargs[name] = kwargs[name] if isinstance(kwargs[name], tuple | list) else (kwargs[name],) * 2
        super().__init__(**kwargs)
        ratio, area = self.aspect_ratio_range, self.area_range
        wrong = "area_range" if area[1] <= self.least_area or area[0] > area[1] else (
            "aspect_ratio_range" if ratio[0] > ratio[1] or ratio[0] <= 0 else "")  # fmt: skip
        self.enabled = not wrong
        if wrong:
            warnings.warn(f"Skip {type(self).__name__} due to invalid {wrong}: {kwargs[wrong]}", stacklevel=3)

    def proposed(self, height: int, width: int, attempt: Callable[[float, float, float], Any]) -> Any:
        """Return what the first attempt that gives something gives, for a ratio and bounds of the area; else None."""
        least, most = (part * height * width for part in self.area_range)
        for _ in range(self.max_attempts if self.enabled and height > 0 and width > 0 else 0):
            ratio = random.uniform(*self.aspect_ratio_range)
            result = attempt(ratio, least, most) if ratio > 0 else None
            if result is not None:
                return result
        return None


class DetRandomCropAug(_RandomRegion):
    """A part of the image that covers enough of a box; boxes of which too little is left go."""

    min_object_covered: float
    min_eject_coverage: float

    def __init__(
        self, min_object_covered: float = 0.1, aspect_ratio_range: Pair = (0.75, 1.33), area_range: Pair = (0.05, 1.0),
        min_eject_coverage: float = 0.3, max_attempts: int = 50,
    ) -> None:  # fmt: skip
        super().__init__(
            min_object_covered=min_object_covered, aspect_ratio_range=aspect_ratio_range, area_range=area_range,
            min_eject_coverage=min_eject_coverage, max_attempts=max_attempts,
        )  # fmt: skip

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return a part and its boxes, or both as they are where no part is fit."""
        height, width = src.shape[:2]

        def attempt(ratio: float, least: float, most: float) -> tuple[Region, Boxes] | None:
            region = _drawn_part(ratio, (least, most), height, width)
            is_fit = region is not None and self._covers(label, region, height, width)
            boxes = self._cut(label, region, height, width) if region is not None and is_fit else None
            return None if region is None or boxes is None else (region, boxes)

        result = self.proposed(height, width, attempt)
        return (src, label) if result is None else (fixed_crop(src, *result[0]), result[1])

    def _covers(self, label: Boxes, region: Region, height: int, width: int) -> bool:
        """Return whether a region covers enough of each box that it touches."""
        left, top, part_width, part_height = region
        if part_width * part_height < 2:
            return False
        areas = _areas(label[:, 1:])
        boxes, areas = label[areas * width * height > 2, 1:5], areas[areas * width * height > 2]
        edges = left / width, top / height, (left + part_width) / width, (top + part_height) / height
        inside = np.concatenate([np.maximum(boxes[:, :2], edges[:2]), np.minimum(boxes[:, 2:], edges[2:])], 1)
        shares = _areas(inside.astype(boxes.dtype)) / areas
        shares = shares[shares > 0]
        return shares.size > 0 and bool(shares.min() > self.min_object_covered)

    def _cut(self, label: Boxes, region: Region, height: int, width: int) -> Boxes | None:
        """Return the boxes of a region; None if none is left."""
        left, top, part_width, part_height = (
            size / whole for size, whole in zip(region, (width, height) * 2, strict=True)
        )
        boxes = label.copy()
        boxes[:, (1, 3)] = (boxes[:, (1, 3)] - left) / part_width
        boxes[:, (2, 4)] = (boxes[:, (2, 4)] - top) / part_height
        boxes[:, 1:5] = np.minimum(1, np.maximum(0, boxes[:, 1:5]))
        shares = _areas(boxes[:, 1:]) * part_width * part_height / _areas(label[:, 1:])
        boxes = boxes[are_boxes(boxes) & (shares > self.min_eject_coverage)]
        return boxes if len(boxes) else None


class DetRandomPadAug(_RandomRegion):
    """The image somewhere on a larger one of one color."""

    pad_val: Any
    least_area = 1.0

    def __init__(
        self, aspect_ratio_range: Pair = (0.75, 1.33), area_range: Pair = (1.0, 3.0), max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:  # fmt: skip
        super().__init__(
            aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts, pad_val=pad_val
        )

    def __call__(self, src: NDArray, label: Boxes) -> Any:  # type: ignore[override]
        """Return a larger image and its boxes, or both as they are where no size is fit."""
        height, width = src.shape[:2]

        def attempt(ratio: float, least: float, most: float) -> Region | None:
            return _drawn_whole(ratio, (least, most), height, width)

        region = self.proposed(height, width, attempt)
        if region is None:
            return src, label
        left, top, whole_width, whole_height = region
        boxes = label.copy()
        boxes[:, (1, 3)] = (boxes[:, (1, 3)] * width + left) / whole_width
        boxes[:, (2, 4)] = (boxes[:, (2, 4)] * height + top) / whole_height
        borders = top, whole_height - top - height, left, whole_width - left - width
        return copyMakeBorder(src, *borders, values=self.pad_val), boxes


def _drawn_part(ratio: float, areas: tuple[float, float], height: int, width: int) -> Region | None:
    """Return a region within an image, None if the one that is drawn does not fit."""
    least, most = areas
    new_height, highest = (round(math.sqrt(area / ratio)) for area in areas)
    if round(highest * ratio) > width:
        highest = int((width + 0.4999999) / ratio)
    highest = min(highest, height)
    new_height = min(new_height, highest)
    if new_height < highest:
        new_height = random.randint(new_height, highest)
    if new_height * round(new_height * ratio) < least:
        new_height += 1
    if new_height * round(new_height * ratio) > most:
        new_height -= 1
    new_width = round(new_height * ratio)
    if not (least <= new_width * new_height <= most and 0 <= new_width <= width and 0 <= new_height <= height):
        return None
    top = random.randint(0, height - new_height)
    return random.randint(0, width - new_width), top, new_width, new_height


def _drawn_whole(ratio: float, areas: tuple[float, float], height: int, width: int) -> Region | None:
    """Return the place of an image in a larger one, and the size of that; None if it is hardly larger."""
    new_height, highest = (round(math.sqrt(area / ratio)) for area in areas)
    if round(new_height * ratio) < width:
        new_height = int((width + 0.499999) / ratio)
    new_height = min(max(new_height, height), highest)
    if new_height < highest:
        new_height = random.randint(new_height, highest)
    new_width = round(new_height * ratio)
    if new_height - height < 2 or new_width - width < 2:
        return None
    top = random.randint(0, new_height - height)
    return random.randint(0, new_width - width), top, new_width, new_height


def _areas(edges: Boxes) -> Any:
    """Return the areas of boxes whose edges come first."""
    return np.maximum(0, edges[:, 3] - edges[:, 1]) * np.maximum(0, edges[:, 2] - edges[:, 0])


def are_boxes(boxes: Boxes) -> Any:
    """Return for each box whether it has an area."""
    return (boxes[:, 3] > boxes[:, 1]) & (boxes[:, 4] > boxes[:, 2])


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3, max_attempts: Any = 50, skip_prob: float = 0,
) -> DetRandomSelectAug:  # fmt: skip
    """Return a choice of crops: arguments that are lists have one entry for each of them, others hold for all."""
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    if any(len(values) not in (1, count) for values in lists):
        raise AssertionError(f"lists of {[len(values) for values in lists]} entries describe no crops together")
    rows = zip(*(values if len(values) == count else values * count for values in lists), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """Return the augmenters of a data shape (C, H, W). `mean` and `std` are True for those of ImageNet."""
    moving: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        moving.append(CreateMultiRandCropAugmenter(
            min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts, 1 - rand_crop
        ))  # fmt: skip
    moving += [DetHorizontalFlipAug(0.5)] if rand_mirror > 0 else []
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        moving.append(DetRandomSelectAug([pad], 1 - rand_pad))
    mean = np.array([123.68, 116.28, 103.53]) if mean is True else mean
    std = np.array([58.395, 57.12, 57.375]) if std is True else std
    coloring = [
        ForceResizeAug((data_shape[2], data_shape[1]), inter_method), CastAug(),
        *color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray),
        *([ColorNormalizeAug(mean, std)] if mean is not None or std is not None else []),
    ]  # fmt: skip
    return [*moving, *map(DetBorrowAug, coloring)]


__all__ = [
    "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug",
    "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug",
]  # fmt: skip
