"""Every operator stands in all the layers that it needs, and the generated pages are fresh."""

from __future__ import annotations

import importlib.util
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

from graphir.converters.mxnet import reference
from graphir.converters.mxnet.importing import ops as mxnet_ops
from graphir.converters.mxnet.importing import rare
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.rare import mxnet2_random, random, random_counts, random_numpy
from graphir.converters.mxnet.schema.registry import canonical_names
from graphir.converters.onnx import ops as onnx_ops
from graphir.converters.onnx.ops import export_table
from graphir.ops import FAMILIES, operator_table
from tests.converters.mxnet.two.test_two import SYMBOLS as SYMBOLS_OF_TWO
from tests.equivalence.table import CASES

ROOT = Path(__file__).resolve().parent.parent
# What MXNet 2.0 computed, where 1.9.1 has no such operator.
OF_TWO = {node["op"] for symbol in SYMBOLS_OF_TWO.values() for node in symbol["nodes"]}
# Families of operators that MXNet lacks, or whose operators no MXNet operator becomes.
WITHOUT_MXNET = {
    *("attention", "bitwise", "control", "image", "losses", "quantization", "random", "sequence", "shape_parts"),
    *("signal", "text"),
}
# Kept as they are on the way from ONNX to ONNX; resolved before any export.
NOT_EXPORTED = {"Foreign", "Fill"}
# Operators whose kernel MXNet has on GPUs only.
WITHOUT_REFERENCE = {"CuDNNBatchNorm", "_contrib_SyncBatchNorm"}
# Of random numbers only the distribution can be compared: test_export_random.py, test_import_random.py and those beside
# them do.
RANDOM = {*random.IMPORTS, *random_counts.IMPORTS, *random_numpy.IMPORTS, *mxnet2_random.IMPORTS}
# MXNet runs them on no input of a test's own (test_assignment, test_import_masks).
IN_PLACE = {"_scatter_set_nd", "_npi_boolean_mask_assign_scalar", "_npi_boolean_mask_assign_tensor"}
# MXNet gives them sparse arrays only, which other operators make (test_import_sparse).
SPARSE = {"_contrib_getnnz", "_sparse_retain"}
# Those of GPUs only, by their documentation (test_transforms).
ON_GPUS = {"_contrib_count_sketch", "_contrib_fft", "_contrib_ifft"}
# Made by other operators' gradients only, which MXNet cannot build from a symbol file of its own; nodes with symbols
# inside them, whose cases are whole symbols (test_control_flow); counts that depend on the data (test_counts).
WITHOUT_CASE = {
    *("_zeros_without_dtype", "_cond", "_foreach", "_while_loop", "_npi_bincount"),
    *(IN_PLACE | SPARSE | ON_GPUS),
}


@pytest.mark.parametrize("name", sorted(operator_table()))
def test_operator_is_exported(name: str) -> None:
    family = operator_table()[name].__module__.rpartition(".")[2]
    assert name in NOT_EXPORTED or operator_table()[name] in export_table(), (
        f"{name} has no row in EXPORTS of converters/onnx/ops/{family}.py"
    )


@pytest.mark.parametrize("name", sorted(import_table()))
def test_imported_operator_exists_in_mxnet(name: str) -> None:
    assert canonical_names().get(name) == name or name in {"CuDNNBatchNorm"}


@pytest.mark.parametrize("name", sorted(import_table()))
def test_imported_operator_has_a_reference_and_cases(name: str) -> None:
    if name in WITHOUT_REFERENCE | RANDOM:
        return
    assert name in reference.supported(), f"{name} is in no OPERATORS of converters/mxnet/reference/"
    assert name in {case.op for case in CASES} | OF_TWO | WITHOUT_CASE, f"{name} has no case in tests/equivalence/"


def modules(package: ModuleType) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__)}


@pytest.mark.parametrize(("packages", "missing"), [([mxnet_ops, rare], WITHOUT_MXNET), ([onnx_ops], set())])
def test_layers_have_the_same_families(packages: list[ModuleType], missing: set[str]) -> None:
    for package in packages:
        assert set(package.FAMILIES) <= modules(package)
    assert set(FAMILIES) - {"foreign"} - missing <= set().union(*(modules(package) for package in packages))


def test_common_operators_need_no_rare_ones() -> None:
    for room in ("importing", "importing/ops", "reference"):
        for path in (ROOT / "converters" / "mxnet" / room).glob("[!_]*.py"):
            assert ".rare." not in path.read_text(), path


@pytest.fixture(scope="module")
def support_table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("support_table", ROOT / "tools" / "support_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_operator_page_is_fresh(support_table: ModuleType) -> None:
    assert (ROOT / "docs" / "operators.md").read_text() == support_table.page(), "run tools/support_table.py --write"


def test_readme_table_is_fresh(support_table: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text()
    assert support_table.BEGIN in readme
    assert readme == support_table.with_summary(readme), "run tools/support_table.py --write"
