"""Which nodes of a model run on which provider of onnxruntime."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphir.errors import ProviderError
from graphir.safety.json_text import read_json
from graphir.structure.record import record

from .providers import PROVIDERS


def check_running(wanted: Sequence[str], running: Sequence[str], placement: dict[str, int] | None) -> None:
    """Raise ProviderError for a provider that was asked for and did not start, or if the first runs no node."""
    if not wanted:  # falling back was allowed
        return
    lost = [name for name in wanted if name not in running]
    if lost:
        raise ProviderError(
            f"{', '.join(lost)} was asked for but did not start (running: {', '.join(running)}); "
            "check the device, its driver and its libraries"
        )
    if not placement:
        return
    first = wanted[0]
    if first != PROVIDERS["cpu"] and first not in placement:
        shown = ", ".join(f"{count} on {name}" for name, count in placement.items())
        raise ProviderError(f"{first} was asked for but runs no node of the model ({shown})")


@record
class PlacedNode:
    """A node as onnxruntime runs it, after its optimisations: its name, which may be empty, its operator (with a domain
    that is not ONNX's) and the provider that it was assigned to."""

    name: str
    operator: str
    provider: str


class Placement:
    """Which nodes run on which provider, from onnxruntime's record of the assignment or, where there is none (before
    version 1.24 or so) or it is not to be `recorded` (of a provider that it does not list), from the profile of a run.
    """

    def __init__(self, runtime: Any, options: Any, *, recorded: bool = True) -> None:
        self._recorded = recorded and hasattr(runtime.InferenceSession, "get_provider_graph_assignment_info")
        self._nodes: list[PlacedNode] | None = None
        if self._recorded:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="graphir-", ignore_cleanup_errors=True)
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(self._folder.name, "profile")

    def at_start(self, session: Any) -> dict[str, int] | None:
        """Return the counts, None if they are known only after a run."""
        if self._recorded and self._nodes is None:
            self._nodes = [
                PlacedNode(node.name, f"{node.domain}.{node.op_type}".removeprefix("."), part.ep_name)
                for part in session.get_provider_graph_assignment_info()
                for node in part.get_nodes()
            ]
        return None if self._nodes is None else _count_providers(self._nodes)

    def after_run(self, session: Any) -> dict[str, int]:
        """Return the counts. Raises ProviderError if there was no run to learn them from."""
        if self._nodes is None:
            nodes: dict[tuple[str, str], PlacedNode] = {}
            for event in read_json(Path(session.end_profiling()).read_bytes()):
                about = event.get("args", {})
                provider = about.get("provider")
                if event.get("cat") == "Node" and provider:
                    name = event["name"].removesuffix("_kernel_time")
                    nodes[provider, name] = PlacedNode(name, about.get("op_name", ""), provider)
            if not nodes:
                raise ProviderError("this onnxruntime tells which provider runs what only after a run")
            self._nodes = list(nodes.values())
        return _count_providers(self._nodes)

    @property
    def is_known(self) -> bool:
        """Whether the counts are known."""
        return self._nodes is not None

    def nodes(self) -> list[PlacedNode]:
        """Return the nodes, once one of the others has counted them."""
        return list(self._nodes or ())


def _count_providers(nodes: Sequence[PlacedNode]) -> dict[str, int]:
    return dict(Counter(node.provider for node in nodes))
