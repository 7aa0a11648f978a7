"""The one place where a comparison leaves this process: it runs in a child, and a child that ends is a verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from graphir.converters.kernel.live import MEMORY, SECONDS, Live, raises
from graphir.graph import Graph
from graphir.runtime.providers import OutOfRuntimeMemory
from graphir.safety.isolation import Caps, RunEnded, forwarded, run_isolated
from graphir.safety.memory import machine_memory
from graphir.verification.options import ComparisonOptions
from graphir.verification.report import VerificationReport

T = TypeVar("T")


def compare_isolated(
    compare: Callable[[ComparisonOptions], VerificationReport], how: ComparisonOptions, reference: Any, candidate: Any
) -> VerificationReport:
    """Return the report of a comparison that runs in a child process.

    Where onnxruntime ends that process, takes too long for one run or more memory than there is, the report says so:
    nothing is proven. Raises what the comparison raises.
    """
    started = time.perf_counter()
    try:
        report = run_in_child(lambda: compare(replace(how, tell=forwarded(how.tell))), how, how.tell)
        report.seconds = time.perf_counter() - started
        return report
    except RunEnded as error:
        reason = f"{error}; {raises(SECONDS)}" if error.is_late else str(error)
    except OutOfRuntimeMemory as error:
        reason = f"out of memory: {error}; {raises(MEMORY)}"
    report = VerificationReport(_name(reference, "the reference"), _name(candidate, "the candidate"), {}, [])
    report.unproven.append(reason)
    report.seconds = time.perf_counter() - started
    return report


def run_in_child(function: Callable[[], T], how: ComparisonOptions, tell: Callable[[str], None] | None = None) -> T:
    """Return what the function returns, run in a child with the limits of a comparison. Raises RunEnded too.

    What the function passes to `forwarded(tell)` is reported in this process. onnxruntime has the limits stated
    for live frameworks; without them it has their time limit and the memory of the machine.
    """
    limits = (how.live or Live()).limits()
    is_stated = bool(os.environ.get(MEMORY)) or (how.live is not None and how.live.memory is not None)
    return run_isolated(function, Caps(limits.seconds, limits.memory if is_stated else machine_memory()), tell)


def _name(model: Any, role: str) -> str:
    """Return a model's path, or what it is to the comparison."""
    return role if isinstance(model, Graph | Mapping) else str(model)
