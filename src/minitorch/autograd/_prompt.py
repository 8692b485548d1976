"""The prompt of the debugger of backward passes: its commands, and what they show."""

from __future__ import annotations

import ast
import cmd
import difflib
import os
import re
import shutil
import sys
import textwrap
from bdb import BdbQuit
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _runtime
from .._nonfinite import has_nonfinite
from .._sites import Site, site_of
from ._figures import clipped, figures, values
from ._stepping import is_called, stops_at
from ._table import parent_text, shape_text, table

if TYPE_CHECKING:
    from ._debugger import Visit, Wanted
    from ._entries import Entry, Parent, Saved
    from ._stepping import Step

_NAME = re.compile(r"[A-Za-z_][\w.:]*\Z")
_SHORT = {
    "c": "continue", "cont": "continue", "d": "down", "g": "grad", "h": "help", "l": "list", "n": "next", "p": "print",
    "q": "quit", "s": "step", "u": "up", "unt": "until", "w": "where", "exit": "quit",
}  # fmt: skip
_OWN = ("entry", "grad", "outgoing", "params", "saved", "tape")
"""What the prompt adds to the names of the user's function."""


class Prompt(cmd.Cmd):
    """Commands about one node at a time: where backward stands, or another one that ``up`` and ``down`` lead to."""

    prompt = "(backward) "
    visit: Visit
    step: Step
    focus: Entry
    decision: Wanted | None

    # -- from the debugger
    def ask(self, visit: Visit, step: Step) -> Wanted | None:
        """Let the user decide how to go on from a step: where to stop next, None for nowhere; BdbQuit to leave."""
        self.visit, self.step, self.focus, self.decision = visit, step, step.entry, None
        if sys.stdin is None or sys.stdin.closed:
            raise RuntimeError(
                "the debugger stops in this backward pass and has nobody to ask: standard input is closed. Run the program "
                "where there is a terminal, or step with tape.backward()"
            )
        self.stdin, self.stdout = sys.stdin, sys.stdout
        try:
            self._say_where_we_are()
            while True:
                try:
                    self.cmdloop()
                    return self.decision
                except KeyboardInterrupt:
                    self._say("--KeyboardInterrupt--")
        finally:
            del self.visit, self.step, self.focus, self.decision  # nothing of the pass is kept

    def condition(self, text: str) -> Wanted:
        """What ``until TEXT`` stops at."""
        if text.startswith("#") and text[1:].isdigit():
            number = int(text[1:])
            return lambda visit, step: step.entry.number == number
        value = _literal(text)
        if isinstance(value, (tuple, list)) or text == "nonfinite":
            return lambda visit, step: stops_at(text if isinstance(value, str) else value, visit.tape)(step)
        if _NAME.match(text):
            return lambda visit, step: is_called(step.entry, text)
        code = compile(text, "<until>", "eval")
        return lambda visit, step: _holds(code, text, visit, step)

    # -- how to go on
    def do_step(self, argument: str) -> bool:
        """step (s): run this node, stop before the next one
        It may be in a pass inside this node: that of a checkpoint, say."""
        return self._go(argument, lambda visit, step: True)

    def do_next(self, argument: str) -> bool:
        """next (n): run this node, stop before the next one of this pass
        Passes inside this node are not stopped; if it was the last, the next pass is."""
        depth = self.visit.depth
        return self._go(argument, lambda visit, step: visit.depth <= depth)

    def do_until(self, argument: str) -> bool:
        """until WHAT: run on, stop before the node that WHAT says
        It is looked for in this pass and in later ones.  WHAT may be
        relu, ReluBackward0     an operation, or a node's name
        blocks.0, logits        a module, or the name of a tensor or parameter
        (3, 4)                  the shape of an output
        #12                     the number of an entry
        nonfinite               where an infinity or a NaN comes in or goes out
        grad.norm() > 10        where a Python expression is true: see help print"""
        problem = self._problem_with(argument)
        if problem:
            return self._fail(problem)
        try:
            wanted = self.condition(argument)
        except SyntaxError as error:
            return self._fail(f"SyntaxError: {error.msg}")
        if _NAME.match(argument) and argument != "nonfinite" and not self._on_tape(argument):
            code = compile(argument, "<until>", "eval")
            wanted = partial(_holds, code, argument)
        return self._go("", wanted)

    def do_continue(self, argument: str) -> bool:
        """continue (c): run this pass to its end, stop at the next pass"""
        number, depth = self.visit.number, self.visit.depth
        return self._go(argument, lambda visit, step: visit.number != number and visit.depth <= depth)

    def do_off(self, argument: str) -> bool:
        """off: run on, with no more prompts"""
        return self._go(argument, None)

    def do_skip(self, argument: str) -> bool:
        """skip: pass this node over: no gradient goes on from it"""
        if not self.visit.error:
            if self.step.outgoing is not None:
                return self._fail(f"#{self.step.entry.number} has run; set out 0 0 makes its first gradient zero")
            self.step.skip()
        return self.do_next(argument)

    def do_quit(self, argument: str) -> bool:
        """quit (q): leave the pass: .grad stays as it was, BdbQuit is raised"""
        raise BdbQuit

    def do_EOF(self, argument: str) -> bool:
        """Ctrl-D: quit"""
        self._say("")
        raise BdbQuit

    # -- what there is to see
    def do_grad(self, argument: str) -> None:
        """grad (g): the gradients that come in, and those that go out
        To know those, the node that is next is run, once."""
        step = self._step_at_focus()
        if step is None:
            return
        problem = self.visit.error if step is self.step else None
        if step.outgoing is None and problem is None:
            try:
                step.run()
            except Exception as error:
                problem = error
        several = len(step.gradients) > 1
        for index, gradient in enumerate(step.gradients):
            self._show_gradient(f"in{f' {index}' if several else ''}", gradient)
        if problem is not None:
            self._fail(f"{type(problem).__name__}: {problem}")
        for index, (label, gradient) in enumerate(self._outgoing(step)):
            self._show_gradient(f"out {index} to {label}", gradient)

    def do_saved(self, argument: str) -> None:
        """saved [NAME]: what the node keeps, in figures; one of it, with values"""
        saved = self._saved()
        if not saved:
            return self._say(f"#{self.focus.number} {self.focus.name} keeps nothing")
        if argument:
            chosen = [s for s in saved if s.name == argument]
            if not chosen:
                self._fail(f"nothing is saved as {argument!r}: {', '.join([s.name for s in saved])}")
            for one in chosen:
                self._say(values(one.value, full=True) if one.value is not None else _gone(one))
            return None
        for one in saved:
            shown = _gone(one) if one.value is None else figures(one.value)
            self._say(clipped(f"{one.name}  {shown}", self._width))
        return None

    def do_where(self, argument: str) -> None:
        """where (w): module, lines of the forward and the backward call"""
        entry = self.focus
        self._say(self._title(entry))
        if entry.site is None:
            self._say(
                "forward   not recorded: run with python -m minitorch.debug, or call\n"
                "          torch.autograd.record_sites() or set_trace() before the forward pass"
            )
        else:
            self._show_site("forward ", entry.site)
        site = site_of(self.visit.mark)
        if site is not None:
            self._show_site("backward", site)
        if self.visit.error is not None:
            self._say(clipped(f"raised    {type(self.visit.error).__name__}: {self.visit.error}", self._width))

    def do_up(self, argument: str) -> None:
        """up (u) [NUMBER]: look at a node that takes this one's output
        That is towards the result.  With NUMBER: at that entry, wherever it is."""
        self._look_at(argument, [e.number for e in self.visit.tape.consumers(self.focus)], "a root: nothing takes it")

    def do_down(self, argument: str) -> None:
        """down (d) [NUMBER]: look at a node whose output this one takes
        That is towards the inputs.  With NUMBER: at that entry, wherever it is."""
        numbers = [parent.entry for parent in self.focus.parents if parent.entry is not None]
        leaves = ", ".join([parent_text(parent) for parent in self.focus.parents if parent.entry is None])
        self._look_at(argument, numbers, f"the end: it takes {leaves}")

    def do_list(self, argument: str) -> None:
        """list (l): the entries around this one, as backward runs them
        -> is the one that runs next, >> the one that up or down led to."""
        tape, at = self.visit.tape, self.focus.number
        first, last = min(at + 5, len(tape) - 1), max(at - 5, 0)
        rows = []
        for entry in reversed(tape[last : first + 1]):
            mark = "->" if entry is self.step.entry else ">>" if entry is self.focus else "  "
            where = entry.site.short if entry.site else ""
            rows.append([f"{mark} #{entry.number}", entry.name, _shapes(entry), entry.module, where])
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            self._say(clipped("  ".join(map(str.ljust, row, widths)).rstrip(), self._width))

    def do_tape(self, argument: str) -> None:
        """tape: the whole tape as a table"""
        for line in table(self.visit.tape, width=self._width).splitlines():
            self._say(clipped(line, self._width))

    def do_tree(self, argument: str) -> None:
        """tree: what this node's inputs were made from"""
        for line in self.visit.tape.tree(self.focus, rows=40).splitlines():
            self._say(clipped(line, self._width))

    def do_print(self, argument: str) -> None:
        """print EXPRESSION (p): its value; without one, the script's tensors
        Its names are those of the function that called backward, and
        grad, outgoing    the gradient that comes in; those that go out, if it ran
        saved             what the node keeps, by name: saved["self"]
        params            the leaves by name: params["fc1.weight"]
        entry, tape       the entry and the tape, as autograd.Tape has them
        A line that is no command is printed too."""
        if not argument:
            return self._show_variables()
        try:
            value = eval(compile(argument, "<prompt>", "eval"), self._scope())
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")
        else:
            self._say(str(value))
        return None

    # -- changing
    def do_set(self, argument: str) -> None:
        """set EXPRESSION: have the node run with another gradient
        set in 1 EXPRESSION     of its output 1
        set out 0 EXPRESSION    hand on another, where grad shows out 0
        Shape and dtype must be those of the one it replaces; a number fills it."""
        found = re.match(r"(in|out)\s+(\d+)\s+", argument)
        side, index = (found[1], int(found[2])) if found else ("in", 0)
        text = argument[found.end() :] if found else argument
        if not text:
            self._fail("what to? see help set")
        elif self.visit.error is not None or self.focus is not self.step.entry:
            self._fail(f"only the gradients of the node that runs next can be set: #{self.step.entry.number}")
        elif side == "in" and self.step.outgoing is not None:
            self._fail("the node has run (grad runs it): use set out N EXPRESSION")
        else:
            try:
                self._set(side, index, eval(compile(text, "<prompt>", "eval"), self._scope()))
            except Exception as error:
                self._fail(f"{type(error).__name__}: {error}")

    def _set(self, side: str, index: int, value: Any) -> None:
        step = self.step
        if side == "in":
            step.set_gradient(_filled(value, step.gradients, index), index)
            self._show_gradient("in", step.gradients[index])
        else:
            edge = self._edges()[index]
            step.set_outgoing(_filled(value, step.run(), edge), edge)
            label, gradient = self._outgoing(step)[index]
            self._show_gradient(f"out {index} to {label}", gradient)

    # -- of the command line
    def parseline(self, line: str) -> tuple[str | None, str | None, str]:
        """Short forms; what begins like a command and goes on like an expression is one."""
        command, argument, line = super().parseline(line)
        if command is None or argument is None or line == "EOF":
            return command, argument, line
        rest = line[len(command) :]
        if rest and not rest[0].isspace() and not line.startswith("print("):
            return None, None, line
        return _SHORT.get(command, command), argument, line

    def default(self, line: str) -> None:
        self.do_print(line)

    def do_help(self, arg: str) -> None:
        """help (h) [COMMAND]: the commands, or one of them"""
        if arg:
            function = getattr(self, f"do_{_SHORT.get(arg, arg)}", None)
            if function is None:
                self._fail(f"there is no command {arg!r}")
                return
            first, *more = (function.__doc__ or "").splitlines()
            self._say("\n".join([first, *[f"  {line.strip()}" for line in more]]))
            return
        for name in self._commands():
            first = (getattr(self, f"do_{name}").__doc__ or "").splitlines()[0]
            call, _, text = first.partition(": ")
            self._say(clipped(f"{call:<20}  {text}", self._width))
        self._say("An empty line repeats the last command; TAB completes; Ctrl-D quits.")

    def _commands(self) -> list[str]:
        return [name[3:] for name in self.get_names() if name.startswith("do_") and name != "do_EOF"]

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        return [name for name in self._commands() if name.startswith(text)] or self.completedefault(text)

    def completedefault(self, text: str, *ignored: Any) -> list[str]:
        """Names, and attributes of what names stand for."""
        stem, dot, start = text.rpartition(".")
        scope = self._scope()
        if not dot:
            return sorted([name for name in scope if name.startswith(text) and not name.startswith("__")])
        if not re.fullmatch(r"[\w.]+", stem):
            return []
        try:
            value = eval(stem, scope)
        except Exception:
            return []
        return [f"{stem}.{n}" for n in dir(value) if n.startswith(start) and (start or not n.startswith("_"))]

    def complete_until(self, text: str, *ignored: Any) -> list[str]:
        """What there is on the tape to stop at, below this node."""
        names = {"nonfinite"}
        for entry in self.visit.tape:
            names |= {entry.op, entry.name, entry.label or "", entry.module, *entry.parameters}
        return sorted([name for name in names - {""} if name.startswith(text)]) or self.completedefault(text)

    def complete_saved(self, text: str, *ignored: Any) -> list[str]:
        """The names of what is saved."""
        return [saved.name for saved in self._saved() if saved.name.startswith(text)]

    def complete_help(self, text: str, *ignored: Any) -> list[str]:
        """Commands."""
        return [name for name in self._commands() if name.startswith(text)]

    # -- saying
    @property
    def _width(self) -> int:
        return max(shutil.get_terminal_size().columns, 40) - 1

    def _say(self, text: str) -> None:
        self.stdout.write(f"{text}\n")

    def _fail(self, problem: str) -> bool:
        self._say("\n".join(textwrap.wrap(f"*** {problem}", self._width, subsequent_indent="    ")))
        return False

    def _painted(self, text: str, code: str) -> str:
        colours = self.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"
        return f"\x1b[{code}m{text}\x1b[0m" if colours else text

    def _say_where_we_are(self) -> None:
        visit = self.visit
        if not visit.shown:
            visit.shown = True
            site = site_of(visit.mark)
            inside = f", inside {visit.depth} other node{'s' * (visit.depth > 1)}" if visit.depth else ""
            what = "backward" if visit.error is None else f"{type(visit.error).__name__} in backward"
            self._say(clipped(f"{what} at {site.short}: {site.source}" if site else what, self._width) + inside)
        self._show_focus()

    def _show_focus(self) -> None:
        entry = self.focus
        self._say(self._painted(self._title(entry), "1"))
        if entry.site is not None:
            self._say(clipped(f"  {entry.site.short}  {entry.site.source}", self._width))
        step = self.visit.steps.get(entry.number)
        for gradient in () if step is None else step.gradients[:3]:
            if gradient is not None:
                self._say(self._painted_if_bad(clipped(f"  grad  {figures(gradient)}", self._width), gradient))

    def _title(self, entry: Entry) -> str:
        mark = "->" if entry is self.step.entry else ">>"
        names = (f" {entry.label}" if entry.label else "") + (f"  in {entry.module}" if entry.module else "")
        return clipped(f"{mark} #{entry.number} {entry.name}  {_shapes(entry)}{names}", self._width)

    def _painted_if_bad(self, text: str, tensor: Any) -> str:
        return self._painted(text, "31") if has_nonfinite(tensor._array) else text

    def _show_gradient(self, label: str, gradient: Any) -> None:
        if gradient is None:
            return self._say(f"{label}  none")
        self._say(self._painted_if_bad(clipped(f"{label}  {figures(gradient)}", self._width), gradient))
        if gradient.numel() > 1:
            self._say(values(gradient))
        return None

    def _show_site(self, label: str, site: Site) -> None:
        self._say(clipped(f"{label}  {site.short} in {site.function}", self._width))
        if site.source:
            self._say(clipped(f"          {site.source}", self._width))
            expression = site.expression
            if expression and expression != site.source and site.source.count(expression) == 1:
                self._say(clipped(" " * (10 + site.source.index(expression)) + "^" * len(expression), self._width))

    def _show_variables(self) -> None:
        for name, value in self._scope().items():
            if isinstance(value, _runtime.Tensor) and name not in _OWN:
                self._say(clipped(f"{name}  {figures(value)}", self._width))

    # -- the node that is looked at
    def _go(self, argument: str, wanted: Wanted | None) -> bool:
        if argument:
            return self._fail("this command takes nothing more")
        if self.visit.error is not None:
            return self._fail("the pass is over: look around, and quit")
        self.decision = wanted
        return True

    def _step_at_focus(self) -> Step | None:
        step = self.visit.steps.get(self.focus.number)
        if step is None:
            later = self.focus.number < self.step.entry.number and self.visit.error is None
            self._say(f"#{self.focus.number}: " + ("backward has not come here" if later else "not known"))
        return step

    def _look_at(self, argument: str, numbers: list[int], end: str) -> None:
        numbers = list(dict.fromkeys(numbers))
        if argument:
            number = argument.removeprefix("#")
            if not number.isdigit() or int(number) >= len(self.visit.tape):
                self._fail(f"NUMBER is that of an entry, 0 to {len(self.visit.tape) - 1}, not {argument}")
                return
            numbers = [int(number)]
        if not numbers:
            self._say(f"#{self.focus.number} is {end}")
            return
        self.focus = self.visit.tape[numbers[0]]
        self._show_focus()
        if len(numbers) > 1:
            self._say(clipped(f"  also: {', '.join([f'#{n}' for n in numbers[1:]])}", self._width))

    def _saved(self) -> tuple[Saved, ...]:
        """What the node keeps, or kept before it ran."""
        return self.visit.saved.get(self.focus.number) or self.focus.saved

    def _edges(self) -> list[int]:
        """Which of the inputs a gradient goes to."""
        return [index for index, edge in enumerate(self.focus.node.edges) if edge is not None]  # type: ignore[union-attr]

    def _outgoing(self, step: Step) -> list[tuple[str, Any]]:
        """The gradients that go out, each with what it goes to."""
        if step.outgoing is None:
            return []
        return [(self._input(p), step.outgoing[i]) for i, p in zip(self._edges(), self.focus.parents)]

    def _input(self, parent: Parent) -> str:
        """What a gradient goes to."""
        text = parent_text(parent)
        return text if parent.entry is None else f"{text} {self.visit.tape[parent.entry].name}"

    def _scope(self) -> dict[str, Any]:
        return scope_of(self.visit, self.visit.steps.get(self.focus.number), self.focus)

    # -- until
    def _on_tape(self, name: str) -> bool:
        return any([is_called(entry, name) for entry in self.visit.tape])

    def _problem_with(self, argument: str) -> str:
        """What is wrong with the argument of ``until``, if anything."""
        number = argument.removeprefix("#")
        if not argument:
            return "usage: until WHAT; see help until"
        if argument.startswith("#") and not (number.isdigit() and int(number) < self.step.entry.number):
            return f"{argument} does not come after #{self.step.entry.number} in this pass"
        if not _NAME.match(argument) or argument == "nonfinite" or self._on_tape(argument):
            return ""
        try:
            eval(argument, self._scope())
        except Exception:
            close = difflib.get_close_matches(argument, self.complete_until(""), 3)
            return f"nothing on this tape is called {argument}" + (f"; like it: {', '.join(close)}" if close else "")
        return ""


# -- what expressions see ----------------------------------------------------------------------------------------------
def scope_of(visit: Visit, step: Step | None, entry: Entry) -> dict[str, Any]:
    """The names of the user's function that called backward, and those of a node."""
    frame = visit.frame
    kept = visit.saved.get(entry.number) or entry.saved
    own = {
        "entry": entry,
        "tape": visit.tape,
        "grad": None if step is None else step.gradient,
        "outgoing": None if step is None else step.outgoing,
        "saved": {saved.name: saved.value for saved in kept},
        "params": visit.leaves,
    }
    return {**frame.f_globals, **frame.f_locals, **own} if frame is not None else own


def _holds(code: Any, text: str, visit: Visit, step: Step) -> bool:
    """Whether an expression is true at a step; where it fails, that is said there."""
    try:
        return bool(eval(code, scope_of(visit, step, step.entry)))
    except Exception as error:
        sys.stdout.write(f"*** until {text}: {type(error).__name__}: {error}\n")
        return True


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _filled(value: Any, gradients: Any, index: int) -> Any:
    """A number as a gradient full of it."""
    if isinstance(value, (int, float)) and -len(gradients) <= index < len(gradients) and gradients[index] is not None:
        return gradients[index].new_full(gradients[index].shape, value)
    return value


def _gone(saved: Saved) -> str:
    return "freed, or packed by a hook"


def _shapes(entry: Entry) -> str:
    shown = ", ".join(dict.fromkeys([shape_text(shape) for shape in entry.shapes]))
    return f"{len(entry.shapes)} × {shown}" if len(entry.shapes) > 1 and ", (" not in shown else shown
