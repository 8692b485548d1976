"""Metal, which is not there."""


def is_available() -> bool:
    """Whether there is a Metal device: never."""
    return False


def is_built() -> bool:
    """Whether there is Metal: never."""
    return False
