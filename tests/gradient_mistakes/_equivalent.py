"""The list of mutants that no finite difference can show, each with its reason."""

from __future__ import annotations

import fnmatch
import re


class Equivalents:
    """The list: lines of ``row.input module.function: before  =>  after``, each under a line ``# reason``.

    ``*`` stands for anything.  It is only asked about mutants that nothing has caught, and each line must match one.
    """

    def __init__(self, text: str) -> None:
        self.lines: dict[str, re.Pattern[str]] = {}
        self.reasons: dict[str, str] = {}
        reason = ""
        for line in text.splitlines():
            if line.startswith("#"):
                reason = line.lstrip("# ")
            elif line.strip():
                if not reason:
                    raise ValueError(f"equivalent.txt: no reason for {line!r}")
                escaped = line.strip().replace("[", "[[]").replace("?", "[?]")
                self.lines[line] = re.compile(fnmatch.translate(escaped))
                self.reasons[line] = reason
        self.used: set[str] = set()

    def matches(self, key: str) -> bool:
        """Whether a mutant is in the list."""
        found = [line for line, pattern in self.lines.items() if pattern.match(key)]
        self.used.update(found)
        return bool(found)

    def unused(self) -> list[str]:
        """Lines that no mutant has matched."""
        return [line for line in self.lines if line not in self.used]
