"""Programs, as in ``changing``, that ask libraries, the interpreter, or tensors themselves for what may change."""

from __future__ import annotations

import calendar
import collections
import functools
import gc
import inspect
import locale
import logging
import numbers
import os
import sys
import tempfile
import threading
import types
import weakref
from typing import Any

import numpy as np

import minitorch as torch
from changing import pair
from minitorch import nn
from minitorch.nn import functional as F
from reaching import program
from reaching_kept import PROGRAMS, Box, kept, sets

__all__ = ["PROGRAMS"]


def put_back(holder: Any, name: str, value: Any) -> tuple[Any, Any]:
    """What puts something under a name, and what puts back what was there."""
    return sets(holder, name, value), sets(holder, name, getattr(holder, name))


# -- libraries ---------------------------------------------------------------------------------------------------------
@kept()
def level_of_a_logger() -> Any:
    logger = logging.getLogger("told.level")
    logger.setLevel(30)
    yield lambda x: x * logging.getLogger("told.level").level
    yield lambda: logger.setLevel(20)


@kept()
def whether_a_logger_writes() -> Any:
    logger = logging.getLogger("told.enabled")
    logger.setLevel(30)
    yield lambda x: x * 2 if logging.getLogger("told.enabled").isEnabledFor(20) else x * 3
    yield lambda: logger.setLevel(10)


@kept()
def handlers_of_a_logger() -> Any:
    logger = logging.getLogger("told.handlers")
    yield lambda x: x * len(logger.handlers)
    yield lambda: logger.addHandler(logging.NullHandler())
    yield logger.handlers.clear


@kept("is a TextIOWrapper")
def name_of_a_thread() -> Any:
    yield lambda x: x * len(threading.current_thread().name)
    yield from put_back(threading.current_thread(), "name", "told")


@program("it calls get_ident(), which may tell another thing")
def the_thread_that_runs(c: Any) -> Any:
    here = threading.get_ident()
    f, out = c(lambda x: x * 2 if threading.get_ident() == here else x * 3), []
    for _ in range(2):
        out.append(f(pair(1, 2)))
        thread = threading.Thread(target=lambda: out.append(f(pair(1, 2))))
        thread.start()
        thread.join()
    return out


@kept()
def an_environment_variable_by_default() -> Any:
    yield lambda x: x * float(os.getenv("MINITORCH_TOLD", "2"))
    yield lambda: os.environ.update(MINITORCH_TOLD="3")
    yield lambda: os.environ.pop("MINITORCH_TOLD")


@kept()
def a_path_with_a_variable() -> Any:
    os.environ["MINITORCH_TOLD"] = "1"
    yield lambda x: x * len(os.path.expandvars("$MINITORCH_TOLD"))
    yield lambda: os.environ.update(MINITORCH_TOLD="333")
    yield lambda: os.environ.pop("MINITORCH_TOLD")


@kept()
def how_numpy_prints() -> Any:
    old = np.get_printoptions()["precision"]
    yield lambda x: x * np.get_printoptions()["precision"]
    yield lambda: np.set_printoptions(precision=3)
    yield lambda: np.set_printoptions(precision=old)


@kept()
def first_day_of_the_week() -> Any:
    yield lambda x: x * calendar.firstweekday()
    yield lambda: calendar.setfirstweekday(3)
    yield lambda: calendar.setfirstweekday(0)


@kept()
def a_folder_for_files() -> Any:
    yield lambda x: x * len(tempfile.gettempdir())
    yield from put_back(tempfile, "tempdir", os.sep)


@kept()
def signs_of_a_language() -> Any:
    old = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C")
    yield lambda x: x * len(str(locale.localeconv()))
    yield lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8")
    yield lambda: locale.setlocale(locale.LC_ALL, old)


@kept("gc.isenabled(), which may tell another thing each time")
def whether_garbage_is_collected() -> Any:
    yield lambda x: x * 2 if gc.isenabled() else x * 3
    yield gc.disable
    yield gc.enable


@kept("sys.getswitchinterval(), which may tell another thing each time")
def how_threads_take_turns() -> Any:
    old = sys.getswitchinterval()
    yield lambda x: x * sys.getswitchinterval()
    yield lambda: sys.setswitchinterval(0.25)
    yield lambda: sys.setswitchinterval(old)


@kept()
def a_setting_of_this_package() -> Any:
    yield lambda x: x * 2 if torch.is_anomaly_enabled() else x * 3
    yield lambda: torch.autograd.set_detect_anomaly(True)
    yield lambda: torch.autograd.set_detect_anomaly(False)


@kept()
def whether_algorithms_are_deterministic() -> Any:
    yield lambda x: x * 2 if torch.are_deterministic_algorithms_enabled() else x * 3
    yield lambda: torch.use_deterministic_algorithms(True)
    yield lambda: torch.use_deterministic_algorithms(False)


@kept()
def a_class_that_is_registered() -> Any:
    class Own:
        pass

    own = Own()
    yield lambda x: x * 2 if isinstance(own, numbers.Number) else x * 3
    yield lambda: numbers.Number.register(Own)


@kept()
def a_function_that_is_inspected() -> Any:
    def other(x: Any, k: int = 1) -> Any:
        return x

    yield lambda x: x * inspect.signature(other).parameters["k"].default
    yield sets(other, "__defaults__", (5,))


@kept()
def a_partial_that_is_set_anew() -> Any:
    times = functools.partial(lambda x, k: x * k, k=2.0)
    yield times
    yield lambda: times.__setstate__((times.func, (), {"k": 5.0}, {}))


@kept()
def an_object_that_is_gone() -> Any:
    boxes = [Box(2.0)]
    reference = weakref.ref(boxes[0])
    yield lambda x: x * (3.0 if reference() is None else reference().k)
    yield lambda: setattr(boxes[0], "k", 5.0)
    yield boxes.clear


# -- which object ------------------------------------------------------------------------------------------------------
@program("the id() or hash() of a Tensor that is another one in each call")
def an_argument_by_its_id(c: Any) -> Any:
    a, b = pair(1, 2), pair(3, 4)
    known = {id(a)}
    f = c(lambda x: x * 2 if id(x) in known else x * 3)
    return [f(t) for t in (a, b, a)]


@program("the id() or hash() of a Tensor that is another one in each call")
def an_argument_by_its_hash(c: Any) -> Any:
    a, b = pair(1, 2), pair(3, 4)
    known = hash(a)
    f = c(lambda x: x * 2 if hash(x) == known else x * 3)
    return [f(t) for t in (a, b, a)]


@program("it calls id(), which may tell another thing")
def what_a_call_makes_by_its_id(c: Any) -> Any:
    f = c(lambda x: x * (id([x]) > 0))
    return [f(pair(1, 2)) for _ in range(3)]


@kept()
def a_parameter_by_its_id() -> Any:
    box = Box()
    box.weight, box.other = pair(1, 2), pair(3, 4)
    scales = {id(box.weight): 2.0}
    yield lambda x: x * scales.get(id(box.weight), 3.0)
    yield lambda: setattr(box, "weight", box.other)


@program("it reads which tensor a view is of (_base)")
def whether_an_argument_is_a_view(c: Any) -> Any:
    f = c(lambda x: x * 2 if x._base is not None else x * 3)
    return [f(pair(1, 2)), f(pair(1, 2, 3)[:2]), f(pair(1, 2))]


class Pair(collections.namedtuple("_Pair", "x k")):
    """A named tuple with attributes of its own."""


@program()
def a_named_tuple_with_an_attribute(c: Any) -> Any:
    f, given = c(lambda p: p.x * p.k * getattr(p, "scale", 1.0)), Pair(pair(1, 2), 2.0)
    out = [f(given), f(Pair(pair(1, 2), 2.0))]
    for scale in (3.0, 4.0):
        given.scale = scale
        out.append(f(given))
    return out


@program("it returns a Pair that would be the same one each time")
def a_result_with_an_attribute(c: Any) -> Any:
    def f(x: Any) -> Any:
        found = Pair(x * 2, 1.0)
        found.scale = 3.0
        return found

    f = c(f)
    return [[out.x, out.scale] for out in [f(pair(i, 2)) for i in range(3)]]


# -- arrays and tensors ------------------------------------------------------------------------------------------------
@kept()
def whether_an_array_may_be_written() -> Any:
    array = np.ones(2, np.float32)
    yield lambda x: x * 2 if array.flags.writeable else x * 3
    yield lambda: setattr(array.flags, "writeable", False)


@kept()
def how_an_array_lies_in_memory() -> Any:
    holder = {"a": np.ones((2, 2), np.float32)}
    yield lambda x: x * holder["a"].strides[0] * (2 if holder["a"].flags["C_CONTIGUOUS"] else 3)
    yield lambda: holder.update(a=np.asfortranarray(holder["a"]))


def operator_that_is_replaced(name: str, call: Any) -> None:
    """A program in which an operator of tensors gives twice as much for a while."""

    def make() -> Any:
        old = vars(torch.Tensor)[name]
        yield call
        yield lambda: setattr(torch.Tensor, name, lambda *given: 2 * float(old(*given).sum()))
        yield lambda: setattr(torch.Tensor, name, old)

    make.__name__ = f"operator_{name.strip('_')}_that_is_replaced"
    kept()(make)


def added_in_place(x: Any) -> Any:
    y = x * 1
    y += 1
    return y


for _name, _call in {
    "__add__": lambda x: x + 1,
    "__matmul__": lambda x: x @ x,
    "__rsub__": lambda x: 1 - x,
    "__neg__": lambda x: -x,
    "__iadd__": added_in_place,
    "__gt__": lambda x: (x > 1.5) * 3.0,
}.items():
    operator_that_is_replaced(_name, _call)


@program()
def truth_that_is_replaced(c: Any) -> Any:
    f, old, out = c(lambda x: x * 2 if x.sum() > 0 else x * 3), torch.Tensor.__bool__, []
    for truth in (old, lambda self: False, old):
        torch.Tensor.__bool__ = truth
        try:
            out.append(f(pair(1, 2)))
        finally:
            torch.Tensor.__bool__ = old
    return out


# -- what a step returns -----------------------------------------------------------------------------------------------
@program()
def a_loss_that_requires_grad(c: Any) -> Any:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        out = model(x)
        loss = F.mse_loss(out, x)
        loss.backward()
        optimizer.step()
        return loss, out, out.unbind(), loss.detach(), model.weight, x.clone().requires_grad_()

    def told(t: Any, again: bool) -> Any:
        with_history = [t.requires_grad, t.is_leaf, type(t.grad_fn).__name__]
        if again:
            try:
                t.sum().backward()
            except RuntimeError as error:
                with_history.append(str(error)[:60])
        return [*with_history, t.detach(), None if t.is_leaf and t.grad is None else again]

    step, found = c(step), []
    for i in range(3):
        loss, out, (first, _), value, weight, leaf = step(torch.ones(2, 2) * i)
        found += [told(t, again) for t, again in ((loss, True), (out, True), (first, True), (value, False))]
        found += [told(weight, False), told(leaf, True), leaf.grad]
        try:
            torch.autograd.grad(loss, [weight])
        except RuntimeError as error:
            found.append(str(error)[:60])
        with torch.no_grad():
            loss.add_(1)
        found.append((loss * 2).requires_grad)
    return found


@kept()
def what_a_namespace_of_libraries_tells() -> Any:
    namespace = types.SimpleNamespace(count=1)
    yield lambda x: x * len(repr(namespace))
    yield lambda: setattr(namespace, "count", 100)
