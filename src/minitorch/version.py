"""The version, and what it was built with: no accelerators."""

__all__ = ["__version__", "cuda", "debug", "git_version", "hip"]

__version__ = "0.1.0"
debug = False
cuda: str | None = None
hip: str | None = None
git_version: str | None = None
