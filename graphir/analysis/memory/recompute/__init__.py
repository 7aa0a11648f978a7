"""Which values to keep for the backward pass and which to compute once more, under a budget of memory."""
