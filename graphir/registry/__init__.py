"""A registry of models: found, converted in worker processes under limits, recorded, and shown on one page."""
