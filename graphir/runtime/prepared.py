"""A session with its feeds in place: what is called again and again does nothing but run the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .providers import TABLE, import_onnxruntime, runtime_error

# Where a provider keeps what is bound to it.
MEMORIES = {row.runtime_name: row.memory for row in TABLE}


class Prepared:
    """A model that is run on the same feeds whenever this is called.

    A call returns when every output is there. Where inputs and outputs are `bound` they stay on the `device`: a call
    moves nothing to it or from it, and ends when the device is done.
    """

    def __init__(
        self, session: Any, call: Callable[[], Any], fetch: Callable[[Any], list[Any]], device: str, bound: bool
    ) -> None:
        self._call = call
        self._fetch = fetch
        self.device = device
        self.bound = bound
        self.device_words = ""  # what an error calls the device that runs the model
        # The last to go: what is bound on a device is released by its session.
        self._session = session

    def __call__(self) -> Any:
        """Run the model and wait for its outputs, which are returned where they are not bound.

        Raises VerificationError if it fails, DeviceLost if the device is gone.
        """
        with self._named_errors():
            return self._call()

    def outputs(self) -> list[Any]:
        """Return the outputs of one more run, as arrays where onnxruntime gives them as such. Raises what a call
        raises: on a device that is gone runs that are bound do not fail, but nothing can be copied from it."""
        with self._named_errors():
            return self._fetch(self._call())

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise runtime_error("failed to run", error, self.device_words) from error


def device_of(provider: str) -> str:
    """Return the memory in which onnxruntime keeps what is bound to a provider, as it calls it: `cuda`, `webgpu`,
    `cpu`."""
    return MEMORIES.get(provider, "cpu")


def prepared_run(session: Any, names: Sequence[str], arrays: Mapping[str, Any], ort_values: bool = False) -> Prepared:
    """onnxruntime's own `run`: what it computes on a device is copied there and back in each call. With `ort_values`
    the arrays are OrtValues, and so are the results."""
    run = session.run_with_ort_values if ort_values else session.run
    feeds, wanted = dict(arrays), list(names)
    return Prepared(session, lambda: run(wanted, feeds), list, "cpu", False)


def prepared_binding(
    session: Any, names: Sequence[str], arrays: Mapping[str, Any], target: tuple[str, int], ort_values: bool = False
) -> Prepared:
    """Inputs on the provider's device before the first call, outputs left there; `target` is the provider with the
    number of its device. What is bound goes to the device of the node that reads it; `ort_values` says that the arrays
    are OrtValues."""
    device = device_of(target[0])
    number = target[1] if device != "cpu" else 0
    value = import_onnxruntime().OrtValue
    binding = session.io_binding()
    for name, array in arrays.items():
        binding.bind_ortvalue_input(name, array if ort_values else value.ortvalue_from_numpy(array))
    for name in names:
        binding.bind_output(name, device, number)

    def call() -> None:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    fetch = binding.get_outputs if ort_values else binding.copy_outputs_to_cpu
    return Prepared(session, call, lambda _: list(fetch()), device, True)
