"""Layered drawings: where boxes of given sizes stand so that all wires lead downward and none runs through a box.

The steps are those of Sugiyama, Tagawa and Toda (1981): ranks by longest paths, then tightened; crossings reduced by sweeps
of barycentres; coordinates by sweeps that draw each box towards the mean of its neighbours, solved exactly in each rank (an
isotonic regression).  A wire that skips ranks passes them at stops of its own; wires of one value share their stops.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from math import inf
from typing import Any, NamedTuple

GAP = 18.0
"""Between boxes of a rank."""
NARROW = 8.0
"""Between a wire that passes a rank and its neighbours."""
RISE = 26.0
TIGHT = 8.0
"""Between ranks, at least; between the first or last and a border."""
_NEAR = 16.0
"""So far from its middle a wire may leave or reach a box, to be straight."""
_SWEEPS = 12
_PLACINGS = 16


class Spot:
    """A box, or a stop of a wire, on one level of a drawing.

    Attributes
    ----------
    thing : object
        What is drawn there; None for a stop.
    width, height : float
    rank, order : int
    x, y : float
        The middle, and the top.
    fixed : {"top", "bottom", None}
        Whether it belongs into the first or last rank.
    first : bool
        Whether it is the first of its rank.
    light : bool
        Whether it stands aside for others.
    above, below : list of Link
        The wires' pieces that come in from the rank above, and that go to the rank below.
    """

    __slots__ = ("above", "below", "first", "fixed", "height", "light", "order", "rank", "thing", "width", "x", "y")

    def __init__(self, thing: Any, width: float, height: float, fixed: str | None = None, light: bool = False) -> None:
        self.thing, self.width, self.height, self.fixed, self.light = thing, width, height, fixed, light
        self.first = thing == "label"
        self.rank = self.order = 0
        self.x = self.y = 0.0
        self.above: list[Link] = []
        self.below: list[Link] = []


class Link:
    """A wire's piece between two ranks: where it leaves and arrives, measured from the spots' middles."""

    __slots__ = ("end", "into", "out", "start", "weight", "wire")

    def __init__(self, wire: Any, start: Spot, out: float, end: Spot, into: float) -> None:
        self.wire, self.start, self.out, self.end, self.into = wire, start, out, end, into
        self.weight = 0.1 if start.light else (3.0, 1.0, 2.0)[(start.thing is None) + (end.thing is None)]


class Wire(NamedTuple):
    """A value: from one spot to others; with the places on them, measured from their middles."""

    key: Any
    start: Spot
    out: float | None  # None: wherever there is room
    ends: list[tuple[Spot, float | None]]


class Piece(NamedTuple):
    """What is drawn of a wire between two ranks: down to *turn*, over to *x1* by *over*, down to *y1*."""

    wire: Any
    x0: float
    y0: float
    turn: float
    over: float
    x1: float
    y1: float
    start: Any
    end: Any


class Level:
    """Spots and wires, placed: ``width``, ``height`` and ``pieces`` are the result, and the spots' ``x`` and ``y``."""

    def __init__(self, spots: list[Spot], wires: list[Wire]) -> None:
        self.spots, self.wires = spots, wires
        self.free: list[Link] = []
        self.chains: list[list[Spot]] = []
        _rank(spots, wires)
        self.ranks = self._stops()
        _order(self.ranks)
        _place(self.ranks)
        for chain in self.chains:
            _straighten(chain, self.ranks)
        self._spread_inputs()
        self._finish()
        for spot in [spot for rank in self.ranks for spot in rank]:
            spot.above, spot.below = [], []  # no cycles

    def _stops(self) -> list[list[Spot]]:
        """The spots by rank, with stops where wires pass."""
        ranks: list[list[Spot]] = [[] for _ in range(max([s.rank for s in self.spots], default=0) + 1)]
        for spot in self.spots:
            ranks[spot.rank].append(spot)
        for wire in self.wires:
            last, out = wire.start, wire.out or 0.0
            chain = [wire.start] if wire.start.fixed else []
            lowest = max([end.rank for end, _ in wire.ends])
            by_rank: dict[int, list[tuple[Spot, float | None]]] = {}
            for end, into in wire.ends:
                by_rank.setdefault(end.rank, []).append((end, into))
            for rank in range(wire.start.rank + 1, lowest + 1):
                for end, into in by_rank.get(rank, ()):
                    link = _connect(wire.key, last, out, end, into or 0.0)
                    if into is None:
                        self.free.append(link)
                if rank < lowest:
                    stop = Spot(None, 0.0, 0.0)
                    stop.rank = rank
                    ranks[rank].append(stop)
                    _connect(wire.key, last, out, stop, 0.0)
                    chain.append(stop)
                    last, out = stop, 0.0
            chain += [end for end, _ in wire.ends if end.fixed]
            self.chains.append(chain)
        return ranks

    def _spread_inputs(self) -> None:
        """Let wires arrive beside each other, in the order in which they come."""
        arriving: dict[Spot, list[Link]] = {}
        for link in self.free:
            arriving.setdefault(link.end, []).append(link)
        for end, links in arriving.items():
            links.sort(key=lambda link: link.start.x + link.out)
            if len(links) == 1 and abs(off := links[0].start.x + links[0].out - end.x) < min(_NEAR, end.width / 2):
                links[0].into = off
                continue
            step = min(14.0, end.width * 0.8 / len(links))
            for index, link in enumerate(links):
                link.into = step * (index - (len(links) - 1) / 2)
        for wire in self.wires:
            if wire.out is None and len(wire.start.below) == 1:
                link = wire.start.below[0]
                if abs(off := link.end.x + link.into - wire.start.x) < min(_NEAR, wire.start.width / 2):
                    link.out = off

    def _finish(self) -> None:
        left = min([s.x - s.width / 2 for rank in self.ranks for s in rank], default=0.0)
        for rank in self.ranks:
            for spot in rank:
                spot.x -= left
            if rank and rank[0].first:
                rank[0].x = rank[0].width / 2
        self.width = max([s.x + s.width / 2 for rank in self.ranks for s in rank], default=0.0)
        borders = [index for index, rank in enumerate(self.ranks) if _is_border(rank)]
        bands, y = [], 0.0
        for index, rank in enumerate(self.ranks):
            height = max([s.height for s in rank], default=0.0)
            bands.append((y, y + height))
            for spot in rank:
                beside = height - spot.height
                spot.y = y + (beside if not spot.above else 0.0 if not spot.below else beside / 2)
            far = max([abs(k.start.x + k.out - k.end.x - k.into) for s in rank for k in s.below], default=0.0)
            y += height + (TIGHT if index in borders or index + 1 in borders else RISE) + min(0.08 * far, 70.0)
        self.height = bands[-1][1] if bands else 0.0
        self.pieces = []
        for rank in self.ranks:
            for spot in rank:
                for k in spot.below:
                    turn, over = bands[spot.rank][1], bands[k.end.rank][0]
                    begin = spot.y + spot.height if spot.thing is not None else bands[spot.rank][0]
                    stop = k.end.y if k.end.thing is not None else over
                    x0, x1 = spot.x + k.out, k.end.x + k.into
                    self.pieces.append(Piece(k.wire, x0, begin, turn, over, x1, stop, spot.thing, k.end.thing))


def _is_border(rank: list[Spot]) -> bool:
    """Whether wires only enter or leave there."""
    return all([spot.fixed is not None or spot.thing is None for spot in rank])


def _connect(key: Any, start: Spot, out: float, end: Spot, into: float) -> Link:
    link = Link(key, start, out, end, into)
    start.below.append(link)
    end.above.append(link)
    return link


# -- ranks -------------------------------------------------------------------------------------------------------------
def _rank(spots: list[Spot], wires: list[Wire]) -> None:
    """Each spot below all that lead to it; spots are in an order in which wires go forward."""
    leading: dict[Spot, list[Spot]] = {spot: [] for spot in spots}
    taking: dict[Spot, list[Spot]] = {spot: [] for spot in spots}
    for wire in wires:
        for end, _ in wire.ends:
            leading[end].append(wire.start)
            taking[wire.start].append(end)
    tops = 1 if any([s.fixed == "top" for s in spots]) else 0
    for spot in spots:
        if spot.fixed != "top":
            spot.rank = max([s.rank + 1 for s in leading[spot]], default=tops)
            spot.rank = max(spot.rank, tops)
    for spot in reversed(spots):  # as near to its takers as it may be, if that shortens the wires
        if spot.fixed is None and taking[spot] and len(leading[spot]) < len(taking[spot]):
            spot.rank = max(spot.rank, min([s.rank for s in taking[spot]]) - 1)
    bottoms = [s for s in spots if s.fixed == "bottom"]
    if bottoms:
        lowest = max([s.rank for s in spots if s.fixed != "bottom"], default=-1) + 1
        for spot in bottoms:
            spot.rank = lowest
    used = {rank: index for index, rank in enumerate(sorted({s.rank for s in spots}))}
    for spot in spots:
        spot.rank = used[spot.rank]


# -- order -------------------------------------------------------------------------------------------------------------
def _order(ranks: list[list[Spot]]) -> None:
    """Order each rank so that few wires cross."""
    for rank in ranks:
        rank.sort(key=lambda s: not s.first)
        _number(rank)
    best, least = [list(rank) for rank in ranks], _crossings(ranks)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for rank in ranks if down else reversed(ranks):
            _by_barycentre(rank, down)
        count = _crossings(ranks)
        if count < least:
            best, least = [list(rank) for rank in ranks], count
        if not count:
            break
    for rank, kept in zip(ranks, best):
        rank[:] = kept
        _number(rank)
    if least:
        for _ in range(3):
            if not any([_exchange(rank) for rank in ranks]):
                break


def _number(rank: list[Spot]) -> None:
    for index, spot in enumerate(rank):
        spot.order = index


def _by_barycentre(rank: list[Spot], down: bool) -> None:
    keys = {}
    for spot in rank:
        orders = [_at_start(k) for k in spot.above] if down else [_at_end(k) for k in spot.below]
        keys[spot] = sum(orders) / len(orders) if orders else None
    known = iter(sorted([s for s in rank if keys[s] is not None and not s.first], key=lambda s: keys[s]))  # type: ignore[arg-type, return-value]
    rank[:] = [s if keys[s] is None or s.first else next(known) for s in rank]
    _number(rank)


def _at_start(link: Link) -> float:
    spot = link.start
    return spot.order + (link.out / spot.width if spot.width else 0.0)


def _at_end(link: Link) -> float:
    spot = link.end
    return spot.order + (link.into / spot.width if spot.width else 0.0)


def _crossings(ranks: list[list[Spot]]) -> int:
    """How many pairs of wires cross."""
    count = 0
    for rank in ranks:
        ends: list[float] = []
        for _, end in sorted([(_at_start(k), _at_end(k)) for spot in rank for k in spot.below]):
            count += len(ends) - bisect_left(ends, end + 1e-9)
            insort(ends, end)
    return count


def _exchange(rank: list[Spot]) -> bool:
    """Exchange neighbours where that saves crossings."""
    changed = False
    for index in range(len(rank) - 1):
        one, other = rank[index], rank[index + 1]
        if not one.first and _between(one, other) > _between(other, one):
            rank[index], rank[index + 1] = other, one
            one.order, other.order = index + 1, index
            changed = True
    return changed


def _between(left: Spot, right: Spot) -> int:
    """The crossings of two neighbours' wires."""
    count = 0
    for ours, theirs, at in ((left.above, right.above, _at_start), (left.below, right.below, _at_end)):
        places = [at(k) for k in theirs]
        count += sum([place < at(k) for k in ours for place in places])
    return count


# -- coordinates -------------------------------------------------------------------------------------------------------
def _place(ranks: list[list[Spot]]) -> None:
    """Draw the spots of each rank towards their neighbours, above and below in turn."""
    for rank in ranks:
        offsets = _offsets(rank)
        for spot, offset in zip(rank, offsets):
            spot.x = offset - (offsets[-1] if offsets else 0.0) / 2
    spaced = [_offsets(rank) for rank in ranks]
    for turn in range(_PLACINGS):
        both = turn >= _PLACINGS - 3
        pairs = list(zip(ranks, spaced))
        for rank, offsets in pairs if turn % 2 == 0 else reversed(pairs):
            wanted, weights = [], []
            for spot in rank:
                weight = total = 0.0
                if both or turn % 2 == 0:
                    for k in spot.above:
                        weight += k.weight
                        total += k.weight * (k.start.x + k.out - k.into)
                if both or turn % 2:
                    for k in spot.below:
                        weight += k.weight
                        total += k.weight * (k.end.x + k.into - k.out)
                wanted.append(total / weight if weight else spot.x)
                weights.append(weight or 0.05)
            _settle(rank, offsets, wanted, weights)


def _straighten(chain: list[Spot], ranks: list[list[Spot]]) -> None:
    """Have the stops of a wire stand below each other as far as there is room."""
    run: list[Spot] = []
    least, most = -inf, inf
    for stop in [*chain, None]:
        if stop is not None:
            low, high = _room(stop, ranks[stop.rank])
            if max(least, low) <= min(most, high):
                run.append(stop)
                least, most = max(least, low), min(most, high)
                continue
        if run:
            middle = sum([s.x for s in run]) / len(run)
            for s in run:
                s.x = min(max(middle, least), most)
        if stop is not None:
            run, (least, most) = [stop], (low, high)


def _room(stop: Spot, rank: list[Spot]) -> tuple[float, float]:
    low, high = -inf, inf
    if stop.order:
        left = rank[stop.order - 1]
        low = left.x + (left.width + stop.width) / 2 + NARROW
    if stop.order + 1 < len(rank):
        right = rank[stop.order + 1]
        high = right.x - (right.width + stop.width) / 2 - NARROW
    return low, high


def _offsets(rank: list[Spot]) -> list[float]:
    """How far each spot's middle is from the first's at least."""
    offsets, x = [], 0.0
    for index, spot in enumerate(rank):
        if index:
            before = rank[index - 1]
            gap = GAP if spot.thing is not None and before.thing is not None else NARROW
            x += (before.width + spot.width) / 2 + gap
        offsets.append(x)
    return offsets


def _settle(rank: list[Spot], offsets: list[float], wanted: list[float], weights: list[float]) -> None:
    """The places nearest to the wanted ones that keep the order and the distances: those that would meet are pooled."""
    pools: list[list[float]] = []  # mean, weight, how many
    for offset, want, weight in zip(offsets, wanted, weights):
        pools.append([want - offset, weight, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, heavy, many = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * heavy) / (last[1] + heavy)
            last[1] += heavy
            last[2] += many
    index = 0
    for mean, _, many in pools:
        for _ in range(int(many)):
            rank[index].x = mean + offsets[index]
            index += 1
