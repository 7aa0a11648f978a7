"""What the facade does not do, said by one error that names what does."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import NoReturn

from graphir.errors import GraphirError

INSTEAD = (
    "graphir.converters.mxnet.mx runs networks and does not train them: train with MXNet itself, or write the network "
    "as ONNX (mx.onnx.export_model, graphir convert) and train it elsewhere"
)


class TrainingError(GraphirError, NotImplementedError, AttributeError):
    """Something that only training needs was asked for. Its text names what to use instead.

    It is an AttributeError too, so that `hasattr` answers no for what is not here.
    """


def refuse_training(what: str, hint: str = "") -> NoReturn:
    """Raise TrainingError for `what`, a name as scripts write it; `hint` is a way of its own that is left."""
    raise TrainingError(f"{what} is not here: {hint + '; ' if hint else ''}{INSTEAD}")


class TrainingModule(ModuleType):
    """A module of MXNet of which nothing is here: it can be imported, and each of its names raises TrainingError."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        refuse_training(f"{self.__name__}.{name}")


TRAINING_MODULES = frozenset(
    (
        "callback",
        "executor_manager",
        "kv",
        "kvstore",
        "kvstore_server",
        "lr_scheduler",
        "opt",
        "optimizer",
        "profiler",
    )
)
"""The parts of MXNet that serve training only."""


@cache
def training_module(name: str) -> TrainingModule:
    """A part of MXNet that is not here, by its name below `mx`."""
    return TrainingModule(f"mx.{name}")


__all__ = ["INSTEAD", "TRAINING_MODULES", "TrainingError", "TrainingModule", "refuse_training", "training_module"]
