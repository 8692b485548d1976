"""What comes before anything is collected."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: tests run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import minitorch  # noqa: F401  (as a whole: doctests would import their file, and the packages around it, one by one)
