"""How a tape is shown: tables, trees and pictures.  What draws them is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ._entries import Entry

if TYPE_CHECKING:
    from .tape import Tape


class Shown(Sequence[Entry]):
    """The part of ``Tape`` that shows it."""

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def table(self, *, full: bool = False, rows: int = 50) -> str:
        """The entries as a table; it is what ``print(tape)`` shows.

        Of a long tape, what each module did is one line, what is repeated is shown the first time, and where that is not
        enough the middle is left out.

        Parameters
        ----------
        full : bool
            Show every entry. Slices are tables too: ``print(tape[100:140])``.
        rows : int
            How many lines there may be otherwise.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> y = x
        >>> for _ in range(100):
        ...     y = torch.tanh(y * x)
        >>> print(torch.autograd.Tape(y).table(rows=5))
            #  op                            inputs                  shape  dtype      saved
            0  mul                           leaf0 (3,), leaf0 (3,)  (3,)   float32     12 B
            1  tanh                          #0                      (3,)   float32     12 B
        2–199  ⋮ 2 operations 99 times more                                          1.2 KiB
        200 operations, 2 of them shown; all: print(tape.table(full=True)), some: print(tape[2:42])
        """
        from ._table import table

        return table(self, None if full else rows)

    def tree(self, start: Any = None, *, full: bool = False, rows: int = 100, depth: int = 12) -> str:
        """What the results were made from, as a tree of the nodes' ``next_functions``.

        What several take is drawn once and then named by its number; what is deeper than *depth* begins anew at the margin.

        Parameters
        ----------
        start : int, Tensor, Node or Entry, optional
            Where to begin, instead of the roots.
        full : bool
            Draw everything.
        rows, depth : int
            How many lines there may be otherwise, and how many levels.

        Raises
        ------
        ValueError
            If *start* is not on this tape.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> y = x.exp()
        >>> print(torch.autograd.Tape(y * (y + 1)).tree())
        #2 MulBackward0  (3,) float32
        ├─ #0 ExpBackward0  (3,) float32
        │  └─ leaf0 (3,)
        └─ #1 AddBackward0  (3,) float32
           └─ #0 ExpBackward0, as above
        """
        from ._tree import tree

        return tree(cast("Tape", self), start, None if full else rows, depth)

    def to_svg(
        self,
        path: Any = None,
        *,
        theme: str = "auto",
        fold: str | Sequence[str] = (),
        nodes: int = 80,
        full: bool = False,
        values: bool = False,
        gradients: Any = False,
    ) -> str:
        """A picture: operations below what they take, modules as boxes around theirs; a notebook shows it of itself.

        Leaves are green, constants grey, folded parts yellow, results have a red border; what several operations take has
        a bold one. The modules' boxes need ``record_sites``, as everything that knows modules does.

        Parameters
        ----------
        path : str or path, optional
            Where to write it.
        theme : {"auto", "light", "dark"}
            By itself the picture follows what the reader's system asks for.
        fold : str or sequence of str
            Modules that are to be one node.
        nodes : int
            Of a longer tape, modules and what is repeated are folded.
        full : bool
            Show everything, whatever *nodes* says.
        values : bool
            Show values: of leaves, and, on a tape of a block, of what the operations made.
        gradients : bool or mapping of int to Tensor
            Show gradients: ``.grad`` of leaves and of what retains it; or, by the entries' numbers, those that are given.

        Returns
        -------
        str
            The text of the SVG file.

        Raises
        ------
        ValueError
            If there is no such theme, or no such module to fold.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> torch.autograd.Tape((x * x).sum()).to_svg()[:4]
        '<svg'
        """
        from ._svg import THEMES, svg

        if theme not in THEMES:
            raise ValueError(f"to_svg(): theme must be one of {', '.join(THEMES)}, not {theme!r}")
        text = svg(self._scene(fold, nodes, full, values, gradients).place(), theme)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def to_dot(self, *, fold: str | Sequence[str] = (), nodes: int = 80, full: bool = False) -> str:
        """The same picture in Graphviz's language; the parameters are those of ``to_svg``."""
        from ._dot import dot

        return dot(self._scene(fold, nodes, full))

    def to_mermaid(self, *, fold: str | Sequence[str] = (), nodes: int = 80, full: bool = False) -> str:
        """The same picture as a Mermaid flowchart, which Markdown pages on many sites draw; parameters as of ``to_svg``."""
        from ._dot import mermaid

        return mermaid(self._scene(fold, nodes, full))

    def render(
        self, path: Any = None, *, format: str | None = None, program: str = "dot", **options: Any
    ) -> bytes | None:
        """Have Graphviz draw the picture; this needs ``pip install 'minitorch[viz]'``.

        Parameters
        ----------
        path : str or path, optional
            Where to write it; without it, the picture is returned.
        format : str, optional
            Such as ``"svg"``, ``"png"`` or ``"pdf"``; by the path's ending otherwise.
        program : str
            Which of Graphviz's layouts.
        **options
            As for ``to_dot``.

        Raises
        ------
        ImportError
            If pygraphviz is not installed.
        """
        from ._dot import drawn_by_graphviz

        return drawn_by_graphviz(
            self.to_dot(**options), path, format if path or format else "svg", program, type(self).__name__
        )

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if len(self) else None

    def _scene(self, fold: Any, nodes: int, full: bool, values: bool = False, gradients: Any = False) -> Any:
        from ._scene import Options, Scene

        fold = (fold,) if isinstance(fold, str) else tuple(fold)
        return Scene(cast("Tape", self), Options(None if full else nodes, fold, values, gradients))
