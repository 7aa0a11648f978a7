"""Whether what a graph holds of its values still is what its nodes say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.errors import GraphError, ShapeError
from graphir.ops.base import Known
from graphir.types import unify

from .fixpoint import Inference

if TYPE_CHECKING:
    from graphir.graph import Graph


def check_types(graph: Graph) -> None:
    """Infer every type and every known element anew, and compare them with what is stored; the graph stays as it is.

    What is stored may say more than the rules do (a source declared it, or it follows from the users), but nothing
    else. Raises GraphError naming the node, the value and both sides. Subgraphs are included. Linear in nodes.
    """
    run = Inference(graph, stored=True)
    try:
        run.run()
    except ShapeError as error:
        raise GraphError(f"types contradict each other: {error}") from error
    for value, type_ in run.types.items():
        if value.type is not type_:
            try:
                unify(value.type, type_)
            except ShapeError as error:
                raise GraphError(f"{value.name} is held to be {value.type}, but is inferred to be {type_}") from error
    for value, elements in run.known.items():
        if elements is not None and value.known is not None and not _agree(elements, value.known):
            raise GraphError(
                f"{value.name} is held to be {_shown(value.known)}, but is inferred to be {_shown(elements)}; "
                f"infer the graph's types again after a change of what it is made from"
            )


def _agree(left: Known, right: Known) -> bool:
    """Return whether two statements about a tensor's elements can both hold: numbers that differ cannot."""
    if left.shape != right.shape:
        return False
    pairs = zip(left.elements, right.elements, strict=True)
    return all(a == b or not (isinstance(a, int | float) and isinstance(b, int | float)) for a, b in pairs)


def _shown(known: Known) -> str:
    return f"[{', '.join(map(str, known.elements[:16]))}{', ...' if len(known.elements) > 16 else ''}]"
