"""Where two models begin to differ, and why; what is written otherwise and is not wrong."""
