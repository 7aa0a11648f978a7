"""`mx.libinfo`: the version. There is no library of MXNet to find."""

from __future__ import annotations

from graphir.converters.mxnet.mx import __version__


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise RuntimeError: there is no library of MXNet here."""
    raise RuntimeError(f"there is no {prefix}.so: graphir's MXNet has no library")


def find_include_path() -> str:
    """Raise RuntimeError: there are no headers of MXNet here."""
    raise RuntimeError("there are no headers: graphir's MXNet has no library")


__all__ = ["__version__", "find_include_path", "find_lib_path"]
