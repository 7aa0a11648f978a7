"""The networks, a family a row."""

from __future__ import annotations

from tests.faults.builder import Network

from . import others, sequences, vision

NETWORKS: dict[str, Network] = {
    network.name: network for network in (*vision.NETWORKS, *sequences.NETWORKS, *others.NETWORKS)
}

__all__ = ["NETWORKS"]
