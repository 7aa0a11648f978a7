"""Live MXNet in a child process, and the script that records golden captures."""
