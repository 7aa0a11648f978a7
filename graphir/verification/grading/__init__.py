"""How a difference is graded: against the noise of the computation, by channel, and what agreement proves."""
