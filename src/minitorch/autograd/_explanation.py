"""What ``explain`` answers: the reason with its fields, and the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .._sites import Site


class Evidence(NamedTuple):
    """Something that is known, and where it happened.

    Attributes
    ----------
    text : str
        What is known.
    site : Site or None
        The user's line, where there is one.
    """

    text: str
    site: Site | None = None

    def __str__(self) -> str:
        if self.site is None:
            return self.text
        source = self.site.source
        return f"{self.text} ({self.site.short}: {source})" if source else f"{self.text} ({self.site.short})"


@dataclass(frozen=True)
class Explanation:
    """Why a tensor's ``.grad`` is what it is: what ``explain`` returns; printed, it is the text.

    Attributes
    ----------
    reason : str
        One of the reasons that ``explain`` lists.
    summary : str
        The answer in a sentence.
    site : Site or None
        The line where it happened, or that is to be changed.
    op : str or None
        The operation, where one is the reason: ``detach``, ``argmax``, ``relu``, ...
    evidence : tuple of Evidence
        What is known besides.
    unknown : tuple of str
        What can't be known from what is there.
    advice : tuple of str
        What to do, or how to find out more.

    Examples
    --------
    >>> import minitorch as torch
    >>> answer = torch.autograd.explain(torch.ones(2))
    >>> answer.reason, answer.site
    ('requires_grad_false', None)
    """

    reason: str
    summary: str
    site: Site | None = None
    op: str | None = None
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole answer."""
        lines = [self.summary]
        if self.site is not None:
            lines.append(f"  {self.site}")
            if self.site.source:
                lines.append(f"    {self.site.source}")
        for title, entries in (
            ("What is known", self.evidence),
            ("What can't be known", self.unknown),
            ("What to do", self.advice),
        ):
            if entries:
                lines += [f"{title}:", *[f"  - {entry}" for entry in entries]]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text
