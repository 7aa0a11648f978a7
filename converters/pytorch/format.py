"""PyTorch's row in the table of formats: modules are written, not read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import Format, Judge, PathLike, Ready
from graphir.decisions import DecisionKind
from graphir.errors import ArgumentError

if TYPE_CHECKING:
    from graphir.converters.glance import Glance
    from graphir.converters.kernel.live import Live
    from graphir.converters.pytorch.exporting.exporter import TorchModule
    from graphir.graph import Graph

SUFFIX, WEIGHTS = ".py", ".safetensors"
LAYOUTS = ("NCHW",)


class PyTorchTarget:
    """`net.py`, and `net.safetensors` beside it. `origin` is what the file's first line says that it came from."""

    suffix = SUFFIX
    options: Mapping[str, tuple[type, ...]] = {
        "names": (str, os.PathLike), "origin": (str,), "training": (bool,), "layout": (str,),
    }  # fmt: skip
    runs = False

    def named(self, options: Mapping[str, Any]) -> str:
        """`PyTorch`."""
        return "PyTorch"

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the module and its weights."""
        return [path, weights_of(path)]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the module's text, counted by the operators that it was written from."""
        from graphir.analysis.contents import count_operators
        from graphir.converters.pytorch.exporting.exporter import export_copy
        from graphir.converters.pytorch.exporting.training import give_scores
        from graphir.converters.pytorch.files import write_files
        from graphir.passes.clone import clone
        from graphir.safety.collector import paused_collector

        training, layout = bool(options.get("training")), options.get("layout")
        if layout not in (None, *LAYOUTS):
            raise ArgumentError(f"layout={layout!r}: expected {' or '.join(map(repr, LAYOUTS))}")
        proven = clone(graph) if training else graph
        notes = give_scores(proven) if training else {}
        written, orders = proven, dict[str, tuple[int, ...]]()
        if layout:
            from graphir.converters.pytorch.exporting.borders import move_borders

            written, orders = move_borders(proven)
        kind = DecisionKind.LAYOUT
        decisions = [decision for decision in written.decisions if decision.kind is kind]
        notes |= {decision.node: f"{decision.node}: {decision.text}" for decision in decisions}
        origin = options.get("origin")
        with paused_collector():
            module = export_copy(written, training=training, notes=notes)
            text = module.text(f"{graph.name}, {f'converted from {origin}' if origin else 'written'} by graphir.")
        graph.decisions[:] = written.decisions
        tensors, names = module.tensors, options.get("names")
        write = partial(write_files, weights_of(path), tensors, lambda: module.names, names, (path, text))
        return Ready(
            count_operators(module.graph), write, "module",
            judges=partial(judges, text, module, orders), graph=module.graph, proven=proven if training else None,
        )  # fmt: skip


def weights_of(path: PathLike) -> str:
    """Return the file of weights beside a module's."""
    return os.fspath(path).removesuffix(SUFFIX) + WEIGHTS


def judges(
    text: str, module: TorchModule, orders: Mapping[str, tuple[int, ...]], against: str, live: Live | None
) -> list[Judge]:
    """Return torch in a child process, which runs the text that was written; `orders` are those of the source's axes in
    inputs and outputs that have another one. Raises VerificationError where no
    interpreter has it."""
    from graphir.converters.pytorch.live.process import LiveTorch, live_python

    python = live_python(live)
    return [Judge(partial(LiveTorch, text, module, python, live, orders))]


def recognizes(glance: Glance) -> bool:
    """Never: what a module computes is known by running it, which a file of a stranger's must not be."""
    return False


FORMAT = Format(
    name="pytorch",
    brand="PyTorch",
    title="PyTorch module and safetensors",
    recognizes=recognizes,
    target=PyTorchTarget(),
    live="PyTorch",
)
