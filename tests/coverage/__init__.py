"""How much three tools know of the shapes of models before they run; `python -m tests.coverage`."""
