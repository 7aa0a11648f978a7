"""`mx.autograd`: what scripts ask while they predict. Nothing is recorded; what would record raises TrainingError."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from graphir.converters.mxnet.mx.refusals import refuse_training


def is_recording() -> bool:
    """Never."""
    return False


def is_training() -> bool:
    """Never."""
    return False


def set_recording(is_record: bool) -> bool:
    """What was before: False. Raises TrainingError to turn it on."""
    return refuse_training("mx.autograd.set_recording(True)") if is_record else False


def set_training(train_mode: bool) -> bool:
    """What was before: False. Raises TrainingError to turn it on."""
    return refuse_training("mx.autograd.set_training(True)") if train_mode else False


def pause(train_mode: bool = False) -> AbstractContextManager[None]:
    """A scope without recording, as all are here. Raises TrainingError for one that trains."""
    return refuse_training("mx.autograd.pause(train_mode=True)") if train_mode else nullcontext()


def predict_mode() -> AbstractContextManager[None]:
    """A scope that predicts, as all do here."""
    return nullcontext()


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_training(f"mx.autograd.{name}", "without it networks predict")


__all__ = ["is_recording", "is_training", "pause", "predict_mode", "set_recording", "set_training"]
