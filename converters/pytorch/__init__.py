"""PyTorch as a target: the text of a module that a person could have written, and its weights as safetensors.

Nothing here imports torch, but for the child process of `live`, which runs the module to verify it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphir.converters.pytorch.exporting.exporter import TorchModule
    from graphir.graph import Graph


def to_module(graph: Graph, *, name: str = "Net", training: bool = False) -> TorchModule:
    """Return a graph as the text of a torch module and the tensors of its state_dict.

    `name` is that of the class; with `training` Dropout stays. Raises UnsupportedOpError with every node
    that cannot be written for PyTorch.
    """
    from graphir.converters.pytorch.exporting.exporter import export_copy

    return export_copy(graph, name, training=training)


__all__ = ["to_module"]
