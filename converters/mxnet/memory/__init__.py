"""What MXNet's executor would allocate for a symbol, without MXNet: its graph of gradients, and plans to recompute."""
