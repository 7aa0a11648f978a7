"""`mx.viz` and `mx.visualization`: what shows a symbol."""

from __future__ import annotations

from graphir.converters.mxnet.mx.visualization.network import plot_network

__all__ = ["plot_network"]
