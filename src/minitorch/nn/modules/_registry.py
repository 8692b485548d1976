"""Where a module keeps its parameters, buffers and submodules.

They are ordinary attributes, found by Python without ``__getattr__``; the module also remembers, for each of the three
kinds, their names in order of registration.  ``module._parameters`` and its kin show the two together as a dictionary.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, MutableMapping
from typing import Any


class Registry(MutableMapping[str, Any]):
    """The attributes of one kind, by name: reading, replacing, adding and deleting them works on the module itself."""

    __slots__ = ("attributes", "names")

    def __init__(self, attributes: dict[str, Any], names: dict[str, None]) -> None:
        self.attributes, self.names = attributes, names

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.attributes[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.names[name] = None
        self.attributes[name] = value

    def __delitem__(self, name: str) -> None:
        del self.names[name]
        del self.attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def items(self) -> ItemsView[str, Any]:
        """Names and values as they are now, also in reverse, as a dictionary gives them."""
        return {name: self.attributes[name] for name in self.names}.items()

    def __repr__(self) -> str:
        return repr(dict(self))
