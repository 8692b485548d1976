"""The public names of the package: listed, sorted, documented."""

from __future__ import annotations

from types import ModuleType

import minitorch


def public_names() -> set[str]:
    """What the package defines, without the private submodules that importing leaves behind."""
    private = {"annotations"}
    for name, value in vars(minitorch).items():
        hidden = isinstance(value, ModuleType) and value.__name__ != f"minitorch.{name}"
        if name.startswith("_") or (hidden and name not in minitorch.__all__):
            private.add(name)
    return set(vars(minitorch)) - private - {"ops"}


def test_all_lists_them() -> None:
    assert minitorch.__all__ == sorted(set(minitorch.__all__))
    missing = sorted(public_names() - set(minitorch.__all__))
    assert not missing, f"add to __all__ in src/minitorch/__init__.py: {missing}"
    unknown = sorted(name for name in minitorch.__all__ if not hasattr(minitorch, name))
    assert not unknown, f"import in src/minitorch/__init__.py, or remove from __all__: {unknown}"


def test_every_function_and_class_has_a_docstring() -> None:
    public = {name: getattr(minitorch, name) for name in minitorch.__all__}
    silent = [name for name, value in public.items() if callable(value) and not value.__doc__]
    assert not silent, f"give these a docstring: {silent}"
