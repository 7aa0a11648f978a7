"""Rules of operators: tables of rows, which `harness` makes tests."""

import pytest

pytest.register_assert_rewrite("tests.ops.harness")
