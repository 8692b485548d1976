"""Programs, as in ``changing``, that reach one tensor in two ways, or more of a tensor than its values."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import minitorch as torch
from changing import INDEXED, PROGRAMS, pair, program
from minitorch import nn

__all__ = ["PROGRAMS"]


# -- arguments ---------------------------------------------------------------------------------------------------------
@program("a call changes a list or a dict that is an argument")
def a_dict_that_is_written(c: Any) -> Any:
    def f(state: Any, x: Any) -> Any:
        state["h"] = state["h"] * 0.5 + x
        return state["h"] * 2

    f, state = c(f), {"h": torch.zeros(2)}
    return [f(state, pair(1, 2)) for _ in range(3)]


@program("a call changes a list or a dict that is an argument")
def a_list_that_grows(c: Any) -> Any:
    def f(found: Any, x: Any) -> Any:
        found.append(x * 2)
        return found[0] + x

    f, found = c(f), [pair(1, 1)]
    return [f(found, pair(i, 2)) for i in range(3)] + found


@program()
def an_argument_that_is_read_by_name_too(c: Any) -> Any:
    w = pair(1, 2)
    f = c(lambda x: x * w + x)
    return [f(x) for x in (w, pair(1, 1), w, w.detach(), pair(2, 2))]


@program()
def an_argument_with_the_values_of_another_tensor(c: Any) -> Any:
    w = pair(1, 2)
    f = c(lambda x: x * w + x)
    return [f(x) for x in (w.detach(), pair(1, 1), w, w.data)]


@program()
def a_modules_own_parameters_as_arguments(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    f = c(lambda p, x: torch.func.functional_call(model, p, (x,)))
    own = dict(model.named_parameters())
    others = {name: p.detach() * 2 for name, p in own.items()}
    with torch.no_grad():
        return [f(p, pair(1, 2)) for p in (own, others, own, others)]


@program()
def arguments_that_overlap(c: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        a.add_(b)
        return a * b

    f, all_of = c(f), torch.arange(5.0)
    out = [f(pair(1, 2), pair(3, 4)), f(all_of[:2], all_of[3:]), f(all_of[:4], all_of[1:]), f(all_of[1:3], all_of[2:4])]
    return [*out, all_of]


@program()
def an_argument_that_overlaps_what_is_written(c: Any) -> Any:
    total = torch.zeros(4)

    def f(x: Any) -> Any:
        before = x.exp()
        total[:2].add_(x)
        return before + x.exp()

    f = c(f)
    return [f(pair(1, 2)), f(total[:2]), f(pair(1, 2)), f(total[1:3]), total.clone()]


# -- tensors that are read by name -------------------------------------------------------------------------------------
@program()
def two_tensors_of_one_value(c: Any) -> Any:
    a = pair(1, 2)
    b = a.detach()
    f = c(lambda x: x * a + b)
    out = [f(pair(1, 1))]
    a.data = torch.zeros(2)
    out.append(f(pair(1, 1)))
    b.add_(1)
    return [*out, f(pair(1, 1))]


@program()
def whether_tensors_require_grad(c: Any) -> Any:
    tensors = [pair(1, 2).requires_grad_(), pair(3, 4)]
    f = c(lambda x: x * sum([1 for t in tensors if t.requires_grad]))
    out = [f(pair(1, 1))]
    tensors[1].requires_grad_()
    out.append(f(pair(1, 1)))
    tensors[0].requires_grad_(False)
    return [*out, f(pair(1, 1))]


@program()
def a_tensors_size(c: Any) -> Any:
    w = torch.zeros(2)
    f = c(lambda x: x * w.shape[0])
    out = [f(pair(1, 1))]
    w.data = torch.zeros(5)
    return [*out, f(pair(1, 1))]


@program("it reads or sets the gradient of an argument")
def the_gradient_of_an_argument(c: Any) -> Any:
    f, x = c(lambda x: x if x.grad is None else x.grad * 2), pair(1, 2)
    out = [f(x)] * 3
    x.grad = pair(3, 3)
    return [*out, *[f(x) for _ in range(3)]]


@program()
def the_gradient_of_a_tensor_that_requires_none(c: Any) -> Any:
    w = pair(1, 2)
    f = c(lambda x: x * (5 if w.grad is None else w.grad))
    out = [f(pair(1, 1))]
    for value in (3.0, 4.0, None):
        w.grad = value and pair(value, value)
        out += [f(pair(1, 1)), f(pair(2, 1))]
    return out


@program("it reads the attribute 'scale' of a tensor that is an argument")
def an_attribute_of_an_argument(c: Any) -> Any:
    f, out = c(lambda x: x * x.scale), []
    for scale in (2.0, 3.0):
        x = pair(1, 2)
        x.scale = scale
        out.append(f(x))
    return out


@program()
def an_attribute_of_a_tensor(c: Any) -> Any:
    w = pair(1, 2)
    f, out = c(lambda x: x * w * w.scale), []
    for scale in (2.0, 3.0):
        w.scale = scale
        out.append(f(pair(1, 1)))
    return out


@program()
def the_keys_of_a_dict(c: Any) -> Any:
    options = {"a": 1, "b": 2}
    f = c(lambda x: x * (3.0 if "a" in options else 7.0))
    out = [f(pair(1, 1))]
    options.clear()
    options.update(z=1, b=2)
    return [*out, f(pair(1, 1))]


@program("it shows a value's memory in a way that is no operation")
def an_array_that_two_tensors_show(c: Any) -> Any:
    def f(x: Any) -> Any:
        array = np.zeros(3, np.float32)
        torch.from_numpy(array).add_(x.sum())
        return torch.from_numpy(array[1:]) * 1

    f = c(f)
    return [f(pair(i, 1)) for i in range(4)]


@program()
def an_array_that_is_shown_twice(c: Any) -> Any:
    def f(x: Any) -> Any:
        array = np.zeros(3, np.float32)
        torch.from_numpy(array).add_(x.sum())
        return torch.from_numpy(array) * 1

    f = c(f)
    return [f(pair(i, 1)) for i in range(4)]


@program("lead back to what requires grad")
def gradients_that_are_recorded_nevertheless(c: Any) -> Any:
    w = nn.Parameter(pair(1, 2))

    def f(x: Any) -> Any:
        with torch.enable_grad():
            return x * w

    f = c(f)
    with torch.no_grad():
        return [float(f(pair(1, 1)).requires_grad) for _ in range(3)]


# -- optimizers and schedulers -----------------------------------------------------------------------------------------
def training(c: Any, reads: Any) -> Any:
    w = nn.Parameter(pair(1, 2))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def f(x: Any) -> Any:
        optimizer.zero_grad()
        (w * x).square().sum().backward()
        optimizer.step()
        scheduler.step()
        return w * reads(scheduler)

    f = c(f)
    return [f(pair(1, 2)).detach() for _ in range(5)]


@program("it asks an optimizer or a scheduler for its state or rate")
def a_rate_that_a_scheduler_tells(c: Any) -> Any:
    def reads(scheduler: Any) -> Any:
        return scheduler.get_last_lr()[0]

    return training(c, reads)


@program("a call changes scheduler.last_epoch")
def an_epoch_that_a_scheduler_counts(c: Any) -> Any:
    def reads(scheduler: Any) -> Any:
        return scheduler.last_epoch

    return training(c, reads)


@program()
def a_layer_that_is_frozen_and_thawed(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def f(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f, out = c(f), []
    for frozen in (True, False, True, False):
        model[0].requires_grad_(not frozen)
        out += [f(pair(1, 2)) for _ in range(4)]
    return out + [p.detach().clone() for p in model.parameters()]


@program("Adam.step() is called of an Adam that is made in the call")
def an_optimizer_that_is_made_inside(c: Any) -> Any:
    w = nn.Parameter(pair(1, 2))

    def f(x: Any) -> Any:
        optimizer = torch.optim.Adam([w], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (w * x).square().sum().backward()
            optimizer.step()
        return w.detach().clone()

    f = c(f)
    return [f(pair(1, 2)) for _ in range(4)]


@program("it draws from a Generator that is made in the call")
def a_generator_that_is_made_inside(c: Any) -> Any:
    f = c(lambda x: x * torch.rand(2, generator=torch.Generator()))
    return [f(pair(1, 2)) for _ in range(4)]


@program()
def a_generator_that_is_seeded_inside(c: Any) -> Any:
    f = c(lambda x: x * torch.rand(2, generator=torch.Generator().manual_seed(3)))
    return [f(pair(1, 2)) for _ in range(4)]


# -- what a call changes besides values --------------------------------------------------------------------------------
@program()
def a_copy_of_a_module(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    f, out = c(lambda x: copy.deepcopy(model)(x).detach()), []
    for _ in range(3):
        out.append(f(pair(1, 2)))
        model.bias.data.add_(1)
    return out


@program("a call sets or clears the gradient of a tensor that requires none")
def a_gradient_that_is_set(c: Any) -> Any:
    w = pair(1, 2)

    def f(x: Any) -> Any:
        w.grad = x * 2
        return x * w

    f, out = c(f), []
    for i in range(4):
        out += [f(pair(i, 1)), w.grad]
    return out


@program("it reads or sets the gradient of an argument")
def a_gradient_of_an_argument_that_is_set(c: Any) -> Any:
    def f(x: Any) -> Any:
        x.grad = x * 2
        return x + 1

    f, out = c(f), []
    for i in range(4):
        x = pair(i, 1)
        out += [f(x), x.grad]
    return out


@program("a call changes an argument.label")
def an_attribute_that_is_set_on_an_argument(c: Any) -> Any:
    def f(x: Any) -> Any:
        x.label = 3
        return x + 1

    f, out = c(f), []
    for i in range(4):
        x = pair(i, 1)
        out += [f(x), x.label]
    return out


@program("a call changes w.calls")
def an_attribute_that_counts(c: Any) -> Any:
    w = pair(1, 2)
    w.calls = 0

    def f(x: Any) -> Any:
        w.calls += 1
        return x * w

    f, out = c(f), []
    for i in range(4):
        out += [f(pair(i, 1)), w.calls]
    return out


@program("it returns a tensor with an attribute of its own")
def an_attribute_of_a_result(c: Any) -> Any:
    def f(x: Any) -> Any:
        out = x * 2
        out.label = "doubled"
        return out

    f = c(f)
    return [f(pair(i, 1)).label for i in range(3)]


@program("a call changes the hooks of w")
def a_hook_that_is_registered_inside(c: Any) -> Any:
    w = nn.Parameter(pair(1, 2))

    def f(x: Any) -> Any:
        w.register_hook(lambda g: g * 2)
        w.grad = None
        (w * x).sum().backward()
        return w.grad.clone()

    f = c(f)
    return [f(pair(1, 2)) for _ in range(4)]


@program("a call leaves another mode of gradients")
def a_mode_that_is_set(c: Any) -> Any:
    w = nn.Parameter(pair(1, 2))

    def f(x: Any) -> Any:
        torch.set_grad_enabled(False)
        return (x * w).detach()

    f, out = c(f), []
    for _ in range(4):
        out += [f(pair(1, 2)), float(torch.is_grad_enabled())]
        torch.set_grad_enabled(True)
    return out


@program("it returns tensors of inference mode")
def tensors_of_inference_mode(c: Any) -> Any:
    f = c(torch.inference_mode()(lambda x: x * 2))
    return [float(f(pair(1, 2)).is_inference()) for _ in range(3)]


@program()
def functions_of_elements(c: Any) -> Any:
    f = c(lambda x: x.clone().apply_(lambda v: v + 1))
    return [f(pair(i, 2)) for i in range(3)]


# -- what is found at the call -----------------------------------------------------------------------------------------
class Config:
    """Options."""

    factor = 2.0


@program()
def an_attribute_of_a_class_by_its_name(c: Any) -> Any:
    f = c(lambda x: x * getattr(Config, "factor"))  # noqa: B009
    out = [f(pair(1, 1))]
    Config.factor = 3.0
    out.append(f(pair(1, 1)))
    Config.factor = 2.0
    return out


@program()
def a_function_that_is_imported_inside(c: Any) -> Any:
    def f(x: Any) -> Any:
        from reaching import scaled

        return scaled(x)

    f, out = c(f), []
    for factor in (2.0, 3.0):
        Config.factor = factor
        out.append(f(pair(1, 1)))
    Config.factor = 2.0
    return out


def scaled(x: Any) -> Any:
    return x * Config.factor


def caught(function: Any) -> Any:
    """A program that catches errors of a function of three numbers and two indices, of which the first call has one."""

    def run(c: Any) -> Any:
        def f(x: Any, i: Any) -> Any:
            try:
                return function(x, i)
            except Exception:
                return x - 1

        f = c(f)
        return [f(pair(1, 2, 3), torch.tensor(i)) for i in ([9, -9], [1, 2], [9, -9], [2, 1])]

    return run


PROGRAMS |= {f"{name}_with_errors_that_are_caught": (caught(function), "") for name, function in INDEXED.items()}


# -- gradients ---------------------------------------------------------------------------------------------------------
def frozen_and_thawed(order: str, optimizer: Any, **options: Any) -> Any:
    """A program in which a layer requires gradients at some calls."""

    def run(c: Any) -> Any:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        steps = optimizer(model.parameters(), lr=0.1, **options)

        def f(x: Any) -> Any:
            steps.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            steps.step()
            return loss.detach()

        f, out = c(f), []
        for frozen in order:
            model[0].requires_grad_(frozen == "-")
            out.append(f(pair(1, 2)))
        return out + [p.detach().clone() for p in model.parameters()]

    return run


CLEARS = "a call sets or clears the gradient of a tensor that requires none"
PROGRAMS |= {
    "frozen_first": (frozen_and_thawed("+-+", torch.optim.SGD), ""),
    "frozen_for_long": (frozen_and_thawed("--++--++", torch.optim.SGD), ""),
    "frozen_in_turns": (frozen_and_thawed("-+" * 4, torch.optim.SGD), CLEARS),
    "frozen_with_momentum": (frozen_and_thawed("--++--", torch.optim.SGD, momentum=0.9), ""),
    "frozen_with_adam": (frozen_and_thawed("--++--", torch.optim.Adam), ""),
}


@program()
def gradients_that_are_cleared_alone(c: Any) -> Any:
    model = nn.Linear(2, 1)
    f, out = c(lambda x: (model.zero_grad(), x * 2)[1]), []
    for _ in range(3):
        out += [f(pair(1, 2)), float(model.weight.grad is None)]
        model(pair(1, 2)).sum().backward()
    return out


@program()
def views_of_what_is_an_argument_at_first(c: Any) -> Any:
    bank = torch.arange(6.0)
    f = c(lambda x: x - bank[:2])
    return [f(x) for x in (bank[:2], pair(1, 1), bank[2:4])]


@program()
def arguments_that_show_one_memory_at_first(c: Any) -> Any:
    bank = torch.arange(6.0)
    f = c(lambda x, y: x.view(2, 1) * 10 + y)
    return [f(bank[:2], bank[:2].view(2, 1)), f(pair(1, 1), pair(3, 3).view(2, 1)), f(bank[:2], bank[2:4].view(2, 1))]
