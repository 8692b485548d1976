"""A tape in text: tables that fold what is long, trees that draw what is shared once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from counted import calls
from graphs import random_graph
from minitorch import nn
from minitorch.autograd import Tape
from minitorch.autograd._fold import Piece, lines_of, open_to, outline
from minitorch.autograd._table import bytes_text


def chain(length: int) -> Any:
    """*length* operations that repeat after four."""
    x, w = (torch.ones(4, requires_grad=True) for _ in range(2))
    y = x
    for _ in range(length // 4):
        y = (torch.tanh(y * w) + x) * 0.5
    return y


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return x + self.second(torch.relu(self.first(x)))


class Net(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])

    def forward(self, x: Any) -> Any:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


def net_tape(depth: int) -> Tape:
    with torch.autograd.record_sites():
        return Tape(Net(depth)(torch.ones(2, 4)))


# -- tables ------------------------------------------------------------------------------------------------------------
def test_names_modules_and_lines_have_columns_where_there_are_any() -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * w
    y.name, x.name = "logits", "x"
    lines = str(Tape(y.sum(), params={"w": w})).splitlines()
    assert lines[0].split() == ["#", "op", "name", "inputs", "shape", "dtype", "saved"]
    assert lines[1].split() == ["0", "mul", "logits", "x,", "w", "(2,)", "float32", "16", "B"]
    assert lines[2].split() == ["1", "sum", "#0", "()", "float32"]
    lines = str(net_tape(1)).splitlines()
    assert lines[0].split()[-2:] == ["module", "where"]
    assert re.search(r"linear +embed.bias, embed.weight +\(2, 4\) +float32 +32 B +embed +test_table.py:\d+$", lines[1])


def test_columns_are_aligned() -> None:
    lines = str(net_tape(2)).splitlines()
    for title in ("op", "inputs", "shape", "dtype", "module", "where"):
        start = lines[0].index(title)
        assert all(line[start - 1] == " " and line[start] != " " for line in lines[1:] if len(line) > start)


def test_leaves_without_names_are_told_apart() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    lines = str(Tape(x * y + x)).splitlines()
    assert "leaf0 (2,), leaf1 (2,)" in lines[1]
    assert "#0, leaf0 (2,)" in lines[2]


def test_several_outputs_and_freed_values() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    first, second, _ = x.unbind(1)
    y = first * second
    lines = str(Tape(y)).splitlines()
    assert "3 × (2,)" in lines[1]
    assert "#0, #0.1" in lines[2]
    assert lines[2].endswith("16 B")
    y.sum().backward()
    assert str(Tape(y)).splitlines()[2].endswith("float32")


def test_a_short_tape_is_shown_whole_and_a_long_one_folds_what_is_repeated() -> None:
    assert len(str(Tape(chain(20))).splitlines()) == 21
    lines = str(Tape(chain(20_000))).splitlines()
    assert len(lines) == 7
    assert lines[5].split()[:7] == ["4–19999", "⋮", "4", "operations", "4,999", "times", "more"]
    assert lines[6].startswith("20,000 operations, 4 of them shown; all: print(tape.table(full=True))")
    assert len(Tape(chain(20_000)).table(full=True).splitlines()) == 20_001


def test_modules_fold_and_repeat() -> None:
    lines = str(net_tape(40)).splitlines()
    assert re.match(r"5–160 +⋮ 4 operations 39 times more .* blocks.1 – blocks.39$", lines[6].strip())
    assert [line.split()[1] for line in lines[1:6]] == ["linear", "linear", "relu", "linear", "add"]
    folded = net_tape(40).table(rows=4)
    assert re.search(r"1–160 +▸ 4 operations 40 times .* blocks.0 – blocks.39$", folded, re.MULTILINE)


def test_what_repeats_nothing_shows_its_beginning_and_end() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x
    for i in range(100):
        y = torch.cat([y, x[: i % 7]]) if (i * i) % 5 == 1 else y * x[0]
    tape = Tape(y)
    lines = tape.table(rows=20).splitlines()
    assert len(lines) == 22
    assert any("⋮" in line for line in lines)
    assert lines[1].split()[0] == "0"
    assert lines[-2].split()[0] == str(len(tape) - 1)


def test_there_is_always_something_to_see() -> None:
    tape = Tape(chain(400).sum())
    for rows in (-1, 0, 1, 2, 3):
        assert tape.table(rows=rows).splitlines()[-1].startswith("401 operations, ")
        assert len(tape.table(rows=rows).splitlines()) <= max(rows, 1) + 2
        assert tape.tree(rows=rows, depth=rows).splitlines()[-1].startswith("… ")


def test_slices_print_as_tables() -> None:
    lines = str(Tape(chain(400))[100:140]).splitlines()
    assert len(lines) == 41
    assert lines[1].split()[0] == "100"
    assert str(Tape(chain(400))[3:3]) == str(Tape()) == "no operations"


def test_names_of_inputs_are_shortened_where_there_is_no_room() -> None:
    x = torch.ones(2, requires_grad=True)
    x.name = "encoder.layers.0.attention.weight"
    lines = str(Tape(torch.cat([x] * 5))).splitlines()
    assert "…attention.weight, … 4 more" in lines[1]
    assert "encoder.layers.0.attention.weight, encoder" in Tape(torch.cat([x] * 5)).table(full=True)


def test_a_block_is_a_table_too() -> None:
    x = torch.ones(2, requires_grad=True)
    with Tape() as tape:
        (x.detach() * 2).add_(x.detach())
    assert [line.split()[1] for line in str(tape).splitlines()[1:]] == [e.op for e in tape]
    assert "constant" in str(tape)


def test_bytes() -> None:
    texts = [bytes_text(n) for n in (0, 1, 1023, 1024, 1536, 1024**2 - 1, 1024**2, 5 * 1024**3)]
    assert texts == ["", "1 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.0 MiB", "5.0 GiB"]


@given(st.integers(0, 2**20), st.integers(4, 12))
def test_pieces_hold_every_entry_once_and_keep_to_the_room(seed: int, room: int) -> None:
    entries = Tape(random_graph(seed)).entries
    items = outline(entries)
    if len(entries) > room:
        items = open_to(items, room)
    else:
        return
    covered: list[int] = []
    lines = lines_of(items)
    assert len(lines) <= room
    for item, after in lines:
        if isinstance(item, Piece):
            covered += range(item.start + (len(item) // item.times if after else 0), item.stop)
        else:
            covered.append(item)
    assert covered == list(range(len(entries)))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(4, 9), st.integers(0, 3))
def test_what_is_repeated_is_found(kinds: list[int], times: int, before: int) -> None:
    x = torch.ones(2, requires_grad=True)
    y: Any = x
    for _ in range(before):
        y = torch.sigmoid(y)
    for _ in range(times):
        for kind in kinds:
            y = [torch.tanh, torch.exp, torch.sin, torch.cos][kind](y)
    items = outline(Tape(y).entries)
    if len(kinds) * (times - 1) >= 6:
        repeats = [i for i in items if isinstance(i, Piece)]
        assert sum(len(r) for r in repeats) >= len(kinds) * (times - 2)
        assert len(items) <= before + 3 * len(kinds)


def test_reading_and_printing_cost_a_fixed_number_of_calls_for_each_operation() -> None:
    short, long = chain(1_000).sum(), chain(10_000).sum()
    backward = calls(lambda: long.backward(retain_graph=True))
    assert calls(lambda: Tape(long)) < 1.5 * backward
    printing = [calls(Tape(loss).__str__) for loss in (short, long)]
    assert printing[1] < 10.5 * printing[0]


# -- trees -------------------------------------------------------------------------------------------------------------
def test_what_is_shared_is_drawn_once() -> None:
    x = torch.ones(3, requires_grad=True)
    x.name = "x"
    y = x.exp()
    y.name = "rate"
    assert Tape(y * (y + 1)).tree().splitlines() == [
        "#2 MulBackward0  (3,) float32",
        "├─ #0 ExpBackward0 rate  (3,) float32",
        "│  └─ x  leaf (3,)",
        "└─ #1 AddBackward0  (3,) float32",
        "   └─ #0 ExpBackward0, as above",
    ]


def test_several_roots_and_outputs() -> None:
    first, second = torch.ones(2, requires_grad=True).unbind()
    assert Tape([first * 2, second]).tree().splitlines() == [
        "#1 MulBackward0  () float32",
        "└─ #0 UnbindBackward0  2 × () float32",
        "   └─ leaf0 (2,)",
    ]
    tape = Tape([first + 1, second.exp()])
    assert tape.tree().splitlines()[3:] == ["#2 ExpBackward0  () float32", "└─ #0.1 UnbindBackward0, as above"]
    assert tape.tree(0).splitlines() == ["#0 UnbindBackward0  2 × () float32", "└─ leaf0 (2,)"]
    assert tape.tree(second) == tape.tree(0)
    assert tape.tree(-3) == tape.tree(tape[0]) == tape.tree(0)
    for start in (torch.ones(2), 3, -4):
        with pytest.raises(ValueError, match="not on this tape"):
            tape.tree(start)


def test_a_block_begins_with_what_nothing_takes() -> None:
    x = torch.ones(2)
    with Tape() as tape:
        y = torch.tanh(x)
        y.exp(), y.sin()
    assert tape.tree().splitlines() == [
        "#1 exp  (2,) float32",
        "└─ #0 tanh  (2,) float32",
        "   └─ constant",
        "#2 sin  (2,) float32",
        "└─ #0 tanh, as above",
    ]
    assert Tape().tree() == "no operations"


def test_deep_trees_begin_anew_at_the_margin_and_say_what_is_missing() -> None:
    tape = Tape(chain(100_000))
    lines = tape.tree().splitlines()
    assert len(lines) == 101
    assert max(len(line) for line in lines[:-1]) < 90
    missing, start = re.match(r"… ([\d,]+) more operations; from here: print\(tape.tree\((\d+)\)\)", lines[-1]).groups()
    assert tape.tree(int(start)).startswith(f"#{start} ")
    drawn = {int(n) for n in re.findall(r"#(\d+) \w+  \(", "\n".join(lines))}
    assert int(missing.replace(",", "")) == 100_000 - len(drawn)
    full = tape.tree(full=True).splitlines()
    assert len([line for line in full if "  (4,)" in line]) == 100_000


@given(st.integers(0, 2**20), st.integers(1, 5))
def test_every_operation_is_drawn_once(seed: int, depth: int) -> None:
    tape = Tape(random_graph(seed))
    lines = tape.tree(full=True, depth=depth).splitlines()
    drawn = [
        int(re.search(r"#(\d+)", line).group(1))
        for line in lines
        if "#" in line and not line.endswith(("above", "below"))
    ]
    assert sorted(drawn) == list(range(len(tape)))


def test_grad_fn_prints_as_before() -> None:
    assert re.fullmatch(r"<MulBackward0 object at 0x\w+>", repr((torch.ones(2, requires_grad=True) * 2).grad_fn))
