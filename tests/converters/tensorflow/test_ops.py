"""The table of operators: every family has its file, every operator exists in TensorFlow."""

from __future__ import annotations

import pkgutil

import pytest

from graphir.converters.tensorflow.importing import ops
from graphir.converters.tensorflow.importing.ops import FAMILIES, import_table
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.ops import FAMILIES as OWN_FAMILIES

# Families of TensorFlow's operators that the IR says with those of another family.
MERGED = {"blocks", "diagonal", "elementwise_unary", "slicing"}


def test_every_family_has_its_file() -> None:
    files = {module.name for module in pkgutil.iter_modules(ops.__path__)}
    assert set(FAMILIES) ^ files == set(), f"files and FAMILIES of {ops.__name__} differ"


def test_families_are_those_of_the_operators() -> None:
    assert set(FAMILIES) - MERGED <= set(OWN_FAMILIES)


@pytest.mark.parametrize("op", sorted(import_table()))
def test_imported_operator_exists_in_tensorflow(op: str) -> None:
    assert operator_schema(op) is not None
