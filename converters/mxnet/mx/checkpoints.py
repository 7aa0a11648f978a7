"""Checkpoints: a symbol and its parameters under one prefix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphir.converters.mxnet.files.params import split_prefixes, write_params
from graphir.converters.mxnet.mx.base import mxnet_errors
from graphir.converters.mxnet.mx.ndarray import NDArray, tensor_of
from graphir.converters.mxnet.mx.ndarray import load as load_arrays
from graphir.converters.mxnet.mx.symbol import Symbol
from graphir.converters.mxnet.mx.symbol import load as load_symbol
from graphir.errors import FormatError

Params = dict[str, NDArray]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Params, Params]:
    """Return the symbol, the arguments and the auxiliary states of `prefix-symbol.json` and `prefix-EPOCH.params`.

    Raises FormatError.
    """
    arg_params, aux_params = load_params(prefix, epoch)
    return load_symbol(f"{prefix}-symbol.json"), arg_params, aux_params


def load_params(prefix: str, epoch: int) -> tuple[Params, Params]:
    """Return the arguments and the auxiliary states of `prefix-EPOCH.params`. Raises FormatError."""
    place = Path(f"{prefix}-{epoch:04d}.params")
    loaded = load_arrays(place)
    if not isinstance(loaded, dict):
        raise FormatError("its arrays have no names, expected arg:... and aux:...", path=place)
    arguments, states, _ = split_prefixes(loaded)
    return arguments, states


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, object],
    aux_params: Mapping[str, object],
    remove_amp_cast: bool = True,
) -> None:
    """Write `prefix-symbol.json`, if there is a symbol, and `prefix-EPOCH.params`. Raises MXNetError."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    arrays = {f"arg:{name}": array for name, array in arg_params.items()}
    arrays |= {f"aux:{name}": array for name, array in aux_params.items()}
    with mxnet_errors():
        write_params(f"{prefix}-{epoch:04d}.params", {name: tensor_of(array) for name, array in arrays.items()})
