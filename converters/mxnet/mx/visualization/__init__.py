"""`mx.viz`: MXNet's two views of a symbol."""

from __future__ import annotations

from graphir.converters.mxnet.mx.visualization.network import plot_network
from graphir.converters.mxnet.mx.visualization.summary import print_summary

__all__ = ["plot_network", "print_summary"]
