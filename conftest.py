"""The options of all tests, those in the product's docstrings included: `pytest --full graphir/serial`."""

from tests.thinning import add_options as pytest_addoption

__all__ = ["pytest_addoption"]
