"""Functions and modules as people write them, called as people call them, with how many programs there should be.

Each is called with ``static.compile`` and with a function that compiles nothing, and gives a list of results.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import functools
import logging
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

PROGRAMS: dict[str, tuple[Callable[[Any], Any], int]] = {}
"""By name: what is called, and the number of programs that it takes."""
CALLS = 12
log = logging.getLogger(__name__)


def program(programs: int = 1) -> Callable[[Any], Any]:
    def decorator(function: Any) -> Any:
        PROGRAMS[function.__name__] = function, programs
        return function

    return decorator


def batch(seed: int = 0, rows: int = 3, size: int = 4) -> Any:
    return torch.randn(rows, size, generator=torch.Generator().manual_seed(seed))


def calls(function: Any, *others: Any) -> list[Any]:
    """What a function of batches gives, without history."""
    with torch.no_grad():
        return [function(batch(i), *others) for i in range(CALLS)]


def changed(function: Any, change: Callable[[int], Any]) -> list[Any]:
    """What a function gives of which something changes before each call."""
    found = []
    with torch.no_grad():
        for i in range(CALLS):
            change(i)
            found.append(function(batch(i)))
    return found


# -- configurations ----------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Config:
    width: int = 4
    scale: float = 0.5
    act: str = "relu"
    epoch: int = 0
    history: list[float] = dataclasses.field(default_factory=list)


class Kind(enum.Enum):
    MEAN = "mean"
    SUM = "sum"


@program()
def a_dict_of_options(c: Any) -> Any:
    options: dict[str, Any] = {"scale": 0.5, "epoch": 0}
    f = c(lambda x: x * options["scale"] + options.get("shift", 1.0) * ("bias" in options))
    return changed(f, lambda i: options.update(epoch=i, **{f"note{i}": i}))


@program()
def nested_options(c: Any) -> Any:
    options: dict[str, Any] = {"model": {"scale": 0.5, "widths": [4, 8]}, "seen": 0}
    f = c(lambda x: x * options["model"]["scale"] + options["model"]["widths"][0])
    return changed(f, lambda i: (options.update(seen=i), options["model"].update(step=i)))


@program()
def options_of_a_module(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self, cfg: dict[str, Any]) -> None:
            super().__init__()
            self.cfg, self.layer = cfg, nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            cfg = self.cfg
            x = self.layer(x)
            if cfg["norm"]:
                x = x / x.norm()
            return x * cfg["scale"]

    cfg = {"norm": True, "scale": 2.0, "epoch": 0}
    return changed(c(Model(cfg)), lambda i: cfg.update(epoch=i))


@program()
def a_dataclass(c: Any) -> Any:
    cfg = Config()

    def change(i: int) -> None:
        cfg.epoch = i
        cfg.history.append(i)

    return changed(c(lambda x: x[:, : cfg.width] * cfg.scale), change)


@program()
def parsed_arguments(c: Any) -> Any:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args(["--scale", "2"])

    def f(x: Any) -> Any:
        if args.verbose:
            print("epoch", args.epoch)
        return x * args.scale

    return changed(c(f), lambda i: setattr(args, "epoch", i))


@program()
def members_of_an_enum(c: Any) -> Any:
    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kind, self.calls = Kind.MEAN, 0

        def forward(self, x: Any) -> Any:
            return x.mean(-1) if self.kind is Kind.MEAN else x.sum(-1) / self.calls

    pool = Pool()
    return changed(c(pool), lambda i: setattr(pool, "calls", i))


@program(2)
def an_enum_as_an_argument(c: Any) -> Any:
    f = c(lambda x, kind: x.mean() if kind == Kind.MEAN else x.sum())
    return [f(batch(i), kind) for i in range(CALLS) for kind in Kind]


@program()
def constants_of_a_class(c: Any) -> Any:
    class Model(nn.Module):
        EPS, made = 1e-5, 0

        def forward(self, x: Any) -> Any:
            return x / (x.std() + self.EPS) + type(self).EPS + Model.EPS

    return changed(c(Model()), lambda i: setattr(Model, "made", i))


# -- functions by configured names -------------------------------------------------------------------------------------
class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act, self.epoch, self.count = "gelu", 0, 3
        for i in range(self.count):
            setattr(self, f"layer{i}", nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        for i in range(self.count):
            x = getattr(F, self.act)(getattr(self, f"layer{i}")(x))
        return x * 2 if hasattr(self, "missing" + "_name") else x


@program()
def activations_and_layers_by_name(c: Any) -> Any:
    model = Named()
    return changed(c(model), lambda i: setattr(model, "epoch", i))


@program()
def a_table_of_functions(c: Any) -> Any:
    table: dict[str, Any] = {"relu": torch.relu, "tanh": torch.tanh, "sin": lambda x: x.sin()}
    name = "sin"
    return changed(c(lambda x: table[name](x)), lambda i: None)


@program(2)
def another_activation(c: Any) -> Any:
    model = Named()
    return changed(c(model), lambda i: setattr(model, "act", ["gelu", "silu"][i // 6]))


# -- what is switched off ----------------------------------------------------------------------------------------------
class Logged(nn.Module):
    def __init__(self, verbose: bool = False) -> None:
        super().__init__()
        self.verbose, self.step, self.times, self.layer = verbose, 0, [], nn.Linear(4, 2)

    def report(self, x: Any) -> None:
        print(f"step {self.step}: {x.mean().item()}, {self.times}")

    def forward(self, x: Any) -> Any:
        x = self.layer(x)
        if self.verbose:
            self.report(x)
        if self.verbose and self.step % 10 == 0:
            log.info("step %d", self.step)
        return x


@program()
def verbose_branches(c: Any) -> Any:
    model = Logged()

    def change(i: int) -> None:
        model.step += 1
        model.times.append(time.perf_counter())

    return changed(c(model), change)


@program()
def assertions_on_shapes(c: Any) -> Any:
    model = Logged()

    def f(x: Any) -> Any:
        assert x.dim() == 2, f"a matrix at step {model.step}, not {x.shape}"
        assert x.shape[-1] == 4
        assert x.dtype == torch.float32
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"step {model.step}: {type(x)}")
        return x * 2

    return changed(c(f), lambda i: setattr(model, "step", i))


@program()
def a_data_set_beside(c: Any) -> Any:
    class Data:
        def __init__(self) -> None:
            self.items, self.read = [1.0], 0

        def __len__(self) -> int:
            return len(self.items)

        def __getitem__(self, i: int) -> Any:
            self.read += 1
            return self.items[i]

        def __iter__(self) -> Any:
            return iter(self.items)

    class Trainer:
        def __init__(self) -> None:
            self.data, self.weight = Data(), torch.ones(4)

        def step(self, x: Any) -> Any:
            return x * self.weight.data

    trainer = Trainer()
    return changed(c(trainer.step), lambda i: (trainer.data.items.append(trainer.data[0]), len(trainer.data)))


@program()
def a_counter_behind_an_exception(c: Any) -> Any:
    state: dict[str, Any] = {"step": 0}

    def f(x: Any) -> Any:
        try:
            return x.reshape(4, 3) + 1
        except RuntimeError as error:
            raise RuntimeError(f"at step {state['step']} of {state}") from error

    return changed(c(f), lambda i: state.update(step=i))


# -- what is counted, measured and kept outside ------------------------------------------------------------------------
@program()
def a_training_step(c: Any) -> Any:
    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
            self.epoch, self.best, self.losses, self._seen = 0, math.inf, [], 0
            self.metrics: dict[str, Any] = collections.defaultdict(list)
            self.compiled = c(self.step)

        def step(self, x: Any, y: Any) -> Any:
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss.detach()

        def fit(self) -> Any:
            for self.epoch in range(CALLS):
                began = time.perf_counter()
                loss = self.compiled(batch(self.epoch), batch(self.epoch, size=1))
                self.losses.append(loss.item())
                self.best = min(self.best, self.losses[-1])
                self.metrics["time"].append(time.perf_counter() - began)
                self._seen += 3
            return self.losses

    return Trainer().fit()


@program()
def an_epoch_of_a_module(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.epoch, self._steps, self._history = nn.Linear(4, 2), 0, 0, []

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    model = Model()

    def change(i: int) -> None:
        model.epoch, model._steps = i, i * 3
        model._history.append(i)

    return changed(c(model), change)


@program()
def the_best_so_far(c: Any) -> Any:
    best: dict[str, Any] = {"loss": None, "state": None}
    f = c(lambda x: x * 2 if best is not None else x)
    return changed(f, lambda i: best.update(loss=i, state=torch.ones(i + 1)))


@program()
def the_last_of_a_list(c: Any) -> Any:
    widths: list[Any] = [4, 8]
    return changed(c(lambda x: x[:, : widths[0]] / len(widths)), lambda i: widths.__setitem__(1, i))


@program()
def a_large_table(c: Any) -> Any:
    words = {f"word{i}": i for i in range(20_000)}
    return changed(c(lambda x: x + words["word3"]), lambda i: words.update({f"more{i}": i}))


# -- layers in containers ----------------------------------------------------------------------------------------------
class Containers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(3)])
        self.shifts = nn.ParameterDict({"x": nn.Parameter(torch.ones(4))})
        self.steps = 0

    def forward(self, x: Any) -> Any:
        for i, (layer, scale) in enumerate(zip(self.layers, self.scales)):
            x = layer(x) * scale + i
        x = x + self.shifts["x"]
        return {name: head(x) for name, head in self.heads.items()}


@program()
def containers_of_modules(c: Any) -> Any:
    model = Containers()
    return changed(c(model), lambda i: setattr(model, "steps", i))


@program()
def a_chosen_head(c: Any) -> Any:
    model = Containers()
    f = c(lambda x: model.heads["a"](model.layers[0](x)) + len(model.layers))
    return changed(f, lambda i: setattr(model, "steps", i))


@program()
def properties(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._width, self.reads = 4, 0

        @property
        def width(self) -> int:
            return self._width * 2

        @functools.cached_property
        def scale(self) -> float:
            return self._width**-0.5

        def forward(self, x: Any) -> Any:
            return x * self.width * self.scale

    model = Model()
    return changed(c(model), lambda i: setattr(model, "reads", i))


# -- masks, positions, and caches --------------------------------------------------------------------------------------
@program()
def masks_made_of_shapes(c: Any) -> Any:
    def f(x: Any) -> Any:
        rows, size = x.shape
        mask = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
        scores = (x.unsqueeze(-1) * x.unsqueeze(-2)).masked_fill(mask, float("-inf"))
        return scores.softmax(-1) + torch.arange(size, device=x.device).expand(rows, 1, size)

    return calls(c(f))


@program()
def a_mask_that_is_kept(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mask, self.calls = None, 0

        def forward(self, x: Any) -> Any:
            if self.mask is None or self.mask.shape[0] != x.shape[1]:
                self.mask = torch.tril(torch.ones(x.shape[1], x.shape[1]))
            return x @ self.mask

    model = Model()
    return changed(c(model), lambda i: setattr(model, "calls", i))


@program()
def a_dict_of_kept_tensors(c: Any) -> Any:
    class Rotary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._cache: dict[int, Any] = {}

        def table(self, size: int) -> Any:
            if size not in self._cache:
                self._cache[size] = torch.arange(float(size)).cos()
            return self._cache[size]

        def forward(self, x: Any) -> Any:
            return x * self.table(x.shape[-1])

    return calls(c(Rotary()))


@program()
def positions(c: Any) -> Any:
    class Embedder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(10, 4), nn.Embedding(16, 4)
            self.register_buffer("ids", torch.arange(16), persistent=False)

        def forward(self, tokens: Any) -> Any:
            size = tokens.size(1)
            return self.words(tokens) + self.places(self.ids[:size]) + self.places(torch.arange(size)).mean()

    f = c(Embedder())
    with torch.no_grad():
        return [f(torch.full((2, 5), i % 10)) for i in range(CALLS)]


# -- arguments ---------------------------------------------------------------------------------------------------------
@program()
def a_number_of_the_batch(c: Any) -> Any:
    class Model(nn.Module):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            assert isinstance(batch, tuple), f"batch {batch_idx} is a {type(batch)}"
            x, y = batch
            if x.dim() != 2:
                raise ValueError(f"batch {batch_idx} has shape {x.shape}")
            return (x - y).square().mean()

    f = c(Model().training_step)
    return [f((batch(i), batch(i + 1)), i) for i in range(CALLS)]


@program()
def a_batch_with_names(c: Any) -> Any:
    f = c(lambda b: b["x"] * 2 + b["y"].sum())
    return [f({"x": batch(i), "y": batch(i), "id": f"a{i}", "files": [f"{i}.png", "b"]}) for i in range(CALLS)]


@program()
def a_batch_with_names_for_a_module(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, batch: dict[str, Any], scale: float = 2.0) -> Any:
            x = batch["x"]
            if "mask" in batch:
                x = x * batch["mask"]
            return self.layer(x) * scale

    f = c(Model())
    with torch.no_grad():
        return [f(batch={"x": batch(i), "path": f"{i}.png", "row": np.arange(i)}) for i in range(CALLS)]


@program()
def a_batch_in_a_tuple(c: Any) -> Any:
    def f(sample: Any) -> Any:
        x, y, name = sample  # noqa: RUF059
        return x + y

    f = c(f)
    return [f((batch(i), batch(i + 1), f"name{i}")) for i in range(CALLS)]


class Sample(NamedTuple):
    x: Any
    y: Any


@program()
def named_tuples(c: Any) -> Any:
    f = c(lambda sample: sample.x + sample.y)
    return [f(Sample(batch(i), batch(i + 1))) for i in range(CALLS)]


@program()
def numbers_of_numpy(c: Any) -> Any:
    f = c(lambda x, scale, size, flag: x[:, :size] * scale if flag else x)
    return [f(batch(i), np.float64(0.1), np.int64(3), np.bool_(True)) for i in range(CALLS)]


@program(4)
def numbers_of_each_kind(c: Any) -> Any:
    f = c(lambda x, scale: x.double() * scale)
    scales: list[Any] = [2, 2.0, np.float32(2), np.int64(2)]
    return [f(batch(i), scale) for i in range(CALLS) for scale in scales]


@program(2)
def optional_arguments(c: Any) -> Any:
    def f(x: Any, mask: Any = None, *, scale: float = 2.0, causal: bool = False) -> Any:
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        return x.cumsum(0) * scale if causal else x * scale

    f = c(f)
    return [f(batch(i), None if i % 2 else batch(i) > 0, scale=0.5, causal=False) for i in range(CALLS)]


@program()
def any_arguments(c: Any) -> Any:
    def inner(*tensors: Any, **options: Any) -> Any:
        return torch.stack(tensors).sum(0) * options.get("scale", 1.0)

    def f(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    f = c(f)
    return [f(batch(i), batch(i + 1), scale=2.0) for i in range(CALLS)]


@program(2)
def flags(c: Any) -> Any:
    f = c(lambda x, train: F.dropout(x, 0.5, training=train) if train else x * 2)
    return [f(batch(i), i < 6) for i in range(CALLS)]


@program(2)
def a_smaller_last_batch(c: Any) -> Any:
    f = c(lambda x: (x - x.mean(0)).softmax(-1))
    return [f(batch(i, rows=2 if i % 4 == 3 else 5)) for i in range(CALLS)]


@program(4)
def sequences_of_some_lengths(c: Any) -> Any:
    f = c(lambda x: x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1))
    return [f(batch(i, size=3 + i % 4)) for i in range(CALLS)]


@program()
def slices_and_ranges(c: Any) -> Any:
    f = c(lambda x, part, columns: x[part][:, list(columns)])
    return [f(batch(i), slice(0, 2), range(3)) for i in range(CALLS)]


@program()
def nested_batches(c: Any) -> Any:
    def f(data: Any) -> Any:
        total = sum([t.sum() for t in data["images"]])
        return {"loss": total + data["target"]["boxes"].mean(), "parts": (total, [data["images"][0] * 2])}

    f = c(f)
    return [f({"images": [batch(i), batch(i + 1)], "target": {"boxes": batch(i), "size": 3}}) for i in range(CALLS)]


# -- closures, defaults, helpers ---------------------------------------------------------------------------------------
@program()
def closures_and_defaults(c: Any) -> Any:
    def make(scale: float, power: int = 2) -> Any:
        calls = [0]

        def f(x: Any, shift: float = 1.0) -> Any:
            return (x * scale) ** power + shift

        return f, calls

    f, counts = make(0.5)
    return changed(c(f), lambda i: counts.append(i))


@program()
def decorators(c: Any) -> Any:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if log.isEnabledFor(logging.DEBUG):
                log.debug("call %d", wrapper.count)
            return function(*args, **kwargs)

        wrapper.count = 0
        return wrapper

    @logged
    @torch.no_grad()
    def f(x: Any) -> Any:
        return x * 2

    return changed(c(f), lambda i: setattr(f, "count", i))


@program()
def helpers_of_another_module(c: Any) -> Any:
    import alike

    def f(x: Any) -> Any:
        return (x * math.sqrt(x.shape[-1]) if alike is not None else x) + np.pi

    return calls(c(f))


def split_heads(x: Any, heads: int) -> Any:
    rows, size = x.shape
    return x.reshape(rows, heads, size // heads).transpose(0, 1)


@program()
def reshapes(c: Any) -> Any:
    return calls(c(lambda x: split_heads(x, 2).flatten(1).unflatten(1, (-1, 2)).permute(2, 0, 1).contiguous()))


@program()
def a_partial(c: Any) -> Any:
    return calls(c(functools.partial(lambda scale, x, shift: x * scale + shift, 2.0, shift=1)))


@program()
def recursion_and_comprehensions(c: Any) -> Any:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    return calls(c(lambda x: torch.stack([power(row, n + 1) for n, row in enumerate(x)])))


@program()
def generators(c: Any) -> Any:
    def rows(x: Any, bias: float) -> Any:
        for row in x:
            yield row + bias

    return calls(c(lambda x: sum(rows(x, 1.0))))


# -- training, inference, modes ----------------------------------------------------------------------------------------
@program(2)
def inference_after_training(c: Any) -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def train(x: Any) -> Any:
        model.train()
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def evaluate(x: Any) -> Any:
        model.eval()
        return model(x)

    train, evaluate, found = c(train), c(evaluate), []
    for epoch in range(4):
        model.train()
        found += [train(batch(3 * epoch + i)) for i in range(3)]
        model.eval()
        found += [evaluate(batch(i)) for i in range(2)]
    return found


@program(2)
def gradients_on_and_off(c: Any) -> Any:
    w, found = torch.ones(4, requires_grad=True), []
    f = c(lambda x: (x * w.detach()).relu())
    for i in range(CALLS):
        with torch.set_grad_enabled(i % 2 == 0):
            found.append(f(batch(i)))
    return found


@program(2)
def gradients_that_accumulate(c: Any) -> Any:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, update: bool) -> Any:
        loss = model(x).square().mean() / 2
        loss.backward()
        if update:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    step = c(step)
    return [step(batch(i), i % 2 == 1) for i in range(CALLS)]


@program()
def a_moving_average(c: Any) -> Any:
    model, average = nn.Linear(4, 2), nn.Linear(4, 2)
    counts = {"updates": 0}

    @torch.no_grad()
    def update(x: Any) -> Any:
        for ours, theirs in zip(average.parameters(), model.parameters()):
            ours.mul_(0.9).add_(theirs, alpha=0.1)
        return average(x)

    return changed(c(update), lambda i: counts.update(updates=i))


@program()
def a_tensor_that_counts(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros((), dtype=torch.long))
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x: Any) -> Any:
            self.count += 1
            self.mean.lerp_(x.mean(0), 0.1)
            return x - self.mean

    return calls(c(Model()))


@program()
def a_schedule_outside(c: Any) -> Any:
    w = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.AdamW([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step, found = c(step), []
    for i in range(CALLS):
        found.append(step(batch(i)))
        schedule.step()
    return found


@program()
def random_numbers(c: Any) -> Any:
    torch.manual_seed(0)
    return calls(c(lambda x: x + torch.randn_like(x) * 0.1 + torch.rand(4)))


@program()
def a_residual_transformer(c: Any) -> Any:
    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.calls = heads, 0
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)

        def forward(self, x: Any, mask: Any = None) -> Any:
            rows, length, width = x.shape
            q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
            q, k, v = (t.view(rows, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            return x + self.drop(self.out(out.transpose(1, 2).reshape(rows, length, width)))

    blocks = nn.ModuleList([Block(8, 2) for _ in range(2)]).eval()

    def f(x: Any) -> Any:
        for block in blocks:
            x = block(x)
        return x

    def change(i: int) -> None:
        for block in blocks:
            block.calls += 1

    f, found = c(f), []
    with torch.no_grad():
        for i in range(CALLS):
            change(i)
            found.append(f(batch(i, size=40).view(3, 5, 8)))
    return found
