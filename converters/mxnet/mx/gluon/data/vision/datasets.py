"""Sets of images: folders, records, and the well-known ones from their files, which are not downloaded."""

from __future__ import annotations

import gzip
import math
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.mx import image, recordio
from graphir.converters.mxnet.mx.base import MXNetError, data_dir
from graphir.converters.mxnet.mx.gluon.data.dataset import Dataset, RecordFileDataset, _DownloadedDataset
from graphir.converters.mxnet.mx.ndarray import array

Transform = Callable[..., Any] | None


class ImageRecordDataset(RecordFileDataset):
    """Images and labels of a file of records."""

    def __init__(self, filename: str, flag: int = 1, transform: Transform = None) -> None:
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx: int) -> Any:
        header, content = recordio.unpack(super().__getitem__(idx))
        picture = image.imdecode(content, self._flag)
        return (picture, header.label) if self._transform is None else self._transform(picture, header.label)


class ImageListDataset(Dataset):
    """Images below a folder, by a list of label and path, or a file of lines `number label... path`."""

    def __init__(self, root: str = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root, self._flag = os.path.expanduser(root), flag
        if isinstance(imglist, str):
            rows = [line.strip().split("\t") for line in Path(self._root, imglist).read_text().splitlines()]
            self._imglist = [(np.array(row[1:-1], np.float32), row[-1]) for row in rows]
        elif isinstance(imglist, list):
            self._imglist = [(np.array(np.atleast_1d(row[0]), np.float32), row[-1]) for row in imglist]
        else:
            raise ValueError(f"imglist must be filename or list of samples, but got {type(imglist)}")

    def __len__(self) -> int:
        return len(self._imglist)

    def __getitem__(self, idx: int) -> Any:
        label, path = self._imglist[idx]
        return image.imread(os.path.join(self._root, path), self._flag), label[0] if len(label) == 1 else label


class ImageFolderDataset(Dataset):
    """Images of a folder of folders, one for each class; `synsets` are their names."""

    def __init__(self, root: str, flag: int = 1, transform: Transform = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag, self._transform, self._exts = flag, transform, [".jpg", ".jpeg", ".png"]
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=3)
                continue
            for name in sorted(os.listdir(path)):
                ext = os.path.splitext(name)[1]
                if ext.lower() in self._exts:
                    self.items.append((os.path.join(path, name), len(self.synsets)))
                else:
                    warnings.warn(f"Ignoring {name} of type {ext}. Only support {', '.join(self._exts)}", stacklevel=3)
            self.synsets.append(folder)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, idx: int) -> Any:
        picture, label = image.imread(self.items[idx][0], self._flag), self.items[idx][1]
        return (picture, label) if self._transform is None else self._transform(picture, label)


class _LocalDataset(_DownloadedDataset):
    """Images and labels of files in `root`. Raises MXNetError for a file that is not there: nothing is downloaded."""

    FOLDER: ClassVar[str]

    def __init__(self, root: str | None = None, train: bool = True, transform: Transform = None) -> None:
        self._train = train
        super().__init__(root or os.path.join(data_dir(), "datasets", self.FOLDER), transform)

    def _content(self, name: str) -> bytes:
        path = Path(self._root, name)
        if not path.is_file():
            raise MXNetError(f"{path} is not there, and nothing is downloaded here: put the file into {self._root}")
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


class MNIST(_LocalDataset):
    """Digits (28, 28, 1) of `train-images-idx3-ubyte.gz` and its three neighbours."""

    FOLDER = "mnist"

    def _get_data(self) -> None:
        part = "train" if self._train else "t10k"
        label = self._array(f"{part}-labels-idx1-ubyte.gz", 1)
        self._label = label.astype(np.int32)
        self._data = array(self._array(f"{part}-images-idx3-ubyte.gz", 3)[..., None], dtype=np.uint8)

    def _array(self, name: str, axes: int) -> Array:
        content = self._content(name)
        head = 4 * (axes + 1)
        sizes = np.frombuffer(content[4:head], ">u4").tolist()
        if content[:4] != bytes((0, 0, 8, axes)) or len(sizes) != axes or math.prod(sizes) != len(content) - head:
            raise MXNetError(f"{Path(self._root, name)} is no file of bytes with {axes} axes")
        return np.frombuffer(content, np.uint8, offset=head).reshape(sizes)


class FashionMNIST(MNIST):
    """Clothes (28, 28, 1) in files named as those of MNIST."""

    FOLDER = "fashion-mnist"


class CIFAR10(_LocalDataset):
    """Pictures (32, 32, 3) of `data_batch_1.bin` to `data_batch_5.bin`, or `test_batch.bin`."""

    FOLDER = "cifar10"
    LABELS, COLUMN = 1, 0

    def _files(self) -> Sequence[str]:
        return [f"data_batch_{number}.bin" for number in range(1, 6)] if self._train else ["test_batch.bin"]

    def _get_data(self) -> None:
        content = b"".join(map(self._content, self._files()))
        row = self.LABELS + 3072
        if len(content) % row:
            raise MXNetError(f"the files in {self._root} hold {len(content)} bytes, expected rows of {row}")
        rows = np.frombuffer(content, np.uint8).reshape(-1, row)
        self._data = array(rows[:, self.LABELS :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), dtype=np.uint8)
        self._label = rows[:, self.COLUMN].astype(np.int32)


class CIFAR100(CIFAR10):
    """Pictures (32, 32, 3) of `train.bin` or `test.bin`, with 20 labels, or 100 `fine_label`s."""

    FOLDER, LABELS = "cifar100", 2

    def __init__(
        self, root: str | None = None, fine_label: bool = False, train: bool = True, transform: Transform = None
    ) -> None:
        self.COLUMN = int(fine_label)
        super().__init__(root, train, transform)

    def _files(self) -> Sequence[str]:
        return ["train.bin" if self._train else "test.bin"]


__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageListDataset",
           "ImageRecordDataset"]  # fmt: skip
