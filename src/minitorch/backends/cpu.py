"""The CPU."""


def get_cpu_capability() -> str:
    """The instructions that kernels were written for: NumPy chooses its own."""
    return "DEFAULT"
