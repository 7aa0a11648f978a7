"""The module that was written, run by torch in a child process."""
