"""Which value of one model is which of the other."""
