"""``Tape``: what a forward pass recorded, as an object people hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, overload

from .. import _runtime
from .._differentiate import GradientEdge, tuple_of
from .._dtypes import of_numpy
from .._modes import Observer, differ_since, observers
from .._op import rows
from .._reach import reachable
from .._records import name_of_leaf, notes_of, op_name
from .._size import Size
from .._tape import AccumulateGrad, Node, Output, next_position
from .._trace import LEAKS
from .._views import current_node
from ._entries import Entries, Entry, Parent, Saved, array_of, saved_by
from ._seen import Memory
from ._shown import Shown

__all__ = ["Entries", "Entry", "Parent", "Saved", "Tape", "saved_by"]

_recording: ContextVar[tuple[Tape, ...]] = ContextVar("tapes", default=())


class Tape(Shown, Observer):
    """The operations of a forward pass, in the order in which they were recorded.

    ``Tape(loss)`` lists what *loss* depends on; read backwards, it is the order in which ``backward()`` runs the nodes.
    ``with Tape() as tape:`` records every operation of a block, also those that need no gradient; it keeps their inputs and
    outputs as long as it lives.

    Parameters
    ----------
    roots : Tensor, GradientEdge or sequence of them, optional
        The results to start from.
    params : mapping of str to Tensor, optional
        Names, such as ``dict(model.named_parameters())``; beside them, a tensor's own ``name`` is shown, and the names of the
        parameters of models that ran while ``record_sites`` was on.

    Raises
    ------
    RuntimeError
        If a root does not require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> tape = torch.autograd.Tape((x * 2).exp().sum())
    >>> [entry.op for entry in tape]
    ['mul', 'exp', 'sum']
    >>> tape[1].parents[0].entry, tape[1].shape, tape[1].saved[0].name
    (0, torch.Size([2, 3]), 'result')
    >>> with torch.autograd.Tape() as block:
    ...     y = x.detach() + 1
    >>> [entry.op for entry in block], block[1].output is y
    (['detach', 'add'], True)
    """

    def __init__(self, roots: Any = None, params: Mapping[str, Any] | None = None) -> None:
        self._names = {t._node: name for name, t in (params or {}).items() if t._node is not None}
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._memo: dict[Any, Any] = {}
        self._unnamed: dict[Any, int] = {}
        self._calls: list[Any] = []
        self._memory = Memory()
        self._sized: list[tuple[int, Any]] = []  # after how many calls, and the array
        self._numbers_read: list[
            tuple[int, str, Any, str]
        ] = []  # after how many calls, how, from which tensor, and which
        self._entries: list[Entry] = []
        self._made_by: dict[int, tuple[int, int]] = {}
        self._written_by: dict[int, int] = {}
        self._tokens: list[Any] = []
        self.roots: tuple[int, ...] = ()
        self._roots: tuple[Any, ...] = ()
        self._end: int | None = None  # the position after what it recorded
        self._pauses: list[tuple[int, int]] = []  # from such a position to where it went on
        if roots is not None:
            self._read(roots)

    # -- as a sequence
    @property
    def entries(self) -> list[Entry]:
        """All entries, oldest first; they are made when they are first asked for."""
        if (made := len(self._entries)) < len(self):
            for node in self._nodes[made:]:
                self._entries.append(self._entry_of_node(node))
            for call in self._calls[len(self._entries) - len(self._nodes) :]:
                self._entries.append(self._entry_of_call(call))
        return self._entries

    def __len__(self) -> int:
        return len(self._nodes) + len(self._calls)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        try:
            found = self.entries[index]
        except IndexError:
            raise IndexError(f"entry {index} of a tape that has {len(self)} of them") from None
        return Entries(found) if isinstance(found, list) else found

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    # -- searching
    def find(
        self,
        op: str | None = None,
        *,
        shape: int | Sequence[int] | None = None,
        dtype: Any = None,
        name: str | None = None,
        module: str | None = None,
        nonfinite: bool | None = None,
    ) -> list[Entry]:
        """The entries that fit all that is given.

        Parameters
        ----------
        op : str
            The operation (``mul``, ``relu_``) or the node's name (``MulBackward0``).
        shape, dtype
            Of one of the outputs.  An int is a shape of one dimension.
        name : str
            What its output or one of its inputs is called.
        module : str
            The module that ran it, or one around that.
        nonfinite : bool
            Whether an output that is known (of a recorded block, or saved for backward) has an infinity or a NaN.

        Raises
        ------
        ValueError
            If there is no operation of that name at all, but one of nearly that name.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.zeros(2, requires_grad=True)
        >>> torch.autograd.Tape((x.log() * x).sum()).find("log")
        [<#0 LogBackward0 (2,) float32>]
        """

        sizes = None if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)

        def fits(entry: Entry) -> bool:
            return (
                (op is None or op in (entry.op, entry.name))
                and (sizes is None or sizes in [tuple(s) for s in entry.shapes])
                and (dtype is None or dtype in entry.dtypes)
                and (name is None or name == entry.label or name in entry.parameters)
                and (module is None or entry.module == module or entry.module.startswith(f"{module}."))
                and (nonfinite is None or nonfinite == _has_nonfinite(entry))
            )

        found = [entry for entry in self.entries if fits(entry)]
        if not found and op is not None:
            self._refuse_misspelt(op)
        return found

    def _refuse_misspelt(self, op: str) -> None:
        """Raise if nothing has this name, but something is called nearly so."""
        import difflib

        names = {name for entry in self.entries for name in (entry.op, entry.name)}
        names |= {name for row in rows.values() for name in (op_name(row), row.node_name)}
        if op.removesuffix("_") not in names and (close := difflib.get_close_matches(op, names, 3, 0.7)):
            raise ValueError(f"no operation is called {op!r}: is it {' or '.join(map(repr, close))}?")

    def entry_of(self, tensor: Any) -> Entry | None:
        """The entry that made a tensor (or a node, or the entry itself); None where that is not on this tape."""
        if isinstance(tensor, Entry):
            return tensor
        entries = self.entries
        if isinstance(tensor, _runtime.Tensor):
            if id(tensor) in self._made_by:
                return entries[self._made_by[id(tensor)][0]]
            tensor = current_node(tensor)
        node = tensor.edges[0] if tensor.__class__ is Output else tensor
        return next((e for e in reversed(entries) if e.node is node), None) if node is not None else None

    def consumers(self, tensor: Any) -> list[Entry]:
        """The entries that take a tensor (a leaf too), or the output of an entry."""
        entry = self.entry_of(tensor)
        if entry is not None:
            return [e for e in self.entries if any([p.entry == entry.number for p in e.parents])]
        node = getattr(tensor, "_node", None)
        found = []
        for e in self.entries:
            if any([t is tensor for t in e.inputs or ()]) or (
                node is not None and any([p.leaf is not None and p.leaf._node is node for p in e.parents])
            ):
                found.append(e)
        return found

    def path(self, start: Any, end: Any) -> list[Entry]:
        """The shortest way on which *end* was made from *start*: entries, oldest first; empty where there is none.

        Parameters
        ----------
        start, end : Tensor, Node or Entry
            A tensor (*start* may be a leaf), its node, or an entry.
        """
        last, first = self.entry_of(end), self.entry_of(start)
        if last is None:
            return []
        begins = {first.number} if first is not None else {e.number for e in self.consumers(start)}
        entries, after = self.entries, {last.number: -1}
        waiting = [last.number]
        for number in waiting:
            if number in begins:
                way = []
                while number != -1:
                    way.append(entries[number])
                    number = after[number]
                return way
            for parent in entries[number].parents:
                if parent.entry is not None and parent.entry not in after:
                    after[parent.entry] = number
                    waiting.append(parent.entry)
        return []

    def memory(self) -> Any:
        """What the tape keeps for backward: in all, by operation, by module, by line, and as what.

        Returns
        -------
        MemoryAccount
            With ``total``, ``peak`` (with gradients, during backward), ``by("op")``, ``kept``; printed, a text.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.ones(1000, requires_grad=True)
        >>> torch.autograd.Tape((x * x).exp().sum()).memory()
        3.9 KiB kept for backward, beside 3.9 KiB of leaves; at most 11.7 KiB in it
        by op: exp 3.9 KiB
        by name: result 3.9 KiB
        """
        from ._memory import MemoryAccount

        return MemoryAccount(self)

    def formula(self, of: Any = None, *, order: int = 1, gradient: Any = None) -> Any:
        """The function that was recorded, and its derivatives, as expressions in its leaves.

        The derivatives are what the backward formulas of the recorded operations compute, read as expressions and simplified
        by the ordinary identities; parts that several lines share have lines of their own. Of a block (``with Tape() as
        tape:``) everything is known; a tape that was read from a result knows what the graph kept, and constants that no
        gradient needs are left open (``c``).

        Parameters
        ----------
        of : Tensor or sequence of Tensor, optional
            The results; those the tape was read from by default, or of the block the last one that has a history (if none
            has, the last one of floats); where the operation that made it has several, as ``split`` and ``std_mean`` have, all
            of them, ``y1``, ``y2``, ….
        order : {0, 1, 2}
            Up to which derivative. Second derivatives by a tensor are those of its gradient's product with a direction ``v``.
        gradient : Tensor, number or sequence of them, optional
            What the loss's derivative by the results is, as for ``backward``: it has lines of its own, ``dL/dy = 2``, and
            what is shown are the derivatives of a loss ``L``. By default 1 for a single 0-d result, whose own derivatives are
            shown; otherwise a symbol, ``g``.

        Returns
        -------
        Formula
            Prints as text, renders as mathematics in notebooks; ``evaluate(**values)`` computes all of it. Leaves are named
            by their ``name``, by the *params* of the tape, as parameters of models that ran under ``record_sites``, or ``x1``,
            ``x2``, ….

        Raises
        ------
        RuntimeError
            If the block is empty, the graph was freed by ``backward()`` (make the formula before, or keep it by
            ``backward(retain_graph=True)``), or a result was not recorded on this tape, or was
            written in place since, or a write of the block could not be followed.

        Notes
        -----
        The identities are those of real numbers wherever both sides exist, as in any algebra program: ``exp(log(x))`` is
        written ``x``, ``x*y/y`` is, and ``0*x`` is 0, so a formula may have a value where the function gives NaN or an
        infinity, and round (or overflow) elsewhere than it. Where the function is finite the two agree within rounding. What
        backward formulas choose by a condition is a choice in the formula, what they multiply by a mask is a product.

        Examples
        --------
        >>> import minitorch as torch
        >>> x, w, b = [torch.tensor(v, requires_grad=True) for v in (0.5, 2.0, 1.0)]
        >>> x.name, w.name, b.name = "x", "w", "b"
        >>> with torch.autograd.Tape() as tape:
        ...     y = torch.sin(x) * w + b
        >>> formula = tape.formula()
        >>> print(formula)
        y = w*sin(x) + b
        dy/dx = w*cos(x)
        dy/dw = sin(x)
        dy/db = 1
        >>> formula.evaluate(x=0.0)["dy/dx"]
        tensor(2.)
        """
        from ._formula import formula

        token = _recording.set(())  # what it computes is no part of the block
        try:
            return formula(self, of, order, gradient)
        finally:
            _recording.reset(token)

    # -- backward
    def backward(
        self,
        gradient: Any = None,
        *,
        of: Any = None,
        until: Any = None,
        retain_graph: bool = False,
        create_graph: bool = False,
        keep: str = "nothing",
    ) -> Any:
        """Run backward and stop before each node: ``for step in tape.backward(): ...``.

        It is the engine's own pass: once the loop is through, everything is as after ``loss.backward()``, the saved values
        freed included.  A loop that is left early has freed nothing.

        Parameters
        ----------
        gradient : Tensor or sequence of (Tensor or None), optional
            What the roots start with, as for ``backward``.
        of : Tensor or sequence of Tensor, optional
            The roots; those that the tape was read from by default. A tape of a block needs them.
        until : optional
            Stop only where this fits: the name of an operation, a node or a module, a shape, a node, a tensor or an entry,
            ``"nonfinite"`` (where an infinity or NaN comes in or goes out), or a function of the step.
        retain_graph, create_graph : bool
            As for ``backward``.
        keep : {"nothing", "reached"}
            After leaving early: every ``.grad`` as it was before, or the leaves that were complete by then have theirs.

        Returns
        -------
        Backward
            An iterator of steps, with ``finish()`` and ``stop()``.  Each step has ``entry``, ``gradient`` (of the output; may
            be assigned), ``run()``, ``outgoing`` (of the inputs, once it ran), ``set_outgoing``, ``skip()``.

        Raises
        ------
        RuntimeError
            On a tape without roots; as ``backward`` does, where the graph was freed.

        Examples
        --------
        >>> import minitorch as torch
        >>> x = torch.tensor([1.0, -1.0], requires_grad=True)
        >>> for step in torch.autograd.Tape((x * 3).relu().sum()).backward():
        ...     print(step.entry.op, step.gradient.tolist(), step.run()[0].tolist())
        sum 1.0 [1.0, 1.0]
        relu [1.0, 1.0] [1.0, 0.0]
        mul [1.0, 0.0] [3.0, 0.0]
        >>> x.grad
        tensor([3., 0.])
        """
        from ._stepping import Backward

        roots = self._roots if of is None else tuple_of(of)
        if not roots:
            raise RuntimeError("this tape recorded a block: say what to start from, tape.backward(of=loss)")
        return Backward(self, roots, gradient, until, retain_graph, create_graph, keep)  # type: ignore[arg-type]

    # -- recording a block
    def __enter__(self) -> Tape:
        if self._end is not None:
            self._pauses.append((self._end, next_position()))
        self._end = None
        self._tokens.append(_recording.set((*_recording.get(), self)))
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        self._memory.settle()
        self._end = next_position()
        self._tokens.pop()
        tapes = list(_recording.get())
        if self in tapes:
            tapes.reverse()
            tapes.remove(self)
            _recording.set(tuple(tapes[::-1]))

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def active(self) -> bool:
        """Whether this tape is recording here."""
        return self in _recording.get()

    def recorded(self, call: Any) -> None:
        """Note one call, once where this tape was entered twice; its entry is made when it is asked for."""
        if (not self._calls or self._calls[-1] is not call) and not differ_since(self, (*call.inputs, *call.outputs)):
            self._calls.append(call)
            self._memory.recorded(call)

    def editing(self, tensor: Any) -> None:
        """Keep what memory has in it before the block first writes there."""
        if not differ_since(self, (tensor,)):
            self._memory.editing(tensor)

    def left(self, kind: str, tensor: Any) -> None:
        """Note that Python reads numbers, which what is computed of them does not show; indices are shown."""
        if kind == "index":
            if self._numbers_read and self._numbers_read[-1][2] is tensor:
                del self._numbers_read[-1]
        elif kind in LEAKS and not differ_since(self, (tensor,)):
            numbers = str(tensor._array.tolist()) if tensor._array.size <= 4 else "numbers"
            self._numbers_read.append((len(self._calls), kind, tensor, numbers))

    def derived(self, gradient: Any) -> None:
        """Keep a gradient of which no operation is shown."""
        if not differ_since(self, (gradient,)):
            self._memory.derived(gradient)

    def sized(self, tensor: Any) -> None:
        """Note that the program looks at sizes, which may depend on values."""
        self._sized.append((len(self._calls), tensor._array))

    def _entry_of_call(self, call: Any) -> Entry:
        entry, row, node, outputs = Entry(), call.row, call.node, call.outputs
        op = op_name(row)
        entry.number = len(self._entries)
        entry.position = None if node is None else node._sequence_nr()
        entry.name, entry.op = op if node is None else node.name(), op + "_" * call.in_place
        entry.parents = tuple([self._parent(t) for t in call.inputs if isinstance(t, _runtime.Tensor)])
        arrays = [t._array for t in outputs]
        entry.shapes = tuple([Size(a.shape) for a in arrays])
        entry.dtypes = tuple([of_numpy(a.dtype) for a in arrays])
        entry.node, entry.row, entry.inputs, entry.outputs, entry.in_place = (
            node,
            row,
            call.inputs,
            outputs,
            call.in_place,
        )
        entry.params = dict(zip(row.params, call.params)) if hasattr(row, "params") else {}
        if node is not None:
            entry._mark = None if node.extras is None else node.extras.mark
        else:
            entry._mark = notes_of(outputs[0])[0] if outputs else None
        entry.label = next((name for t in outputs if (name := t.__dict__.get("name"))), None)
        for number, tensor in enumerate(outputs):
            self._made_by[id(tensor)] = entry.number, number
            if call.in_place:
                self._written_by[id(tensor._alias.edits)] = entry.number
        return entry

    def _parent(self, tensor: Any) -> Parent:
        entry, output = self._made_by.get(id(tensor), (None, 0))
        written = None if tensor._alias is None else self._written_by.get(id(tensor._alias.edits))
        if written is not None and (entry is None or written > entry):  # through a view, or through its base
            entry, output = written, 0
        if entry is None and current_node(tensor).__class__ is AccumulateGrad:
            return self._leaf(tensor._node, tensor)
        return Parent(entry, output, None, tensor.__dict__.get("name"))

    def _leaf(self, node: Any, tensor: Any) -> Parent:
        name = self._names.get(node) or name_of_leaf(node)
        number = None if name else self._unnamed.setdefault(node, len(self._unnamed))
        return Parent(None, 0, tensor, name, number)

    # -- reading a result
    def _read(self, roots: Any) -> None:
        self._roots, self._end = tuple_of(roots), next_position()
        starts = [_root(root, index) for index, root in enumerate(self._roots)]
        self._nodes = ordered_nodes(starts)
        self._numbers = numbers = {node: index for index, node in enumerate(self._nodes)}
        tops = [start.edges[0] if start.__class__ is Output else start for start in starts]
        self.roots = tuple(dict.fromkeys([numbers[top] for top in tops if top in numbers]))

    def _entry_of_node(self, node: Node) -> Entry:
        extras, layout = node.extras, None if node.several else node.layout
        entry = Entry()
        entry.number, entry.position = len(self._entries), -node.position
        if (names := self._memo.get(node.__class__)) is None:
            row = getattr(node, "row", None)
            self._memo[node.__class__] = names = node.name(), node.name() if row is None else op_name(row)
        entry.name, entry.op = names
        entry.parents = tuple([self._read_parent(edge) for edge in node.edges if edge is not None])
        if (outputs := self._memo.get(layout)) is None:
            layouts = [known for known in (node.layout if node.several else [layout]) if known is not None]
            outputs = tuple([Size(shape) for shape, _ in layouts]), tuple([of_numpy(kind) for _, kind in layouts])
            if layout is not None:
                self._memo[layout] = outputs
        entry.shapes, entry.dtypes = outputs
        entry.node, entry._mark = node, None if extras is None else extras.mark
        entry.label = None if extras is None else next(iter(extras.names.values()), None)
        entry.row = entry.inputs = entry.params = entry.outputs = None
        entry.in_place = False
        return entry

    def _read_parent(self, edge: Node) -> Parent:
        if edge.__class__ is AccumulateGrad:
            if (leaf := self._memo.get(edge)) is None:
                self._memo[edge] = leaf = self._leaf(edge, edge.variable)
            return leaf
        node, index = (edge.edges[0], edge.index) if edge.__class__ is Output else (edge, 0)
        name = None if node.extras is None else node.extras.names.get(index)
        return Parent(self._numbers[node], index, None, name)


def _root(root: Any, index: int) -> Node:
    if not isinstance(root, (_runtime.Tensor, GradientEdge)):
        raise TypeError(f"element {index} of roots must be a Tensor or a GradientEdge, not {type(root).__name__}")
    node: Node | None = current_node(root) if isinstance(root, _runtime.Tensor) else root.node
    if node is None:
        raise RuntimeError(
            f"element {index} of roots does not require grad and does not have a grad_fn: nothing was recorded for it "
            "(autograd.explain says why)"
        )
    return node


def ordered_nodes(roots: Sequence[Node]) -> list[Node]:
    """The recorded operations that lead to *roots*, in the order of recording; leaves are not operations."""
    seen = reachable(list(roots)) - {None}
    return sorted(
        [n for n in seen if n.__class__ not in (AccumulateGrad, Output)], key=attrgetter("position"), reverse=True
    )


def _has_nonfinite(entry: Entry) -> bool:
    """Whether a known output of an entry has an infinity or a NaN."""
    if entry.outputs is not None:
        arrays = [t._array for t in entry.outputs]
    else:
        arrays = [array_of(getattr(entry.node, "saved_result", None))]
    from .._nonfinite import has_nonfinite

    return any([has_nonfinite(array) for array in arrays])
