"""The two sides of a comparison, run side by side within a budget of memory."""
