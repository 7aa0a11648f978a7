"""Poolings as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class _Pooling(HybridBlock):
    """A maximum or mean over windows, which move by their own size unless `strides` say otherwise.

    With `ceil_mode` a last window that is not full counts too.
    """

    AXES = 0
    TYPE = "max"

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        layout: str,
        ceil_mode: bool = False,
        count_include_pad: bool | None = None,
        is_global: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        plain = LAYOUTS[self.AXES]
        last = plain[0] + plain[2:] + "C"
        if layout not in (plain, last):
            raise AssertionError(f"the layout is {layout}, expected {plain} or {last} of {self.AXES} axes")
        size = self._sizes("pool_size", pool_size)
        self._kwargs: dict[str, Any] = {
            "kernel": size,
            "stride": size if strides is None else self._sizes("strides", strides),
            "pad": self._sizes("padding", padding),
            "global_pool": is_global,
            "pool_type": self.TYPE,
            "pooling_convention": "full" if ceil_mode else "valid",
            "layout": layout,
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The windows' maxima or means."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def _alias(self) -> str:
        return "pool"

    def _sizes(self, what: str, given: Sizes) -> tuple[int, ...]:
        found = (given,) * self.AXES if isinstance(given, int) else tuple(given)
        if len(found) != self.AXES:
            raise AssertionError(f"{what} must be a number or a list of {self.AXES} ints, found {given!r}")
        return found

    def __repr__(self) -> str:
        held = self._kwargs
        return (
            f"{type(self).__name__}(size={held['kernel']}, stride={held['stride']}, padding={held['pad']}, "
            f"ceil_mode={held['pooling_convention'] == 'full'}, global_pool={held['global_pool']}, "
            f"pool_type={held['pool_type']}, layout={held['layout']})"
        )


class MaxPool1D(_Pooling):
    """Maxima over windows of [N, C, W]."""

    AXES = 1

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class MaxPool2D(_Pooling):
    """Maxima over windows of [N, C, H, W]."""

    AXES = 2

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class MaxPool3D(_Pooling):
    """Maxima over windows of [N, C, D, H, W]."""

    AXES = 3

    def __init__(
        self,
        pool_size: Sizes = (2, 2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class AvgPool1D(_Pooling):
    """Means over windows of [N, C, W]; with `count_include_pad` padding counts as zeros."""

    AXES, TYPE = 1, "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, count_include_pad, **kwargs)


class AvgPool2D(_Pooling):
    """Means over windows of [N, C, H, W]; with `count_include_pad` padding counts as zeros."""

    AXES, TYPE = 2, "avg"

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, count_include_pad, **kwargs)


class AvgPool3D(_Pooling):
    """Means over windows of [N, C, D, H, W]; with `count_include_pad` padding counts as zeros."""

    AXES, TYPE = 3, "avg"

    def __init__(
        self,
        pool_size: Sizes = (2, 2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, count_include_pad, **kwargs)


class _Global(_Pooling):
    """The maximum or mean of each channel."""

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        super().__init__(1, None, 0, layout or LAYOUTS[self.AXES], True, is_global=True, **kwargs)


class GlobalMaxPool1D(_Global):
    """The maximum of each channel of [N, C, W]."""

    AXES = 1


class GlobalMaxPool2D(_Global):
    """The maximum of each channel of [N, C, H, W]."""

    AXES = 2


class GlobalMaxPool3D(_Global):
    """The maximum of each channel of [N, C, D, H, W]."""

    AXES = 3


class GlobalAvgPool1D(_Global):
    """The mean of each channel of [N, C, W]."""

    AXES, TYPE = 1, "avg"


class GlobalAvgPool2D(_Global):
    """The mean of each channel of [N, C, H, W]."""

    AXES, TYPE = 2, "avg"


class GlobalAvgPool3D(_Global):
    """The mean of each channel of [N, C, D, H, W]."""

    AXES, TYPE = 3, "avg"


__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]
