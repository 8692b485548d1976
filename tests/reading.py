"""Programs, as in ``changing``, that read a part of what they name, or come to read more of it than at the first call."""

from __future__ import annotations

import argparse
import collections
import functools
import logging
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

import minitorch as torch
from changing import pair, program, said
from minitorch import nn
from reaching_found import PROGRAMS

__all__ = ["PROGRAMS"]


class Box:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def after(function: Any, *changes: Callable[[], Any]) -> list[Any]:
    """What a function gives, twice before and after each change."""
    found = [function(pair(1, 2)) for _ in range(2)]
    for change in changes:
        change()
        found += [function(pair(1, 2)) for _ in range(2)]
    return found


def named(function: Any, of: Any = "a") -> list[Any]:
    """What a function gives for batches with a text in them."""
    return [function({"x": pair(1, 2), "id": of * i}) for i in range(1, 4)]


# -- branches that were not taken --------------------------------------------------------------------------------------
@program()
def a_branch_that_is_taken_later(c: Any) -> Any:
    box = Box(flag=False, factor=1.0)
    f = c(lambda x: x * box.factor if box.flag else x)
    return after(
        f,
        functools.partial(setattr, box, "factor", 2.0),
        functools.partial(setattr, box, "flag", True),
        functools.partial(setattr, box, "factor", 3.0),
        functools.partial(setattr, box, "flag", False),
    )


@program()
def conditions_that_end_early(c: Any) -> Any:
    box = Box(a=False, b=True, items=[1.0])
    f = c(lambda x: x * 2 if (box.a and box.b) else x * ((box.items and box.items[0]) or 9))
    return after(
        f,
        lambda: vars(box).update(b=False),
        lambda: vars(box).update(a=True, b=True),
        lambda: vars(box).update(a=False),
        lambda: operator.setitem(box.items, 0, 4.0),
        box.items.clear,
    )


@program()
def branches_over_values_that_read_options(c: Any) -> Any:
    box, out = Box(up=1.0, down=2.0), []
    f = c(lambda x: x * box.up if x.sum() > 0 else x * box.down)
    for i in range(6):
        vars(box).update({"down": 7.0} if i == 3 else {"up": 9.0} if i == 4 else {})
        out += [f(pair(1, 2)), f(pair(-1, -2))]
    return out


@program()
def a_helper_that_returns_early(c: Any) -> Any:
    options: dict[str, Any] = {"skip": True, "factor": 2.0}

    def helped(x: Any) -> Any:
        if options["skip"]:
            return x
        return x * options["factor"]

    f = c(lambda x: helped(x) + 1)
    return after(
        f, lambda: options.update(factor=3.0), lambda: options.update(skip=False), lambda: options.update(factor=4.0)
    )


@program()
def keys_that_are_missed(c: Any) -> Any:
    options: dict[str, Any] = {}
    box = Box(other=4.0)

    def f(x: Any) -> Any:
        try:
            return x * options["factor"]
        except KeyError:
            return x * box.other

    changes: list[Any] = [{"other": 3.0}, {"factor": 2.0}, {"other": 8.0}]
    found = after(
        c(f), *[lambda change=change: (vars(box).update(change), options.update(change)) for change in changes]
    )
    options.clear()
    return [*found, box.other]


# -- parts of containers -----------------------------------------------------------------------------------------------
@program()
def items_by_constant_keys(c: Any) -> Any:
    options: dict[str, Any] = {"a": 1.0, "b": [1, 2, {"c": 3}]}
    f = c(lambda x: x * options["a"] + options["b"][2]["c"] + options["b"][-3] + options.get("z", 0) + ("q" in options))
    return after(
        f,
        lambda: options.update(a=2.0),
        lambda: options["b"][2].update(c=5),
        lambda: operator.setitem(options["b"], 0, 9),
        lambda: options.update(z=1),
        lambda: options.update(q=None),
        lambda: options.pop("q"),
        lambda: options.update(b=[0, 0, {"c": 1}]),
        lambda: options["b"].insert(0, 4) or options["b"].pop(1),
        lambda: options["b"].insert(2, {"c": 8}),
        *[lambda value=value: options.update(a=value) for value in (True, 1, 1.0, -0.0, 0.0)],
    )


@program()
def one_container_in_parts_and_as_a_whole(c: Any) -> Any:
    options = {"a": 1.0, "b": 2.0}
    box = Box(options=options, same=options)
    f = c(lambda x: x * box.options["a"] + operator.itemgetter("b")(box.same))
    return after(f, lambda: options.update(b=3.0), lambda: options.update(a=3.0))


@program()
def variables_for_a_container(c: Any) -> Any:
    options: dict[str, Any] = {"a": 1.0, "b": 2.0, "key": "a"}

    def f(x: Any) -> Any:
        ours = options
        same = ours
        factor = ours["a"]
        return x * factor + same[options["key"]] + (lambda: same["b"])()

    return after(c(f), lambda: options.update(b=3.0), lambda: options.update(a=3.0), lambda: options.update(key="b"))


@program()
def lengths(c: Any) -> Any:
    items: list[Any] = [1.0]
    f = c(lambda x: x * len(items) + (1 if items else 2))
    return after(f, lambda: items.append(1), items.clear, lambda: items.append(3))


@program()
def a_function_called_len(c: Any) -> Any:
    items = [1.0]
    len = sum
    f = c(lambda x: x * len(items))
    return after(f, lambda: operator.setitem(items, 0, 5.0))


@program()
def what_is_none_at_first(c: Any) -> Any:
    box = Box(cache=None)
    f = c(lambda x: x if box.cache is None else x * 2)
    return after(f, lambda: vars(box).update(cache={}), lambda: vars(box).update(cache=None))


@program()
def keys_that_become_variables(c: Any) -> Any:
    options = {"a": 1, "bb": 2}

    def f(x: Any) -> Any:
        _, second = options
        return x * len(second)

    return after(c(f), lambda: (options.pop("bb"), options.update(bbb=1)))


@program()
def a_class_that_reads_around_it(c: Any) -> Any:
    options = {"a": 1.0}

    def f(x: Any) -> Any:
        first = options["a"]

        class Inner:
            total = sum(options.values())

        return x * Inner.total + first

    return after(c(f), lambda: options.update(b=3.0))


@program()
def patterns(c: Any) -> Any:
    box = Box(options={"a": 1.0, "b": 1.0}, kind=1)

    def f(x: Any) -> Any:
        first = box.options["a"]
        match box:
            case Box(options=options, kind=1):
                return x * options["b"] + first
            case _:
                return x

    return after(c(f), lambda: box.options.update(b=3.0), lambda: vars(box).update(kind=2))


@program()
def values_that_are_handed_on(c: Any) -> Any:
    options: dict[str, Any] = {"a": (1.0, 2.0), "named": {"m": 1.0}, "l": [1.0], "key": "l"}

    def helped(a: float, b: float, m: float) -> float:
        return a + b * m

    def f(x: Any) -> Any:
        items = options["l"]
        return x * helped(*options["a"], **options["named"]) + sum(items) + len(options[f"{options['key']}"])

    return after(
        c(f),
        lambda: options.update(a=(2.0, 3.0)),
        lambda: options["named"].update(m=3.0),
        lambda: options["l"].append(4.0),
        lambda: options.update(key="a"),
    )


@program()
def tensors_by_keys(c: Any) -> Any:
    weights: dict[str, Any] = {"w": torch.ones(2), "v": torch.ones(2)}
    f = c(lambda x: x * weights["w"])
    return after(f, lambda: weights["w"].mul_(3), lambda: weights.update(w=pair(7, 7)), lambda: weights.update(v=1))


@program()
def containers_of_other_kinds(c: Any) -> Any:
    counts: Any = collections.defaultdict(lambda: 3.0)
    f = c(lambda x: x * counts["a"])
    return after(f, lambda: counts.update(a=4.0))


@program("a call changes table['n']")
def a_count_in_a_large_table(c: Any) -> Any:
    table: dict[Any, Any] = dict.fromkeys(range(20_000), 0) | {"n": {"k": 0}}

    def f(x: Any) -> Any:
        table["n"]["k"] += 1
        return x * table["n"]["k"]

    f = c(f)
    return [f(pair(1, 2)) for _ in range(4)]


@program("a call changes kept")
def items_that_are_set(c: Any) -> Any:
    kept, out = {"last": 3}, []

    def f(x: Any) -> Any:
        kept["last"] = 3
        return x * 2

    f = c(f)
    for i in range(4):
        f(pair(1, 2))
        out.append(kept["last"])
        kept["last"] = i
    return out


# -- computed names ----------------------------------------------------------------------------------------------------
class ByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.name, self.k, self.j, self._private = "k", 1.0, 2.0, {"a": [1.0]}

    def forward(self, x: Any) -> Any:
        x = x * getattr(self, self.name) * getattr(self, self.name + "q", 1.0) + self._private["a"][0]
        return x * 2 if hasattr(self, "z" + self.name) else x * 3


@program()
def computed_names(c: Any) -> Any:
    class Own(ByName):
        pass

    model = Own()
    return after(
        c(model),
        *[functools.partial(setattr, model, *given) for given in (("j", 5.0), ("name", "j"), ("j", 7.0), ("jq", 3.0))],
        functools.partial(setattr, model, "zj", 3.0),
        functools.partial(delattr, model, "zj"),
        functools.partial(setattr, Own, "zj", 1),
        functools.partial(setattr, Own, "jq", 8.0),
        functools.partial(delattr, model, "jq"),
        lambda: operator.setitem(model._private["a"], 0, 4.0),
        functools.partial(setattr, model, "_private", {"a": [7.0]}),
    )


@program("a call changes box.kk")
def attributes_set_by_computed_names(c: Any) -> Any:
    box, out = Box(kk=3.0), []

    def f(x: Any) -> Any:
        setattr(box, "k" + "k", 3.0)
        return x * 2

    f = c(f)
    for _ in range(4):
        f(pair(1, 2))
        out.append(box.kk)
        box.kk = 1.0
    return out


@program()
def attributes_of_functions(c: Any) -> Any:
    def helped(x: Any) -> Any:
        return x * helped.factor * (2 if hasattr(helped, "more") else 1)

    helped.factor = 1.0
    f = c(lambda x: helped(x))
    return after(f, functools.partial(setattr, helped, "factor", 2.0), functools.partial(setattr, helped, "more", 1))


@program()
def attributes_of_namespaces(c: Any) -> Any:
    space = argparse.Namespace(k=1.0)
    f = c(lambda x: x * space.k * getattr(space, "z", 1.0) + len(vars(space)))
    return after(f, functools.partial(setattr, space, "k", 2.0), functools.partial(setattr, space, "z", 3.0))


@program()
def levels_of_logs(c: Any) -> Any:
    log = logging.getLogger("minitorch_tests.levels")
    f = c(lambda x: x * 2 if log.isEnabledFor(logging.DEBUG) else x)
    try:
        return after(
            f,
            *[functools.partial(log.setLevel, level) for level in ("INFO", "DEBUG")],
            *[functools.partial(logging.disable, level) for level in (50, 0)],
        )
    finally:
        log.setLevel(logging.NOTSET)


# -- functions that others call ----------------------------------------------------------------------------------------
FACTOR = 1.0


def read_factor(_: Any = None) -> float:
    return FACTOR


def factors(function: Any) -> list[Any]:
    global FACTOR
    found = []
    for FACTOR in (1.0, 1.0, 2.0, 3.0):  # noqa: B007
        found.append(function(pair(1, 2)))
    FACTOR = 1.0
    return found


@program()
def a_function_in_another_thread(c: Any) -> Any:
    def f(x: Any) -> Any:
        found: list[float] = []
        thread = threading.Thread(target=lambda: found.append(read_factor()))
        thread.start()
        thread.join()
        return x * found[0]

    return factors(c(f))


@program()
def functions_that_c_code_calls(c: Any) -> Any:
    weights = {"a": 1, "b": 2}
    found = factors(c(lambda x: x * sum(map(read_factor, range(2)))))
    f = c(lambda x: x * max("ab", key=lambda k: weights[k]).count("a") + max("ab", key=weights.get).count("b"))
    return found + after(f, lambda: weights.update(a=3), lambda: weights.update(b=9))


@program()
def a_generator_that_reads(c: Any) -> Any:
    def rows() -> Iterator[float]:
        yield 1.0
        yield FACTOR

    return factors(c(lambda x: x * sum(rows())))


@program()
def a_cache_that_forgets(c: Any) -> Any:
    global FACTOR

    @functools.lru_cache(maxsize=1)
    def table(k: int) -> float:
        return k * FACTOR

    f = c(lambda x: x * table(1))
    found = [f(pair(1, 2)) for _ in range(2)]
    FACTOR = 2.0
    found.append(f(pair(1, 2)))
    table(2)
    found += [f(pair(1, 2)) for _ in range(2)]
    table.cache_clear()
    FACTOR = 5.0
    found.append(f(pair(1, 2)))
    FACTOR = 1.0
    return found


# -- parts of arguments ------------------------------------------------------------------------------------------------
@program()
def texts_that_a_helper_reads(c: Any) -> Any:
    def helped(data: Any) -> int:
        return len(data["id"])

    return named(c(lambda data: data["x"] * helped(data)))


@program()
def texts_that_become_arguments(c: Any) -> Any:
    def helped(x: Any, id: str) -> Any:
        return x * len(id)

    return named(c(lambda data: helped(**data)))


@program()
def texts_that_are_read_within(c: Any) -> Any:
    f = c(lambda data: data["x"] * sum([len(data["id"]) for _ in range(2)]))
    g = c(lambda data: sum([len(v) if isinstance(v, str) else v for v in data.values()]))
    return named(f) + named(g)


@program()
def texts_that_hooks_and_bases_read(c: Any) -> Any:
    class Model(nn.Module):
        def forward(self, data: Any) -> Any:
            return data["x"] * 2

    class Longer(nn.Module):
        def forward(self, data: Any) -> Any:
            return data["x"] * len(data["id"])

    class Derived(Longer):
        def forward(self, data: Any) -> Any:
            return super().forward(data) + 1

    model = Model()
    found = named(c(model))
    model.register_forward_hook(lambda module, given, out: out * len(given[0]["id"]))
    return [*found, *named(c(model)), *named(c(Derived()))]


@program()
def arguments_seen_in_other_ways(c: Any) -> Any:
    def swapped(data: Any, k: Any) -> Any:
        data, k = k, data
        return data["x"] * k

    def within(sample: Any) -> Any:
        x, _, name = sample

        def length() -> int:
            return len(name)

        return x * length()

    def keys(data: Any) -> Any:
        first, second = data
        return data[first] * len(second)

    f = c(lambda x, k: x * locals()["k"])
    found = [f(pair(1, 2), i) for i in range(3)]
    g, h, k = c(swapped), c(within), c(keys)
    found += [g(i, {"x": pair(1, 2)}) for i in range(3)] + [h((pair(1, 2), 1, "a" * i)) for i in range(3)]
    return found + [k({"x": pair(1, 2), "a" * i: 1}) for i in range(2, 5)]


@program()
def arguments_that_are_returned(c: Any) -> Any:
    f = c(lambda x, k, *others, m="a", **more: (x * len(others) * len(m) * len(more), k))
    calls = [
        (k, rest, m, more) for k in (None, "a", 1) for rest in ((1,), (2, 3)) for m in "ab" for more in ("q", "rs")
    ]
    return [f(pair(1, 2), k, *rest, m=m, **dict.fromkeys(more, 1)) for k, rest, m, more in calls]


# -- items that are gone through ---------------------------------------------------------------------------------------
def kept_by_a_function(records: Any, x: Any) -> Any:
    for record in records:
        x = x * (lambda: record["b"])()
    return x


def under_another_name(records: Any, x: Any) -> Any:
    for record in records:
        other = record
        x = x * other["a"]
    return x * record["b"]


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "some_items": lambda records, x: x * sum(record["a"] for record in records),
    "some_items_of_chosen_records": lambda records, x: x * sum([r["a"] for r in records if r.get("c", 0) == 0]),
    "all_items": lambda records, x: x * sum(v for record in records for v in record.values()),
    "keys": lambda records, x: x * sum(records[0][key] for key in records[0]),
    "records_themselves": lambda records, x: x * sorted(records, key=lambda r: r["a"])[0]["b"],
    "a_record_that_a_function_keeps": kept_by_a_function,
    "a_record_under_another_name": under_another_name,
}


def gone_through(body: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def program(c: Any) -> Any:
        box = Box(records=[{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}])
        return after(
            c(lambda x: body(box.records, x)),
            lambda: box.records[0].update(b=9.0),
            lambda: box.records[1].update(a=5.0),
            lambda: box.records.append({"a": 2.0, "b": 7.0}),
            lambda: box.records.__setitem__(1, {"a": 0.5, "b": 1.0, "c": 1}),
            lambda: box.records[1].update(c=0),
            lambda: setattr(box, "records", box.records[::-1]),
        )

    return program


PROGRAMS |= {f"a_loop_over_{name}": (gone_through(body), "") for name, body in LOOPS.items()}


@program()
def numbers_that_errors_and_their_handlers_read(c: Any) -> Any:
    def refused(x: Any, n: int) -> Any:
        if x[0] > 1:
            raise ValueError(f"at {n}")
        return x * 2

    def caught(x: Any, n: int) -> Any:
        try:
            if x.dim() == 1:
                raise ValueError(n)
        except ValueError as error:
            return x * error.args[0]
        return x

    def kinds(x: Any, n: Any) -> Any:
        return x * 2 if isinstance(n, (int, str)) else x

    f, g, k = c(refused), c(caught), c(kinds)
    found = [said(functools.partial(f, pair(i, 2), i)) for i in range(4)] + [g(pair(1, 2), i) for i in range(3)]
    return found + [k(pair(1, 2), n) for n in (1, "a", 2.0, None)]
