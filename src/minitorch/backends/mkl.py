"""Intel's MKL: NumPy chooses the library of its matrix products."""


def is_available() -> bool:
    """Whether MKL is used: no more is known than that NumPy decides."""
    return False
