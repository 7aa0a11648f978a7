"""Fingerprints of weights that do not see their layout: the same elements in any order of axes give the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphir.types import DType

if TYPE_CHECKING:
    from numpy import ndarray

    from graphir.tensor import Tensor

CHUNK = 1 << 18
ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def fingerprint(tensor: Tensor) -> tuple[str, int, int, int]:
    """dtype, number of elements, and two 64-bit sums over the mixed bits of the elements, in any order.

    Equal for tensors whose elements are the same, however often each comes, whatever the shape and the order of axes;
    different with near certainty for all others. -0 counts as 0. Holds one tensor at a time; linear in its elements.
    Raises what reading the tensor raises.
    """
    import numpy as np

    if tensor.dtype is DType.STRING:
        texts = sorted(str(element) for element in tensor.numpy().reshape(-1).tolist())
        return tensor.dtype.value, tensor.size, hash(tuple(texts)) & (2**64 - 1), 0
    flat = np.ascontiguousarray(tensor.numpy()).reshape(-1)
    sums = [0, 0]
    for start in range(0, flat.size, CHUNK):
        bits = _bits(flat[start : start + CHUNK])
        for index, odd in enumerate(ODD):
            sums[index] += int(_mixed(bits, odd).sum(dtype=np.uint64))
    return tensor.dtype.value, tensor.size, sums[0] & (2**64 - 1), sums[1] & (2**64 - 1)


def _bits(part: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """The elements' bits as 64-bit numbers."""
    import numpy as np

    if part.dtype.kind == "f":
        part = part + part.dtype.type(0)
    if part.dtype.itemsize == 16:
        halves = part.view(np.uint64).reshape(-1, 2)
        folded: ndarray[Any, Any] = _mixed(halves[:, 0], ODD[0]) + halves[:, 1]
        return folded
    bits: ndarray[Any, Any] = part.view(f"u{part.dtype.itemsize}").astype(np.uint64)
    return bits


def _mixed(bits: ndarray[Any, Any], odd: int) -> ndarray[Any, Any]:
    """Each number multiplied and folded, so that sums of mixed numbers do not meet by accident."""
    import numpy as np

    mixed = (bits + np.uint64(odd)) * np.uint64(odd)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


__all__ = ["fingerprint"]
