"""`graphir.padding` is the audit of a model's padding, and holds what `graphir.pads` has: `Explicit`, `Same`, ...

A module of this name cannot be a function for `help`, and a function cannot be imported from: the function takes the
module's place among the imported ones, with these names as its attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from . import pads
from .pads import *  # noqa: F403 - the names of pads.__all__, all of them


def padding(
    model: Any,
    other: Any = None,
    *,
    shapes: Mapping[str, Any] | None = None,
    other_shapes: Mapping[str, Any] | None = None,
    format: str | None = None,
    limits: Any = None,
) -> Any:
    """Return what every convolution and pooling of a model pads, or where two models differ in it: the first is taken
    to be right, and each disagreement comes with what would mend the second.

    A model is a Graph or the path of one. `other_shapes` are those of the other model's inputs, `shapes` without them.
    Returns a report that prints well. Raises what `graphir.load` raises.
    """
    audit = import_module("graphir.inspection").padding
    return audit(model, other, shapes=shapes, other_shapes=other_shapes, format=format, limits=limits)


vars(padding).update({name: getattr(pads, name) for name in pads.__all__}, __file__=__file__, __spec__=__spec__)
sys.modules[__name__] = padding  # type: ignore[assignment]

__all__ = ["padding"]
__all__ += pads.__all__
