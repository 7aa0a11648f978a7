"""Every function of `mx.sym` against live MXNet's: what it composes of nothing, of symbols by name, and in order."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.mx.symbol.functions import lookup, place_of
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol
from graphir.converters.mxnet.schema.registry import operator_schema, registered_names
from tests.converters.mxnet.test_schema import generator, registry

__all__ = ["generator", "registry"]

NAMES = sorted(registered_names())
LIVE_MODULES = {"numpy": "numpy._op", "numpy_extension": "numpy_extension._op"}
WAYS = ("nothing", "by name", "in order")
# Operators that MXNet makes itself, which crash it without what belongs to them.
CRASHING = {"_NDArray", "_Native", "_sg_mkldnn_fully_connected", "reset_arrays"}
# Updates of many weights at once: training, whose repeated input names (`weight_0`, `weight_0`) are not made here.
FUSED_UPDATES = {
    "_multi_adamw_update", "_multi_lamb_update", "_multi_mp_adamw_update", "_multi_mp_lamb_update", "multi_all_finite",
    "multi_lars", "multi_mp_sgd_mom_update", "multi_mp_sgd_update", "multi_sgd_mom_update", "multi_sgd_update",
    "multi_sum_sq", "preloaded_multi_mp_sgd_mom_update", "preloaded_multi_mp_sgd_update",
    "preloaded_multi_sgd_mom_update", "preloaded_multi_sgd_update",
}  # fmt: skip
# What has inputs in place of parameters that are None: live MXNet drops them silently where they are not, we refuse.
SAMPLERS = {"_npi_bernoulli", "_npi_choice", "_npi_exponential", "_npi_gamma", "_npi_gumbel", "_npi_logistic",
            "_npi_normal", "_npi_normal_n", "_npi_rayleigh", "_npi_uniform", "_npi_uniform_n"}  # fmt: skip
# Operators on graphs of nodes, whose numbers of outputs MXNet alone knows.
SAMPLED_GRAPHS = {"_contrib_dgl_csr_neighbor_non_uniform_sample", "_contrib_dgl_csr_neighbor_uniform_sample"}
LEFT_OUT = CRASHING | FUSED_UPDATES | SAMPLED_GRAPHS


def composed(library: Any, function: Any, name: str, way: str, attributes: dict[str, str]) -> Any:
    """What the function composes in one of three ways, in a numbering of its own."""
    numpy_style = name.startswith("_np")

    def variable(called: str) -> Any:
        made = library.sym.var(called)
        return made.as_np_ndarray() if numpy_style else made

    arrays = operator_schema(registered_names()[name]).arrays
    variadic = any(array[0] == "*" for array in arrays)
    with library.name.NameManager():
        if way == "nothing":
            given = [variable(f"x{slot}") for slot in range(3)] if variadic else []
            return function(*given, name="n", **attributes)
        if way == "by name":
            called = ["arg0", "arg1"] if variadic else list(arrays[:2])
            return function(**{array: variable(f"v_{array}") for array in called}, **attributes)
        return function(*[variable(f"v_{array}") for array in arrays[:1] if array[0] != "*"], **attributes, __tag__="1")


def answers(library: Any, function: Any, name: str, way: str, attributes: dict[str, str]) -> Any:
    try:
        symbol = composed(library, function, name, way, attributes)
    except (RuntimeError, TypeError, AssertionError):
        return "refused"
    symbol = library.sym.Group(symbol) if isinstance(symbol, list) else symbol
    return {
        "arguments": symbol.list_arguments(),
        "states": symbol.list_auxiliary_states(),
        "outputs": symbol.list_outputs(),
        "text": symbol.tojson(),
        "listing": symbol.debug_str(),
    }


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", [name for name in NAMES if registered_names()[name] not in LEFT_OUT])
def test_composes_as_live_mxnet(name: str, mxnet: ModuleType, registry: Any, generator: ModuleType) -> None:
    module, called = place_of(name)
    ours = lookup(module, NumpySymbol if module.startswith("numpy") else mx.sym.Symbol)[0](called)
    theirs = getattr(importlib.import_module(f"mxnet.symbol.{LIVE_MODULES.get(module, module)}"), called)
    operator = registered_names()[name]
    attributes = generator.minimal_attributes(registry, operator)
    attributes.pop(registry.variadic.get(operator, ""), None)
    ways = WAYS[:1] if operator in SAMPLERS else WAYS
    found = {way: answers(mx, ours, name, way, attributes) for way in ways}
    assert found == {way: answers(mxnet, theirs, name, way, attributes) for way in ways}


@pytest.mark.live
@pytest.mark.parametrize("module", ["_internal", "contrib", "image", "linalg", "op", "random", "sparse"])
def test_modules_have_the_names_of_live_mxnet(module: str, mxnet: ModuleType) -> None:
    live = getattr(mxnet.sym, module)
    public = {name for name in vars(live) if callable(vars(live)[name]) and inspect.isfunction(vars(live)[name])
              and (vars(live)[name].__module__ or "").startswith("mxnet.symbol")}  # fmt: skip
    operators = {name for name in public if not name.startswith(("_backward", "backward", "_contrib_backward"))}
    assert sorted(operators - set(dir(getattr(mx.sym, module))) - PRIVATE) == []


# Helpers of live MXNet's modules, what they import from one another, and updates of weights.
PRIVATE = {
    "_random_helper", "_flatten", "_regroup", "_get_sym_uniq_name", "_get_graph_inputs", "_cut_subgraph",
    "_get_unique_subgraph_name", "_construct_subgraph", "_check_data", "uniform", "adamw_update",
    "mp_adamw_update",
}  # fmt: skip


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", NAMES)
def test_has_a_signature_and_a_description(name: str) -> None:
    module, called = place_of(name)
    function = lookup(module, mx.sym.Symbol)[0](called)
    parameters = inspect.signature(function).parameters
    schema = operator_schema(registered_names()[name])
    starred = [array[1:] for array in schema.arrays if array[0] == "*"]
    assert {*(starred or schema.arrays), *schema.keywords} <= set(parameters)
    assert all(f"{keyword} : " in str(function.__doc__) for keyword in schema.keywords)
    assert function.__name__ == called
