"""Functions of one number as MXNet's own operators."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import row, table
from graphir.converters.mxnet.exporting.ops.elementwise import unary
from graphir.ops.special_functions import ErfInv, Gamma, LogGamma

EXPORTS = table(row(ErfInv, unary("erfinv")), row(Gamma, unary("gamma")), row(LogGamma, unary("gammaln")))
