"""What comes before anything is collected."""

import importlib.util
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: tests run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

import minitorch  # noqa: F401  (as a whole: doctests would import their file, and the packages around it, one by one)

collect_ignore = [] if importlib.util.find_spec("onnx") else ["src/minitorch/onnx/_export.py"]  # its example needs it

# A first call compiles its operation, and a machine may be busy: neither is a fault of what is tested.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", PATIENT, derandomize=True, print_blob=True)
settings.register_profile("people", PATIENT)
settings.load_profile("ci" if os.environ.get("CI") else "people")
