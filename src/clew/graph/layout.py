"""Positions for drawing a graph: force-directed, from a coarse graph to the whole one.

Edges pull like springs, nodes push each other away (T. Fruchterman and E. Reingold, "Graph Drawing
by Force-directed Placement", 1991). A graph laid out from random positions stays tangled, so the
nodes are merged with their neighbours until few are left, those are laid out, and each step back
starts from the step before (C. Walshaw, "A Multilevel Algorithm for Force-Directed Graph Drawing",
2003). The push of far nodes is that of their group's centre, which makes a step cost
n ** 1.5 rather than n * n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

COARSEST = 100
"""Nodes below which nothing is merged any more."""
COARSE_STEPS, FINE_STEPS, SETTLE_STEPS = 100, 40, 12
"""Steps of the smallest graph, of each larger one, and of a graph most of which has its place."""
GRAVITY = 0.2
"""Pull toward the middle, which keeps unconnected parts in one picture."""
NEAREST = 1e-3
"""Squared distances count as at least this, in squared lengths of an edge."""


@dataclass(frozen=True, slots=True)
class _Level:
    """A graph whose nodes stand for `mass` nodes each, edges in both directions."""

    mass: Floats
    sources: Ints
    targets: Ints
    weights: Floats


def layout(
    nodes: int,
    edges: ArrayLike,
    weights: ArrayLike | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Positions of nodes 0 to `nodes - 1`: shape (nodes, 2), within the unit circle.

    `edges` has shape (m, 2), `weights` shape (m,) above 0 (1 each unless given). `start` has shape
    (nodes, 2) with positions of before and NaN for new nodes: nodes that have a place stay near it.
    The same arguments give the same positions. Raises `ValueError` for edges to nodes that are not.
    """
    whole = _level(nodes, edges, weights)
    random = np.random.default_rng(seed)
    if nodes <= 1:
        return np.zeros((nodes, 2))
    placed = None if start is None else np.asarray(start, dtype=np.float32).reshape(nodes, 2)
    if placed is not None and np.isfinite(placed).any():
        positions = _settle(whole, placed, random)
        return positions.astype(np.float64)
    return _fitted(_multilevel(whole, random)).astype(np.float64)


def _level(nodes: int, edges: ArrayLike, weights: ArrayLike | None) -> _Level:
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= nodes):
        raise ValueError(f"edges name nodes {pairs.min()} to {pairs.max()} of {nodes}")
    strength = np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
    strength = np.clip(strength / max(float(strength.mean() if len(strength) else 1), 1e-9), 0.2, 5)
    return _simple(np.ones(nodes, dtype=np.float32), pairs, strength)


def _simple(mass: Floats, pairs: Ints, strength: NDArray[np.float64]) -> _Level:
    """No loops, each pair of nodes once a direction with the sum of its weights."""
    apart = pairs[:, 0] != pairs[:, 1]
    low, high = pairs[apart].min(axis=1), pairs[apart].max(axis=1)
    keys, at = np.unique(low * len(mass) + high, return_inverse=True)
    summed = np.bincount(at, strength[apart], len(keys)).astype(np.float32)
    low, high = keys // max(len(mass), 1), keys % max(len(mass), 1)
    return _Level(
        mass,
        np.concatenate([low, high]),
        np.concatenate([high, low]),
        np.concatenate([summed, summed]),
    )


def _multilevel(whole: _Level, random: np.random.Generator) -> Floats:
    levels, groups = [whole], []
    while len(levels[-1].mass) > COARSEST:
        group = _groups(levels[-1], random)
        if group.max() + 1 > 0.9 * len(levels[-1].mass):
            break  # what is left has hardly an edge
        groups.append(group)
        levels.append(_merged(levels[-1], group))
    positions = _by_distances(levels[-1], random) * np.sqrt(len(whole.mass))
    positions = _run(levels[-1], positions, COARSE_STEPS, np.sqrt(len(whole.mass)) / 10)
    for level, group in zip(reversed(levels[:-1]), reversed(groups), strict=True):
        spread = np.sqrt(np.bincount(group))[group][:, None] / 2
        positions = positions[group] + random.normal(size=(len(group), 2)) * spread
        positions = _run(level, positions.astype(np.float32), FINE_STEPS, 2 * float(spread.mean()))
    return positions


def _by_distances(level: _Level, random: np.random.Generator) -> Floats:
    """Positions in about the unit circle whose distances are near those of the graph.

    Classical scaling (W. S. Torgerson, 1952) of the shortest paths between all pairs of nodes.
    """
    count = len(level.mass)
    if count == 1:  # a star is merged into its middle
        return np.zeros((1, 2), dtype=np.float32)
    steps = np.full((count, count), np.inf)
    np.fill_diagonal(steps, 0)
    steps[level.sources, level.targets] = 1
    for node in range(count):
        steps = np.minimum(steps, steps[:, node, None] + steps[node])
    longest = steps[np.isfinite(steps)].max()
    squared = np.where(np.isfinite(steps), steps, longest + 1) ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    found = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) / max(longest, 1)
    return np.asarray(found + random.normal(size=found.shape) * 0.01, dtype=np.float32)


def _groups(level: _Level, random: np.random.Generator) -> Ints:
    """The group of each node: nodes that lead their neighbours, and who follows them."""
    count = len(level.mass)
    degree = np.bincount(level.sources, level.weights, count)
    rank = np.argsort(np.argsort(degree + random.uniform(0, 1, count)))
    best = np.arange(count)
    order = np.argsort(rank[level.targets], kind="stable")
    best[level.sources[order]] = level.targets[order]  # the last one written has the highest rank
    leads = rank[best] < rank
    best[leads] = np.flatnonzero(leads)
    followed = np.where(best[best] == best, best, np.arange(count))
    return np.asarray(np.unique(followed, return_inverse=True)[1], dtype=np.int64)


def _merged(level: _Level, group: Ints) -> _Level:
    mass = np.bincount(group, level.mass).astype(np.float32)
    half = len(level.sources) // 2
    pairs = np.stack([group[level.sources[:half]], group[level.targets[:half]]], axis=1)
    return _simple(mass, pairs, level.weights[:half].astype(np.float64))


def _settle(level: _Level, placed: Floats, random: np.random.Generator) -> Floats:
    """New nodes beside their neighbours; then all move a little, those with a place hardly."""
    known = np.isfinite(placed[:, 0] + placed[:, 1])
    count = len(placed)
    beside = known[level.targets]
    seen = np.bincount(level.sources[beside], minlength=count)
    middle = [
        np.bincount(level.sources[beside], placed[level.targets[beside], axis], count)
        for axis in (0, 1)
    ]
    near = np.stack(middle, axis=1) / np.maximum(seen, 1)[:, None]
    positions = np.where(known[:, None], placed, near + random.normal(size=(count, 2)) * 0.02)
    between = positions[level.targets] - positions[level.sources]
    edge = float(np.median(np.linalg.norm(between, axis=1))) if len(between) else 0.1
    freedom = np.where(known, 0.02, 1.0).astype(np.float32)
    moved = _run(level, (positions / max(edge, 1e-3)).astype(np.float32), SETTLE_STEPS, 1, freedom)
    moved *= max(edge, 1e-3)
    return moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1)


def _run(
    level: _Level, positions: Floats, steps: int, reach: float, freedom: Floats | None = None
) -> Floats:
    """Positions after `steps` steps, none longer than `reach`, which shrinks to a tenth."""
    for step in range(steps):
        force = _pull(level, positions) + _push(level.mass, positions, step % 2)
        force /= level.mass[:, None]
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        limit = reach * (1 - 0.9 * step / steps)
        move = force * np.minimum(1, limit / length)
        positions = positions + (move if freedom is None else move * freedom[:, None])
    return positions


def _pull(level: _Level, positions: Floats) -> Floats:
    """Springs (weight times distance) and gravity."""
    # As complex numbers: to pick one value a node is several times faster than to pick two.
    at = np.ascontiguousarray(positions, dtype=np.float32).view(np.complex64)[:, 0]
    springs = level.weights * (at[level.targets] - at[level.sources])
    pull = [
        np.bincount(level.sources, part, len(positions)) for part in (springs.real, springs.imag)
    ]
    toward = positions - positions.mean(axis=0)
    return np.stack(pull, axis=1).astype(np.float32) - GRAVITY * level.mass[:, None] * toward


def _push(mass: Floats, positions: Floats, first_axis: int) -> Floats:
    """Each node pushed by those of its own group, and by the centres of the others."""
    grouped = _near_groups(positions, first_axis)  # -1 where a group is not full
    full = grouped >= 0
    weight = np.where(full, mass[grouped], 0)
    at = positions[grouped]
    total = weight.sum(axis=1)
    centre = (at * weight[..., None]).sum(axis=1) / total[:, None]
    inside = _pushed(at, at, weight)
    outside = _pushed(at[full][None], centre[None], total[None])[0]
    own = _pushed(at, centre[:, None], total[:, None])
    push = np.empty_like(positions)
    push[grouped[full]] = outside + (inside - own)[full]
    return push * mass[:, None]


def _pushed(nodes: Floats, others: Floats, weight: Floats) -> Floats:
    """Sum over the others of weight / distance, away from each: shape (batch, nodes, 2)."""
    squared = -2 * (nodes @ others.swapaxes(1, 2))
    squared += np.square(nodes).sum(axis=2)[:, :, None]
    squared += np.square(others).sum(axis=2)[:, None, :]
    strength = weight[:, None, :] / np.maximum(squared, NEAREST)
    return np.asarray(nodes * strength.sum(axis=2)[..., None] - strength @ others)


def _near_groups(positions: Floats, first_axis: int) -> Ints:
    """Nodes in groups that stand near each other, strips cut across: shape (groups, size).

    There are as many groups as nodes in one, so that the pushes within and between cost the same.
    """
    count = len(positions)
    groups = int(np.ceil(np.sqrt(count)))
    strips = int(np.ceil(np.sqrt(groups)))
    rank = np.argsort(np.argsort(positions[:, first_axis], kind="stable"), kind="stable")
    order = np.lexsort((positions[:, 1 - first_axis], rank * strips // count))
    size = -(-count // groups)
    filled = np.full(groups * size, -1, dtype=np.int64)
    filled[np.arange(count) * groups * size // count] = order
    return filled.reshape(groups, size)


def _fitted(positions: Floats) -> Floats:
    """In the unit circle, on whose edge the farthest stand: an outlier does not shrink the rest."""
    centred = positions - np.median(positions, axis=0)
    radius = np.linalg.norm(centred, axis=1, keepdims=True)
    scale = max(float(np.quantile(radius, 0.98)), 1e-9)
    return np.asarray(centred / np.maximum(radius, scale))
