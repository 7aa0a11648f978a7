"""Layers whose arguments are rows of a table, from which their signature is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock

REQUIRED = inspect.Parameter.empty


class Layer(HybridBlock):
    """A block that `ARGUMENTS` describes: each argument's name with its default, or REQUIRED, in MXNet's order.

    Every layer takes `prefix` and `params` besides. Raises TypeError for arguments that the layer does not take.
    """

    ARGUMENTS: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # None hides the signature of a layer from a class of the user that has a constructor
        cls.__signature__ = None if "__init__" in vars(cls) else _signature(cls.ARGUMENTS)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = _signature(self.ARGUMENTS).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from error
        bound.apply_defaults()
        prefix, params = (bound.arguments.pop(name) for name in ("prefix", "params"))
        arguments = SimpleNamespace(**bound.arguments)
        self._prepare(arguments)
        super().__init__(prefix=prefix, params=params)
        self._build(arguments)

    def _prepare(self, arguments: SimpleNamespace) -> None:
        """Check the arguments before the layer gets its name. Subclasses may define it."""

    def _build(self, arguments: SimpleNamespace) -> None:
        """Make the layer's attributes and parameters of its arguments. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define _build")


def _signature(arguments: Mapping[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = {**arguments, **{name: None for name in ("prefix", "params") if name not in arguments}}
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in rows.items()])
