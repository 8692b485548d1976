"""Settings of the whole suite."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: tests run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("people", deadline=None)  # a first call compiles its operation
settings.load_profile("ci" if os.environ.get("CI") else "people")
