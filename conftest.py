"""The options of all tests, those in the product's docstrings included: `pytest --full graphir/serial`."""

from tests.thinning import add_options as pytest_addoption

__all__ = ["pytest_addoption"]

# Its classes are text of modules that are written; torch is not imported to read it.
collect_ignore = ["converters/pytorch/functions/noise.py"]
