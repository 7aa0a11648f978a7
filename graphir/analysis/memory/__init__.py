"""Memory: what lives when a model runs, how tensors share bytes, and what to compute twice to need fewer of them."""
