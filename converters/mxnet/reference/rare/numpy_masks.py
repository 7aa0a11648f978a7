"""Assignments to the elements that a mask chooses, in numpy."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require


def _chosen(attrs: Attributes, data: Array, mask: Array) -> tuple[slice | Array, ...]:
    start = int(attrs.get("start_axis") or 0)
    require(0 <= start <= data.ndim - mask.ndim, f"start_axis {start}")
    require(data.shape[start : start + mask.ndim] == mask.shape, f"a mask {mask.shape} for {data.shape}")
    return (*(slice(None),) * start, mask != 0)


def assign_scalar(attrs: Attributes, data: Array, mask: Array) -> Array:
    """The number, in the data's dtype, where the mask is not 0."""
    require(attrs.get("value") is not None, "no value")
    result = data.copy()
    result[_chosen(attrs, data, mask)] = as_c(float(attrs["value"]), data.dtype)
    return result


def assign_tensor(attrs: Attributes, data: Array, mask: Array, value: Array) -> Array:
    """The elements, in order, where the mask is not 0."""
    require(data.dtype == value.dtype, f"{data.dtype} and {value.dtype}")
    result = data.copy()
    result[_chosen(attrs, data, mask)] = value.reshape(()) if value.size == 1 else value
    return result


OPERATORS: Mapping[str, Reference] = {
    "_npi_boolean_mask_assign_scalar": assign_scalar,
    "_npi_boolean_mask_assign_tensor": assign_tensor,
}
