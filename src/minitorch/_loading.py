"""Imports the package with the garbage collector off: what that makes stays, and looking through it is a fifth of the time."""

import gc

_collects = gc.isenabled()
gc.disable()
try:
    from . import autograd, cuda, functional, linalg, random, testing, types, version  # noqa: F401
    from .ops import by_number, conv, ranges, recurrent_layers, resample, sampled, view_copies, windows  # noqa: F401
finally:
    if _collects:
        gc.enable()
