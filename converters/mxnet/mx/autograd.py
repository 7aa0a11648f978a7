"""`mx.autograd`: what scripts ask while they predict. Nothing is recorded; what would record raises TrainingError."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from graphir.converters.mxnet.mx.refusals import refuse_training, refused_name


def is_recording() -> bool:
    """Never."""
    return False


def is_training() -> bool:
    """Never."""
    return False


def set_recording(is_record: bool) -> bool:
    """Return what was before: False. Raises TrainingError to turn it on."""
    return refuse_training("mx.autograd.set_recording(True)") if is_record else False


def set_training(train_mode: bool) -> bool:
    """Return what was before: False. Raises TrainingError to turn it on."""
    return refuse_training("mx.autograd.set_training(True)") if train_mode else False


def pause(train_mode: bool = False) -> AbstractContextManager[None]:
    """Return a scope without recording, as all are here. Raises TrainingError for one that trains."""
    return refuse_training("mx.autograd.pause(train_mode=True)") if train_mode else nullcontext()


def predict_mode() -> AbstractContextManager[None]:
    """Return a scope that predicts, as all do here."""
    return nullcontext()


TRAINING = frozenset(("Function", "backward", "get_symbol", "grad", "mark_variables", "record", "train_mode"))


def __getattr__(name: str) -> Any:
    if name in TRAINING:
        return refused_name(f"mx.autograd.{name}", "without it networks predict")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *TRAINING})


__all__ = ["is_recording", "is_training", "pause", "predict_mode", "set_recording", "set_training"]
