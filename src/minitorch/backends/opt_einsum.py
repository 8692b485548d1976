"""The package opt_einsum, which is not used: its settings can be set, and change nothing."""

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether opt_einsum is used: never."""
    return False
