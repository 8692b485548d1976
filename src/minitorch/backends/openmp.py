"""OpenMP: operations run on one thread, but for NumPy's matrix products."""


def is_available() -> bool:
    """Whether OpenMP is used: never."""
    return False
