"""Programs, as in ``changing``, that read what is kept in other ways, or by other things, than in a variable."""

from __future__ import annotations

import abc
import argparse
import array
import builtins
import collections
import configparser
import contextlib
import ctypes
import dataclasses
import decimal
import enum
import functools
import importlib.util
import itertools
import math
import mmap
import multiprocessing
import operator
import pathlib
import queue
import sqlite3
import string
import sys
import tempfile
import threading
import types
import weakref
from contextvars import Context, ContextVar
from typing import Any, NamedTuple

import numpy as np

import minitorch as torch
from changing import pair
from minitorch import nn
from minitorch.nn import functional as F
from reaching import program
from reading import PROGRAMS

__all__ = ["PROGRAMS"]


def kept(said: str = "") -> Any:
    """A program of a function, and of what is done between its calls: both are what the decorated function gives."""

    def decorator(make: Any) -> Any:
        def run(c: Any) -> Any:
            f, *changes = make()
            f = c(f)
            out = [f(pair(1, 2)), f(pair(1, 2))]
            for change in changes:
                change()
                out += [f(pair(1, 2)), f(pair(2, 1))]
            return out

        PROGRAMS[make.__name__] = run, said
        return make

    return decorator


class Box:
    """A number."""

    k = 1.0

    def __init__(self, k: float = 1.0) -> None:
        self.k = k


def sets(holder: Any, name: str, value: Any) -> Any:
    return lambda: setattr(holder, name, value)


def puts(container: Any, key: Any, value: Any) -> Any:
    return lambda: operator.setitem(container, key, value)


# -- attributes of functions -------------------------------------------------------------------------------------------
@program("a call changes f.calls")
def a_functions_own_count(c: Any) -> Any:
    def f(x: Any) -> Any:
        f.calls = getattr(f, "calls", 0) + 1
        return x * f.calls

    g = c(f)
    return [g(pair(1, 2)) for _ in range(4)]


@program("a call changes step.calls")
def a_compiled_functions_own_count(c: Any) -> Any:
    def step(x: Any) -> Any:
        step.calls = getattr(step, "calls", 0) + 1
        return x * step.calls

    step = c(step)
    return [step(pair(1, 2)) for _ in range(4)]


@program()
def an_attribute_of_a_compiled_function(c: Any) -> Any:
    def step(x: Any) -> Any:
        return x * getattr(step, "k", 1.0)

    step = c(step)
    out = [step(pair(1, 2))]
    for k in (2.0, 3.0):
        step.k = k
        out += [step(pair(1, 2)), step(pair(1, 2))]
    del step.k
    return [*out, step(pair(1, 2))]


@kept()
def an_attribute_that_a_function_comes_to_have() -> Any:
    def helper(x: Any) -> Any:
        return x * getattr(helper, "k", 1.0)

    return lambda x: helper(x), sets(helper, "k", 2.0), lambda: delattr(helper, "k")


@kept()
def names_and_notes_of_functions_and_classes() -> Any:
    def helper(x: float) -> Any:
        """A."""

    class Helper:
        pass

    def f(x: Any) -> Any:
        return x * len(helper.__name__ + str(helper.__doc__) + str(helper.__annotations__) + Helper.__name__)

    changes = (sets(helper, "__name__", "h"), sets(helper, "__doc__", ""), puts(helper.__annotations__, "x", 2))
    return f, *changes, sets(Helper, "__name__", "H")


@kept()
def an_attribute_of_a_partial() -> Any:
    part: Any = functools.partial(operator.mul, 2.0)
    part.k = 1.0
    return lambda x: part(x) * part.k, sets(part, "k", 3.0)


# -- objects of classes that are derived from libraries' -------------------------------------------------------------
class Level(enum.Enum):
    """Members that look alike, with an attribute."""

    LOW, HIGH = 1, 2

    def __init__(self, value: int) -> None:
        self.k = 1.0

    def __repr__(self) -> str:
        return "Level"


class Point(NamedTuple):
    """A tuple with a method, of which all look alike."""

    k: float

    def scaled(self, x: Any) -> Any:
        return x * self.k

    def __repr__(self) -> str:
        return "Point"


class Number(float):
    """Numbers that look alike."""

    def __repr__(self) -> str:
        return "Number"


@kept()
def members_that_look_alike() -> Any:
    chosen = [Level.LOW]
    return lambda x: x * chosen[0].value, puts(chosen, 0, Level.HIGH)


@kept()
def an_attribute_of_a_member() -> Any:
    return lambda x: x * Level.LOW.k, sets(Level.LOW, "k", 2.0), sets(Level.LOW, "k", 1.0)


@kept()
def tuples_that_look_alike() -> Any:
    points, scaled = [Point(1.0)], Point.scaled
    replaced = sets(Point, "scaled", lambda self, x: x * 50)
    return lambda x: points[0].scaled(x), puts(points, 0, Point(2.0)), replaced, sets(Point, "scaled", scaled)


@kept()
def numbers_that_look_alike() -> Any:
    numbers: Any = [Number(1.0), {Number(2.0): 1}]
    keys = puts(numbers, 1, {Number(3.0): 1})
    return lambda x: x * float(numbers[0]) * float(next(iter(numbers[1]))), puts(numbers, 0, Number(2.0)), keys


@kept()
def an_attribute_of_a_text() -> Any:
    class Text(str):
        k = 1.0

    text = Text("ab")
    return lambda x: x * text.k * len(text), sets(text, "k", 2.0), sets(Text, "k", 3.0), lambda: delattr(text, "k")


@kept()
def dicts_and_lists_of_people() -> Any:
    class Options(collections.UserDict):
        def __missing__(self, key: str) -> float:
            return self.default

    class Defaults(dict):
        def __missing__(self, key: str) -> float:
            return self.default

    options, defaults, numbers = Options(), Defaults(), collections.UserList([1.0])
    options.default = defaults.default = 1.0

    def f(x: Any) -> Any:
        return x * options["k"] * defaults["k"] + sum(numbers)

    changes = (sets(options, "default", 2.0), puts(options, "k", 3.0), sets(defaults, "default", 4.0))
    return f, *changes, lambda: numbers.append(5.0)


@kept()
def settings_of_a_library() -> Any:
    settings, space, local = configparser.ConfigParser(), argparse.Namespace(k=1.0), threading.local()
    settings.read_dict({"a": {"k": "1"}})
    local.k = 1.0

    def f(x: Any) -> Any:
        return x * settings.getfloat("a", "k") * space.k * local.k

    return f, lambda: settings.set("a", "k", "2"), sets(space, "k", 3.0), sets(local, "k", 4.0)


@kept()
def an_errors_arguments() -> Any:
    error = ValueError(1.0)
    return lambda x: x * error.args[0], sets(error, "args", (2.0,))


# -- closures, keys, modules -------------------------------------------------------------------------------------------
def scaling(numbers: list[float]) -> Any:
    return lambda x: x * numbers[0]


@kept()
def closures_of_one_code() -> Any:
    first, second, space = [1.0], [2.0], types.ModuleType("space")
    space.way_b = scaling(second)
    known = scaling(first)
    f = lambda x: known(x) + vars(space)["way_" + "b"](x)
    return f, puts(second, 0, 3.0), puts(first, 0, 4.0), puts(second, 0, 5.0)


@kept()
def an_object_that_no_name_leads_to() -> Any:
    class Base:
        pass

    class Derived(Base):
        k = 2.0

        @classmethod
        def number(cls) -> float:
            return cls.k

    return lambda x: x * sum(kind.number() for kind in Base.__subclasses__()), sets(Derived, "k", 3.0)


def given(*values: Any) -> Any:
    """A program of a function of these values, of which each is given twice."""

    def run(c: Any) -> Any:
        def f(x: Any, k: Any) -> Any:
            while isinstance(k, (dict, tuple)):
                k = next(iter(k))
            k = k.value if isinstance(k, enum.Enum) else k
            return torch.copysign(x.to(torch.int64 if isinstance(k, int) else None), torch.tensor(float(k))) * k

        f = c(f)
        return [f(pair(1, 2), value) for value in values * 2]

    return run


PROGRAMS |= {
    "members_given": (given(Level.LOW, Level.HIGH, (Level.LOW,), {Level.HIGH: 1}, {Level.LOW: 1}), ""),
    "numbers_given_that_look_alike": (given(Number(1.0), Number(2.0), {Number(1.0): 1}, {Number(2.0): 1}), ""),
    "tuples_given_that_look_alike": (given(Point(1.0), Point(2.0), {Point(1.0): 1}, {Point(2.0): 1}), ""),
    "numbers_given_that_are_equal": (given(1, True, 1.0, {1: 2}, {True: 2}, {1.0: 2}, 0.0, -0.0), ""),
    "numbers_given_that_are_none": (given(float("nan"), -float("nan")), ""),
    "numbers_of_numpy_given": (given(np.float32(1), np.float32(2), np.float64(1), np.float32(1)), ""),
}


@kept()
def keys_that_are_equal() -> Any:
    options: Any = {1: 1}

    def change() -> None:
        options.clear()
        options[True] = 1

    return lambda x: x * (2 if next(iter(options)) is True else 3), change


SOURCE = """
k = 1.0
def scaled(x): return x * k
class Scaled:
    k = 1.0
    def __call__(self, x): return x * self.k * k
"""


@kept()
def a_module_with_a_librarys_name() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "colorsys.py"
        path.write_text(SOURCE)
        spec: Any = importlib.util.spec_from_file_location("colorsys", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    before = sys.modules.get("colorsys")
    sys.modules["colorsys"] = module
    scaled = module.Scaled()

    def back() -> None:
        sys.modules.pop("colorsys")
        if before is not None:
            sys.modules["colorsys"] = before

    changes = (sets(module, "k", 2.0), sets(module.Scaled, "k", 3.0), sets(module, "scaled", scaled), back)
    return lambda x: module.scaled(x) + scaled(x) + x * module.k, *changes


@kept()
def functions_made_of_text() -> Any:
    names: Any = {}
    exec("k = 1.0\nclass Box: k = 1.0\ndef f(x): return x * k * Box.k * abs(-2)", names)
    changes = puts(names, "k", 2.0), sets(names["Box"], "k", 3.0), puts(names, "abs", lambda v: 5.0)
    return names["f"], *changes, lambda: names.pop("abs")


# -- objects of C ------------------------------------------------------------------------------------------------------
@kept()
def memory_that_is_shared() -> Any:
    numbers, bytes_, number, shared = array.array("d", [1.0]), bytearray(b"\1"), ctypes.c_double(1.0), mmap.mmap(-1, 8)
    value, view, flat = multiprocessing.Value("d", 1.0), memoryview(bytes_), np.ones(2, np.float32)

    def f(x: Any) -> Any:
        return x * numbers[0] * view[0] * number.value + shared[0] + value.value * (3 if flat.ndim == 2 else 2)

    changes = (puts(numbers, 0, 2.0), puts(bytes_, 0, 3), sets(number, "value", 4.0), puts(shared, 0, 5))
    return f, *changes, sets(value, "value", 6.0), lambda: flat.resize((2, 1), refcheck=False)


@kept()
def locks_and_events() -> Any:
    lock, event = threading.Lock(), threading.Event()

    def f(x: Any) -> Any:
        return x * (2 if lock.locked() else 3) * (5 if event.is_set() else 7)

    return f, lock.acquire, event.set, lock.release


@kept()
def defaults_that_are_made() -> Any:
    table: Any = collections.defaultdict(lambda: 1.0)

    def f(x: Any) -> Any:
        found = table["k"]
        table.clear()
        return x * found

    return f, sets(table, "default_factory", lambda: 4.0)


@kept()
def places_of_decimal_numbers() -> Any:
    def back() -> None:
        decimal.getcontext().prec = 28

    one_third = lambda x: x * float(decimal.Decimal(1) / decimal.Decimal(3))
    return one_third, sets(decimal.getcontext(), "prec", 2), back


HIDDEN = {
    "a queue": (queue.SimpleQueue, lambda found: found.qsize() + 1, "a SimpleQueue, whose state is not seen"),
    "a database": (lambda: sqlite3.connect(":memory:"), lambda found: found.total_changes + 1, "a Connection, whose"),
    "a pointer": (
        lambda: ctypes.pointer(ctypes.c_int(3)),
        lambda found: found.contents.value,
        "a LP_c_int, whose memory",
    ),
    "a cycle": (lambda: itertools.cycle([1.0]), next, "a cycle, which changes where it is read"),
}


def hidden(make: Any, read: Any) -> Any:
    def run(c: Any) -> Any:
        found = make()
        f = c(lambda x: x * read(found))
        with contextlib.closing(found) if hasattr(found, "close") else contextlib.nullcontext():
            return [f(pair(1, 2)) for _ in range(3)]

    return run


PROGRAMS |= {f"the_state_of_{name}": (hidden(make, read), said) for name, (make, read, said) in HIDDEN.items()}


# -- what is found by a class, a module, a cache ----------------------------------------------------------------------
@kept()
def another_class_and_other_attributes() -> Any:
    class Other(Box):
        def go(self, x: Any) -> Any:
            return x * 9

    class Base:
        def go(self, x: Any) -> Any:
            return x * 2

    class Derived(Base):
        pass

    box, derived = Box(), Derived()
    changes = (sets(box, "__dict__", {"k": 2.0}), sets(box, "__class__", Other), sets(Derived, "__bases__", (Other,)))
    return lambda x: derived.go(x) * box.k * len(type(box).__name__), *changes


@kept()
def what_a_class_is_derived_from() -> Any:
    class Base:
        k = 1.0

        def run(self, x: Any) -> Any:
            return x

        def __call__(self, x: Any) -> Any:
            return self.run(x)

    class Derived(Base):
        pass

    derived = Derived()
    changes = (sets(Base, "k", 2.0), sets(Derived, "k", 3.0), lambda: delattr(Derived, "k"))
    changes += (sets(Derived, "run", lambda self, x: x * 5), sets(Derived, "__call__", lambda self, x: x * 7))
    return lambda x: derived(x) * Derived.k * Derived().k, *changes


@kept()
def what_a_class_comes_to_have() -> Any:
    box, kind = Box(), type("Kind", (), {})
    changes = (
        sets(Box, "j", property(lambda self: 3.0)),
        lambda: delattr(Box, "j"),
        sets(kind, "__bool__", lambda self: False),
    )
    return lambda x: x * (2 if kind() else 5) * getattr(box, "j", 1.0), *changes


@kept()
def defaults_of_a_dataclass() -> Any:
    @dataclasses.dataclass
    class Made:
        k: float = 1.0

    other = dataclasses.make_dataclass("Other", [("k", float, 1.0)])
    return lambda x: x * Made().k * other.k, sets(Made.__init__, "__defaults__", (3.0,)), sets(other, "k", 2.0)


@kept()
def another_class_of_a_layer() -> Any:
    layer = nn.ReLU()
    return lambda x: layer(-x), sets(layer, "__class__", nn.Tanh)


@kept()
def what_a_metaclass_has() -> Any:
    class Meta(type):
        k = 1.0

        def __getitem__(cls, key: str) -> float:
            return cls.table[key]

    class Kind(metaclass=Meta):
        table = {"k": 1.0}  # noqa: RUF012

    return lambda x: x * Kind.k * Kind["k"], sets(Meta, "k", 2.0), puts(Kind.table, "k", 3.0), sets(Kind, "k", 4.0)


@kept()
def what_is_registered() -> Any:
    class Kind(abc.ABC):  # noqa: B024
        pass

    box = Box()
    return lambda x: x * (2 if isinstance(box, Kind) else 1), lambda: Kind.register(Box)


@kept()
def attributes_that_are_computed() -> Any:
    class Open:
        def __init__(self) -> None:
            self.table = {"k": 1.0}

        def __getattr__(self, name: str) -> float:
            return self.table[name]

    class Doubled(Box):
        m = 1.0

        def __getattribute__(self, name: str) -> Any:
            found = object.__getattribute__(self, name)
            return found * object.__getattribute__(self, "m") if name == "k" else found

    class Private:
        __slots__ = ("__k",)

        def __init__(self) -> None:
            self.__k = 1.0

        def __call__(self, x: Any) -> Any:
            return x * self.__k

    opened, doubled, private = Open(), Doubled(), Private()

    def f(x: Any) -> Any:
        return private(x) * opened.k * doubled.k

    changes = (puts(opened.table, "k", 2.0), sets(doubled, "m", 3.0), sets(opened, "k", 4.0))
    return f, *changes, sets(private, "_Private__k", 5.0)


@kept()
def attributes_by_texts() -> Any:
    box, names = Box(), ["k"]

    def f(x: Any) -> Any:
        return x * operator.attrgetter(names[0])(box) * len("{0.k}".format(box))  # noqa: UP030, UP032

    return f, sets(box, "k", 22.0), sets(box, "j", 3.0), puts(names, 0, "j"), sets(box, "j", 44.0)


@kept()
def attributes_by_functions_of_other_names() -> Any:
    box, get, has = Box(), {"get": getattr}, hasattr

    def f(x: Any, look: Any = getattr) -> Any:
        return x * get["get"](box, "k") * look(box, "j", 1.0) * (2 if has(box, "later") else 1)

    return f, sets(box, "k", 2.0), sets(box, "j", 3.0), sets(box, "later", 4.0)


@kept()
def keys_of_lists_and_dicts() -> Any:
    names: Any = []
    options: Any = {}

    def f(x: Any) -> Any:
        return x * (2 if "a" in names else 3) * (5 if "a" in options else 7)

    return f, lambda: names.append("a"), puts(options, "a", 1), names.clear, options.clear


@kept()
def an_attribute_that_is_asked_for_by_a_computed_name() -> Any:
    box, name = Box(), "lat"
    return lambda x: x * (2 if hasattr(box, name + "er") else 1), sets(box, "later", 1.0)


@kept()
def a_methods_caller() -> Any:
    box, call = Box(), operator.methodcaller("go")
    box.go = lambda: 2.0
    return lambda x: x * call(box), sets(box, "go", lambda: 3.0)


@kept()
def a_modules_getattr() -> Any:
    module: Any = types.ModuleType("module")
    exec("table = {'k': 1.0}\ndef __getattr__(name): return table[name]", vars(module))
    return lambda x: x * module.k, puts(module.table, "k", 2.0), sets(module, "k", 3.0)


@kept()
def a_module_that_is_put_in_place_of_another() -> Any:
    first, second = types.ModuleType("minitorch_found"), types.ModuleType("minitorch_found")
    first.k, second.k = 2.0, 3.0
    sys.modules.pop("minitorch_found", None)

    def f(x: Any) -> Any:
        try:
            import minitorch_found
        except ImportError:
            return x
        return x * minitorch_found.k

    found = "minitorch_found"
    return f, puts(sys.modules, found, first), puts(sys.modules, found, second), lambda: sys.modules.pop(found)


@kept()
def values_of_another_context() -> Any:
    variable, context = ContextVar("variable", default=1.0), Context()
    context.run(variable.set, 2.0)
    return lambda x: x * context[variable], lambda: context.run(variable.set, 3.0)


@kept()
def references_that_are_weak() -> Any:
    first, second = Box(), Box(2.0)
    table, kept_ = weakref.WeakValueDictionary(k=first), weakref.WeakKeyDictionary({first: 1.0})
    return (
        lambda x: x * table["k"].k * kept_[first],
        sets(first, "k", 3.0),
        puts(table, "k", second),
        puts(kept_, first, 4.0),
    )


@kept()
def a_cache_that_is_cleared() -> Any:
    box = Box()

    @functools.lru_cache
    def found() -> float:
        return box.k

    @functools.cache
    def table() -> dict[str, float]:
        return {"k": box.k}

    def changed() -> None:
        table()["k"] = 7.0

    changes = (sets(box, "k", 2.0), found.cache_clear, changed, table.cache_clear)
    return lambda x: x * found() * table()["k"], *changes


@kept()
def options_of_printing() -> Any:
    number = torch.tensor([1.23456])

    def f(x: Any) -> Any:
        return x * len(str(number))

    return f, lambda: torch.set_printoptions(precision=2), lambda: torch.set_printoptions(profile="default")


# -- what people put in place of a library's --------------------------------------------------------------------------
def by_name(x: Any, layers: Any) -> Any:
    return getattr(F, "relu" if layers.training else "tanh")(x)


def by_argument(x: Any, layers: Any, library: Any = torch) -> Any:
    return library.exp(x)


def replaced(holder: Any, name: str, function: Any) -> Any:
    """A program of a function for which something in a library is replaced, and put back."""

    def run(c: Any) -> Any:
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        f, before = c(lambda x: function(x, layers)), getattr(holder, name)
        with torch.no_grad():
            out = [f(pair(1, 2)), f(pair(1, 2))]
            try:
                setattr(holder, name, lambda *args, **options: pair(3, 5))
                out += [f(pair(1, 2)), f(pair(1, 2))]
            finally:
                setattr(holder, name, before)
            return [*out, f(pair(1, 2))]

    return run


REPLACED = {
    "F.relu": (F, "relu", lambda x, layers: F.relu(x)),
    "F.relu_of_a_layer": (F, "relu", lambda x, layers: layers(x)),
    "F.relu_by_its_whole_name": (F, "relu", lambda x, layers: torch.nn.functional.relu(x)),
    "F.relu_by_a_computed_name": (F, "relu", by_name),
    "torch.exp_of_an_argument": (torch, "exp", by_argument),
    "torch.exp": (torch, "exp", lambda x, layers: torch.exp(x)),
    "Tensor.exp": (torch.Tensor, "exp", lambda x, layers: x.exp()),
    "Linear.forward": (nn.Linear, "forward", lambda x, layers: layers(x)),
    "Module.__call__": (nn.Module, "__call__", lambda x, layers: layers(x)),
    "math.sqrt": (math, "sqrt", lambda x, layers: x * torch.as_tensor(math.sqrt(4.0))),
    "abs": (builtins, "abs", lambda x, layers: x * torch.as_tensor(abs(-4.0))),
    "Template.substitute": (
        string.Template,
        "substitute",
        lambda x, layers: x * len(string.Template("$a").substitute(a="aa")),
    ),
}
PROGRAMS |= {f"{name}_replaced": (replaced(*case), "") for name, case in REPLACED.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """An object that does not change, of a list that does."""

    numbers: list[float]
    k: float = 1.0


@kept()
def an_object_that_is_frozen() -> Any:
    frozen = Frozen([1.0])
    change = lambda: object.__setattr__(frozen, "k", 3.0)
    return lambda x: x * frozen.numbers[0] * frozen.k, puts(frozen.numbers, 0, 2.0), change
