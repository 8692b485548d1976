"""Models from repositories: refused, as they are code for PyTorch itself."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["download_url_to_file", "help", "list", "load", "load_state_dict_from_url"]


def load(repo_or_dir: str, model: str, *args: Any, **options: Any) -> NoReturn:
    """Refused: nothing is downloaded, and a repository's code would want PyTorch itself.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError(
        f"hub.load({repo_or_dir!r}, {model!r}): minitorch downloads no code. Define the model in your script, and read "
        "weights from a file with torch.load"
    )


def load_state_dict_from_url(url: str, *args: Any, **options: Any) -> NoReturn:
    """Refused: nothing is downloaded."""
    raise RuntimeError(f"minitorch downloads nothing: fetch {url} yourself, then read the file with torch.load")


download_url_to_file = load_state_dict_from_url


def list(github: str, *args: Any, **options: Any) -> NoReturn:
    """Refused: nothing is downloaded."""
    raise RuntimeError(f"minitorch downloads nothing: see {github} for what it has")


def help(github: str, model: str, *args: Any, **options: Any) -> NoReturn:
    """Refused: nothing is downloaded."""
    list(github)
