"""`mx.contrib.io`: the batches of a DataLoader as those of `mx.io`."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.io import DataDesc, DataIter
from graphir.converters.mxnet.mx.ndarray import NDArray, concatenate, zeros


class DataLoaderIter(DataIter):
    """Batches of pairs of data and label. A last one that is not full is filled with zeros."""

    def __init__(
        self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32"
    ) -> None:
        self._loader, self.dtype = loader, dtype
        self._batch: Any = None
        data, label = next(iter(loader))
        super().__init__(data.shape[0])
        self.provide_data = [DataDesc(data_name, data.shape, np.dtype(dtype))]
        self.provide_label = [DataDesc(label_name, label.shape, np.dtype(dtype))]
        self.reset()

    def reset(self) -> None:
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        self._batch = next(self._iter, None)
        return self._batch is not None

    def getdata(self) -> list[NDArray]:
        return [self._filled(self._batch[0])]

    def getlabel(self) -> list[NDArray]:
        return [self._filled(self._batch[1])]

    def getpad(self) -> int:
        """Return how many rows at the end of the batch are filled."""
        return int(self.batch_size - self._batch[0].shape[0])

    def _filled(self, rows: NDArray) -> NDArray:
        rows, missing = rows.astype(self.dtype), self.batch_size - rows.shape[0]
        return concatenate([rows, zeros((missing, *rows.shape[1:]), dtype=self.dtype)]) if missing else rows


__all__ = ["DataLoaderIter"]
