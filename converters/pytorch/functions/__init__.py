"""Functions that a written module may have: each is copied into the file that uses it, and is never run here."""
