"""`mx.callback`: what is called after a batch, for `score`: how fast it goes, how far it is, and the metric."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from graphir.converters.mxnet.mx.refusals import refused_name

do_checkpoint = refused_name("mx.callback.do_checkpoint")
module_checkpoint = refused_name("mx.callback.module_checkpoint")


class Speedometer:
    """Logs samples per second and the metric, every `frequent` batches."""

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self.tic: float | None = None
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        """Count a batch; `param` is a BatchEndParam."""
        count = param.nbatch
        if self.tic is None or count < self.last_count:
            self.tic = time.time()
        elif count % self.frequent == 0:
            speed = self.frequent * self.batch_size / max(time.time() - self.tic, sys.float_info.min)
            values = [] if param.eval_metric is None else param.eval_metric.get_name_value()
            if param.eval_metric is not None and self.auto_reset:
                param.eval_metric.reset()
            text = "".join(f"\t{name}={value:f}" for name, value in values)
            logging.info("Epoch[%d] Batch [%d]\tSpeed: %.2f samples/sec%s", param.epoch, count, speed, text)
            self.tic = time.time()
        self.last_count = count


class ProgressBar:
    """Logs a bar of so many signs, full after `total` batches."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.total, self.bar_len = total, length

    def __call__(self, param: Any) -> None:
        """Count a batch; `param` is a BatchEndParam."""
        filled = round(self.bar_len * param.nbatch / float(self.total))
        percents = math.ceil(100.0 * param.nbatch / float(self.total))
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), percents, "%")


class LogValidationMetricsCallback:
    """Logs the metric at the end of a validation."""

    def __call__(self, param: Any) -> None:
        """Log the metric; `param` is a BatchEndParam."""
        for name, value in param.eval_metric.get_name_value() if param.eval_metric else ():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a function that logs the metric every `period` batches."""

    def log(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset()

    return log


__all__ = ["LogValidationMetricsCallback", "ProgressBar", "Speedometer", "log_train_metric"]
