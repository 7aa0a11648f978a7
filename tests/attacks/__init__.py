"""Hostile files, written by hand: each is refused in a bounded time and memory, or harmless."""
