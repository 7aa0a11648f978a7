"""A copy of a graph: what it holds is taken over as it is, with nothing checked or inferred anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from graphir.node import Node, Value

if TYPE_CHECKING:
    from graphir.graph import Graph

Images = dict[Value, Value]
Held = TypeVar("Held")


def clone(graph: Graph) -> Graph:
    """Return the same graph again: names, order, types, decisions, metadata, provenance and subgraphs. Linear.

    Tensors are shared, not copied, and what is known of types is taken over, not inferred anew. A subgraph's copy has
    the same graph around it and uses the same values of that.
    """
    return clone_into(graph, graph.parent, {})


def clone_into(
    graph: Graph, parent: Graph | None, images: Images, rename: Callable[[str], str] | None = None
) -> Graph:
    """Return a copy that stands inside `parent`, uses `images` of values from around it and gives its values other
    names.

    Values without an image stay themselves. `images` gains those of all values in the copy.
    """
    copy = type(graph)(graph.name, parent=parent)
    copy.metadata = dict(graph.metadata)
    copy.decisions = list(graph.decisions)
    copy._counters = {} if rename else dict(graph._counters)
    for value in graph.values:
        images[value] = take_over(value, copy, rename(value.name) if rename else value.name)
    copy._inputs = [images[value] for value in graph.inputs]
    copy._parameters = dict.fromkeys(images[value] for value in graph.parameters)
    copy._constants = {
        key: (images[value], tensor) for key, (value, tensor) in graph._constants.items() if value in images
    }
    for node in graph.nodes:
        clone_node(node, copy, images, rename)
    copy.set_outputs([images.get(value, value) for value in graph.outputs])
    return copy


def take_over(value: Value, copy: Graph, name: str) -> Value:
    """Return what a value of another graph is in `copy`, under a name that is free there; what it is there for is not
    set."""
    image = copy._values[name] = Value(copy, name, value.type)
    image.declared, image.known, image.tensor = value.declared, value.known, value.tensor
    image._index, image.sources = value.index, value.sources
    return image


def clone_node(node: Node, copy: Graph, images: Images, rename: Callable[[str], str] | None = None) -> None:
    """Add the same node at the end of `copy`, where all that it uses and its results have their images already."""
    operands = tuple([images.get(value, value) if value is not None else None for value in node.inputs])
    image = Node(copy, node.op, operands, node.name)
    if node.subgraphs:
        image._subgraphs = tuple([clone_into(inner, copy, images, rename) for inner in node.subgraphs])
    copy._link(image, None)
    for slot, operand in enumerate(operands):
        if operand is not None:
            operand._uses[image, slot] = None
    image._outputs = tuple([images[value] for value in node.outputs])
    for value in image.outputs:
        value._producer = image


def of_images(entries: Mapping[Value, Held], images: Images) -> dict[Value, Held]:
    """Return what is held of values, held of their images."""
    return {images.get(value, value): entry for value, entry in entries.items()}
