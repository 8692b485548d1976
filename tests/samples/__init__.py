"""Samples of every operation: what the tests of rows run. Each family has a module with ``SAMPLES``."""
