"""The networks, a family a row."""

from __future__ import annotations

from tests.faults.builder import Network

from . import others, ports, sequences, vision

NETWORKS: dict[str, Network] = {
    network.name: network for network in (*vision.NETWORKS, *sequences.NETWORKS, *others.NETWORKS, *ports.NETWORKS)
}

__all__ = ["NETWORKS"]
