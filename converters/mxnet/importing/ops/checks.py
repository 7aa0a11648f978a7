"""What attributes must be before an import function reads them: the number of entries of tuples, and least values.

MXNet's registry tells only kinds. What MXNet checks when it runs, or what ends its process, is refused here by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graphir.converters.mxnet.importing.context import Imported, ImportFunction, ImportNode

Check = Callable[[ImportNode], None]


def entries(count: int, least: float | None, *names: str) -> Check:
    """Tuples of that many entries, each of at least `least` (None: of any size); the empty one states nothing."""

    def check(node: ImportNode) -> None:
        for name in names:
            result = node.attrs[name]
            if result and (len(result) != count or None in result):
                node.refuse(f"{name} {list(result)}, expected {count} entries")
            if result and least is not None and min(result) < least:
                node.refuse(f"{name} {list(result)}, expected entries of {least} or more")

    return check


def sizes_of_a_window(name: str, node: ImportNode) -> None:
    """Two sizes, which have no default."""
    result = node.attrs[name] or ()
    if len(result) != 2 or None in result or min(result) < 1:
        node.refuse(f"{name} {list(result)}, expected two sizes of 1 or more")


def at_least(least: int, *names: str) -> Check:
    """Numbers of at least `least`."""

    def check(node: ImportNode) -> None:
        for name in names:
            if node.attrs[name] < least:
                node.refuse(f"{name} {node.attrs[name]}, expected {least} or more")

    return check


def _cropped(node: ImportNode) -> None:
    """The size that is asked for counts without another input, the offset where nothing is centred."""
    if len(node) < 2:
        entries(2, 0, "h_w")(node)
    if not node.attrs["center_crop"]:
        entries(2, 0, "offset")(node)


def _grid(node: ImportNode) -> None:
    if node.attrs["transform_type"] == "affine":
        sizes_of_a_window("target_shape", node)


def _priors(node: ImportNode) -> None:
    entries(2, None, "steps", "offsets")(node)
    if min(node.attrs["ratios"], default=1) <= 0:
        node.refuse(f"ratios {list(node.attrs['ratios'])}, expected numbers above 0")


def _full(node: ImportNode) -> None:
    shape = node.attrs["shape"]
    if shape is None or None in shape:
        node.refuse(f"shape {shape}, expected sizes")


def _roi_pooling(node: ImportNode) -> None:
    sizes_of_a_window("pooled_size", node)
    if node.attrs["spatial_scale"] <= 0:
        node.refuse(f"spatial_scale {node.attrs['spatial_scale']}, expected a number above 0")


def _norms_over_channels(node: ImportNode) -> None:
    attrs = node.attrs
    if attrs["nsize"] < 1 or attrs["alpha"] < 0 or attrs["beta"] < 0:
        node.refuse(
            f"nsize {attrs['nsize']}, alpha {attrs['alpha']}, beta {attrs['beta']}: ONNX's LRN takes a window of 1 or "
            "more and no negative numbers"
        )


CHECKS: dict[str, Check] = {
    **dict.fromkeys(
        ("_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
         "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"),
        at_least(1, "heads"),
    ),
    "RNN": at_least(1, "state_size", "num_layers"),
    "ROIPooling": _roi_pooling,
    "_contrib_ROIAlign": partial(sizes_of_a_window, "pooled_size"),
    "Crop": _cropped,
    "GridGenerator": _grid,
    "LRN": _norms_over_channels,
    "SpatialTransformer": _grid,
    "_contrib_MultiBoxPrior": _priors,
    "_contrib_box_nms": at_least(0, "overlap_thresh"),
    "_full": _full,
    "repeat": at_least(0, "repeats"),
}  # fmt: skip


def checked(name: str, function: ImportFunction) -> ImportFunction:
    """Return the import function behind the operator's check, if it has one."""
    check = CHECKS.get(name)
    if check is None:
        return function

    def import_checked(node: ImportNode) -> Imported:
        check(node)
        return function(node)

    return import_checked
