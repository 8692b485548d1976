"""oneDNN, which is not there: its settings can be set, and change nothing."""

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether oneDNN is there: never."""
    return False
