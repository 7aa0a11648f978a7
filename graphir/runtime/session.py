"""Sessions: an ONNX model run by onnxruntime, on the CPU or on CUDA, without silent fallbacks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from threading import RLock
from typing import Any

from numpy.typing import NDArray

from graphir.errors import DeviceLost, ProviderError, VerificationError
from graphir.safety.arguments import expect, expect_items, expect_mapping
from graphir.safety.foreign_text import listing
from graphir.safety.isolation import current_subject, forbid_forks, is_traced, step, subject
from graphir.types import DType

from .element_types import array_of, is_foreign, ort_value
from .inputs import dtype_of, fitted
from .machine import has_exact_8_bit_products
from .placement import PlacedNode, Placement, check_running
from .prepared import Prepared, device_of, prepared_binding, prepared_run
from .providers import (
    PROVIDERS,
    Choice,
    RunFailed,
    choose_providers,
    import_onnxruntime,
    provider_names,
    runtime_error,
    told_by,
)
from .shared_weights import EXTERNAL_FOLDER, InMemory, SharedWeights, add_external

# Operators of a newer opset than this may lack kernels that they had before.
RECENT = 18
# What onnxruntime says of an operator of a domain that it does not know.
UNREGISTERED = "is not a registered function/op"
# Options that are attributes of onnxruntime's SessionOptions, not entries of its table.
ATTRIBUTES = ("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "log_severity_level")
# x86 processors without VNNI add products of uint8 and int8 in pairs that saturate at int16; with this entry
# onnxruntime takes constant weights as uint8, which is exact, and up to four times slower where VNNI is exact anyway.
EXACT_8_BIT_PRODUCTS = "session.x64quantprecision"
# What it answers where two of them share a zero point.
SHARED_ZERO_POINT = "Attempt to replace the existing tensor"
# What sessions of a provider that runs in turn wait for.
TURN = RLock()


class OnnxSession:
    """An ONNX model ready to run.

    `model` is its bytes or its path, which goes to onnxruntime as it is, or an `InMemory`. `providers` is `auto`, a
    provider with its device and options (`cpu`, `cuda:1`, `openvino:CPU,num_of_threads=2`; see `parse_provider`) or
    a sequence of some. A provider that was asked for and cannot run is a ProviderError, never a fallback: when the
    session is made or, where onnxruntime tells it only then, at the first run; `session.providers` says which ones
    do run. What lets a device round float32 to less is off; for TF32, unless `tf32`.
    `optimize=False` turns onnxruntime's graph optimisations off. `external` is the folder of the external data that the
    bytes of a model name, or its weights, which the CPU reads where they lie, and whose pages may be dropped behind
    each run; `entries` are session options by onnxruntime's names. `parts` is asked for a model that
    onnxruntime refuses: given it, and what starts a session of a part on the CPU, it gives what runs it all, or None.
    """

    # Whether it is an error that the first provider runs no node.
    needs_nodes = True

    def __init__(
        self,
        model: bytes | str | os.PathLike[str] | InMemory,
        *,
        providers: str | Sequence[str] = "auto",
        optimize: bool = True,
        tf32: bool = False,
        threads: int = 0,
        external: str | os.PathLike[str] | SharedWeights | None = None,
        entries: Mapping[str, str] | None = None,
        parts: Callable[[str | bytes, Callable[[bytes], Any]], Any] | None = None,
    ) -> None:
        expect(model, (bytes, str, os.PathLike, InMemory), "the model", "the bytes of an ONNX model or a path")
        expect(threads, int, "threads")
        runtime = import_onnxruntime()
        chosen = choose_providers(providers, tf32=tf32)
        options = _session_options(runtime, optimize, threads, entries or {})
        self._shared = add_external(external, options, chosen, optimize=optimize)
        self._weights: list[Any] = model.share(runtime, options) if isinstance(model, InMemory) else []  # read by it
        self._placement = Placement(runtime, options, recorded=chosen[0].row.records)
        model = model.message if isinstance(model, InMemory) else model
        source = model if isinstance(model, bytes) else os.fspath(model)
        self._device = int(device) if (device := chosen[0].options.get("device_id", "0")).isdecimal() else 0
        self._device_words = chosen[0].device
        self._turn = TURN if chosen[0].row.runs_in_turn else nullcontext()
        self.computed: tuple[str, ...] = ()
        self._subject = current_subject()
        self._nodes = _runs_alone(runtime, options, source) if is_traced() else None
        self._start = partial(_start_session, runtime, source, options, chosen, providers == "auto")
        self._started: Any = None
        try:
            with self._turn, step("the start of"):
                self._started = self._start()
        except VerificationError as error:
            if parts is None or UNREGISTERED not in str(error):
                raise
            whole = parts(source, _on_cpu(runtime, options))
            if whole is None:
                raise
            self._started = whole
            self.computed = tuple(whole.computed)
            chosen = chosen[-1:] if providers == "auto" else chosen
        self.providers: tuple[str, ...] = tuple(self._session.get_providers())
        if len(self.providers) > 1:
            forbid_forks()
        self._asked = [] if providers == "auto" else [choice.row.runtime_name for choice in chosen]
        known = self._placement.at_start(self._session) if self.needs_nodes else None
        check_running(self._asked, self.providers, known)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        self.inputs = {item.name: tuple(item.shape) for item in inputs}
        self.outputs = tuple(item.name for item in outputs)
        self.aside: tuple[str, ...] = ()
        defaults: list[Any] = getattr(self._session, "get_overridable_initializers", list)()
        self.defaults = {item.name: tuple(item.shape) for item in defaults}
        self._dtypes = {item.name: dtype_of(item.type) for item in (*inputs, *outputs, *defaults)}
        self.input_dtypes = {
            name: None if self._dtypes[name] is None else self._dtypes[name].numpy()  # type: ignore[union-attr]
            for name in self.inputs
        }

    @property
    def _session(self) -> Any:
        """onnxruntime's session."""
        if self._started is None:
            with subject(self._subject), step("the start of"):
                self._started = self._start()
        return self._started

    def release(self) -> None:
        """Let onnxruntime's session on the CPU go, with the weights that it made of the model's; the next run starts it
        anew. Not for a model that draws: it would draw the same again."""
        if self.providers == (PROVIDERS["cpu"],) and not self.computed:
            self._started = None

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the model's file says of itself, by key; nothing of a model that runs in parts."""
        metadata: dict[str, str] = {} if self.computed else self._session.get_modelmeta().custom_metadata_map
        return metadata

    def put_aside(self, names: Sequence[str]) -> None:
        """Give these outputs only where they are named: they are none of the model's own."""
        self.aside = tuple(name for name in self.outputs if name in names)
        self.outputs = tuple(name for name in self.outputs if name not in names)

    def placement(self) -> dict[str, int]:
        """Return how many nodes run on which provider, as onnxruntime assigned them after its optimisations.

        Raises ProviderError where onnxruntime is too old to say so before the first run.
        """
        known = self._placement.at_start(self._session)
        if known is None:
            known = self._placement.after_run(self._session)
            check_running(self._asked, self.providers, known if self.needs_nodes else None)
        return dict(known)

    def nodes(self) -> list[PlacedNode]:
        """Return every node with the provider that runs it; none of a model with operators of plugins. Raises what
        `placement` raises."""
        if self.computed:
            return []  # a model in parts has a session for each, made when it is run
        if not self._placement.is_known:
            self.placement()
        return self._placement.nodes()

    def run(
        self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the outputs (all, or those named) by name.

        A feed of another dtype is converted where its values survive that. The weights that are `defaults` of inputs
        may be fed too. Raises VerificationError for feeds that do not fit, all missing and unknown ones listed, and for
        outputs that the model does not have.
        """
        names, arrays = self._check_run(feeds, outputs)
        if not names:
            return {}
        foreign = any(is_foreign(self._dtypes[name]) for name in (*names, *arrays))
        nodes = None if self._nodes is None else partial(self._nodes, arrays)
        try:
            with self._turn, subject(self._subject), step("the run of", nodes):
                results = self._run_foreign(names, arrays) if foreign else self._session.run(names, arrays)
        except VerificationError:
            raise
        except Exception as error:
            raise runtime_error("failed to run", error, self._device_words, self._subject, RunFailed) from error
        finally:
            if self._shared is not None:
                self._shared.drop_pages()
        if len(self.providers) > 1 and not self._placement.is_known:
            self.placement()
        return dict(zip(names, results, strict=True))

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run on arrays in the order of the inputs, or by their names: the only output, or a tuple of all of them.

        What numpy can make an array of is one; see `run` for names that are no Python names. Raises VerificationError
        as `run` does, and for more arrays than inputs.
        """
        if len(arrays) > len(self.inputs):
            raise VerificationError(
                f"the model has {len(self.inputs)} inputs ({', '.join(self.inputs) or 'none'}), "
                f"given were {len(arrays)} arrays"
            )
        feeds = dict(zip(self.inputs, arrays, strict=False))
        twice = [name for name in named if name in feeds]
        if twice:
            raise VerificationError(f"{', '.join(twice)}: given by position and by name")
        results = self.run(feeds | named)
        return next(iter(results.values())) if len(results) == 1 else tuple(results.values())

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name} {list(shape)}" for name, shape in self.inputs.items())
        return f"{type(self).__name__}({inputs} -> {', '.join(self.outputs)}; {', '.join(self.providers)})"

    def prepared(self, feeds: Mapping[str, NDArray[Any]], *, bound: bool | None = None) -> Prepared:
        """Return all outputs of these feeds, which are checked and converted once, not at each run.

        With `bound` they and the outputs are kept on the provider's device (None: if it is no CPU and that can be
        done). Raises VerificationError as `run` does, and for what cannot be bound: texts and what is no tensor.
        """
        names, arrays = self._check_run(feeds, None)
        provider = self.providers[0]
        unbound = [name for name in (*arrays, *names) if self._dtypes[name] in (None, DType.STRING)]
        if bound and unbound:
            raise VerificationError(f"onnxruntime binds tensors of numbers only, not {', '.join(unbound)}; turn it off")
        foreign = any(is_foreign(self._dtypes[name]) for name in (*names, *arrays))
        if foreign:
            value = import_onnxruntime().OrtValue
            arrays = {name: ort_value(value, array, self._dtypes[name]) for name, array in arrays.items()}
        if bound or (bound is None and not unbound and device_of(provider) != "cpu"):
            prepared = prepared_binding(self._session, names, arrays, (provider, self._device), foreign)
        else:
            prepared = prepared_run(self._session, names, arrays, foreign)
        prepared.device_words = self._device_words
        return prepared

    def _check_run(
        self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the names of the outputs that are asked for, and the feeds as the inputs want them."""
        feeds = expect_mapping(feeds, "the feeds")
        if outputs is not None:
            outputs = expect_items(outputs, str, "the outputs", "the name of an output")
        missing = [name for name in self.inputs if name not in feeds]
        unknown = [name for name in feeds if name not in self.inputs and name not in self.defaults]
        if missing or unknown:
            raise VerificationError(
                f"the model's inputs are {', '.join(self.inputs) or 'none'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            )
        names = list(dict.fromkeys(self.outputs if outputs is None else outputs))
        absent = [name for name in names if name not in self.outputs and name not in self.aside]
        if absent:
            raise VerificationError(
                f"the model has no output {', '.join(absent)}; its outputs are {', '.join(self.outputs) or 'none'}"
            )
        arrays: dict[str, Any] = {}
        for name, value in feeds.items():
            dtype = self._dtypes[name]
            shape = self.inputs[name] if name in self.inputs else self.defaults[name]
            arrays[name] = value if dtype is None else fitted(name, value, dtype, shape)
        self._refuse_deadly(arrays)
        return names, arrays

    def _refuse_deadly(self, arrays: Mapping[str, Any]) -> None:
        """Raise VerificationError for feeds without elements to a model with Einsum: of such operands onnxruntime
        divides by 0 in some equations, which ends the whole process."""
        empty = [name for name, array in arrays.items() if getattr(array, "size", 1) == 0]
        if not empty or self.computed:
            return
        self._placement.at_start(self._session)
        names = [node.name or "without a name" for node in self._placement.nodes() if node.operator == "Einsum"]
        if names:
            raise VerificationError(
                f"{', '.join(empty)}: no elements, and the model has Einsum ({listing(names)}): of operands without "
                "elements onnxruntime may end the process in a division by 0; feed one row or more"
            )

    def _run_foreign(self, names: Sequence[str], arrays: Mapping[str, Any]) -> list[Any]:
        """Return a run with dtypes that numpy lacks (bfloat16): they go in and out as bytes with onnxruntime's
        number."""
        value = import_onnxruntime().OrtValue
        feeds = {name: ort_value(value, array, self._dtypes[name]) for name, array in arrays.items()}
        return [
            array_of(result, self._dtypes[name])
            for name, result in zip(names, self._session.run_with_ort_values(list(names), feeds), strict=True)
        ]


def _on_cpu(runtime: Any, options: Any) -> Callable[[bytes], Any]:
    """Return what starts a session on the CPU with these options. Raises VerificationError for what onnxruntime
    refuses."""

    def start(model: bytes) -> Any:
        return _start_session(runtime, model, options, choose_providers("cpu"), False)

    return start


def _start_session(
    runtime: Any,
    source: str | bytes,
    options: Any,
    chosen: Sequence[Choice],
    may_fall_back: bool,
) -> Any:
    """Return the session. onnxruntime's own fallback, which only prints, is off: a provider that raises is a
    ProviderError if the CPU takes the model, unless falling back was asked for."""
    for choice in chosen:
        if choice.devices:
            options.add_provider_for_devices(choice.devices, dict(choice.options))
        else:
            for key, value in choice.entries.items():
                options.add_session_config_entry(key, value)
    with_options = [choice.named for choice in chosen if not choice.devices]
    first = chosen[0].row
    try:
        return _open(runtime, source, options, [] if chosen[0].devices else with_options)
    except Exception as error:
        refusal = runtime_error("refuses", error, chosen[0].device, current_subject())
        if isinstance(refusal, DeviceLost):
            raise refusal from error
        lacking = re.search(r"implementation for (\w+)\((\d+)\)", str(error))
        if lacking is not None and int(lacking[2]) > RECENT:
            refusal.add_note(
                f"onnxruntime {runtime.__version__} may have a kernel for an older {lacking[1]}: write opset "
                f"{int(lacking[2]) - 1}"
            )
        if "IR version" in str(error) or "opset" in str(error).lower():
            refusal.add_note(f"onnxruntime {runtime.__version__} may be too old for this opset: write a lower one")
        if first.name == "cpu":
            raise refusal from error
        try:
            on_cpu = _open(runtime, source, options, [PROVIDERS["cpu"]])
        except Exception:
            raise refusal from error
        if may_fall_back:
            return on_cpu
        raise ProviderError(f"{first.runtime_name} was asked for but did not start: {told_by(error)}") from error


def _session_options(runtime: Any, optimize: bool, threads: int, entries: Mapping[str, str]) -> Any:
    """Return onnxruntime's options of a session, `entries` last."""
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised, with the same text
    options.intra_op_num_threads = threads
    level = runtime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    options.add_session_config_entry(EXACT_8_BIT_PRODUCTS, "0" if has_exact_8_bit_products() else "1")
    for name, text in entries.items():
        if name == "graph_optimization_level":
            options.graph_optimization_level = getattr(level, text)
        elif name in ATTRIBUTES:
            setattr(options, name, type(getattr(options, name))(int(text)))
        else:
            options.add_session_config_entry(name, text)
    return options


def _open(runtime: Any, source: str | bytes, options: Any, providers: Sequence[Any]) -> Any:
    """Open a session. Weights that onnxruntime cannot take as uint8, since they share a zero point, stay int8."""
    try:
        return runtime.InferenceSession(source, options, providers=providers, enable_fallback=0)
    except Exception as error:
        if SHARED_ZERO_POINT not in str(error):
            raise
    options.add_session_config_entry(EXACT_8_BIT_PRODUCTS, "0")
    return runtime.InferenceSession(source, options, providers=providers, enable_fallback=0)


def _runs_alone(runtime: Any, options: Any, model: str | bytes) -> Callable[..., None]:
    """Return what runs the nodes of a model one by one, given feeds and `tell`; see `run_nodes`."""

    def run(feeds: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        from .node_by_node import run_nodes
        if not isinstance(model, bytes):
            options.add_session_config_entry(EXTERNAL_FOLDER, os.path.dirname(os.path.abspath(model)))
        opening = partial(runtime.InferenceSession, sess_options=options, providers=[PROVIDERS["cpu"]])
        run_nodes(model, feeds, opening, tell)

    return run


__all__ = ["PROVIDERS", "OnnxSession", "import_onnxruntime", "provider_names"]
