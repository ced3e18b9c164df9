"""Graph analysis on a large graph, as ratios to one sparse matrix-vector product over it.

    uv run python -m benchmarks.graph [--entities 100000] [--relations 1000000] [--json]

The graph is made at random: the ends of each relation are drawn by weights that fall off as a power
of the rank, so that degrees follow a power law (Chung & Lu 2002) and a few entities are tied to
thousands. Each line is the median of many runs, over pairs and seeds drawn anew for each; what it
is compared with is measured in turn with it, so that both see the same noise.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from scipy.sparse import csr_array

from benchmarks.speed import timed
from clew.graph.entity_graph import EntityGraph, edge_parts, merge_parts
from clew.graph.partition import leiden, partition, weighted
from clew.graph.paths import all_paths, neighbourhood, shortest_path, steiner_tree, strongest_path

SEED = 1
RUNS = 50
PRIZES = 10
FALL = 0.6
"""Weights fall off as rank to this power: the exponent of degrees is 1 + 1/0.6, about 2.7."""
TARGET = 20.0
"""Times one product, at most."""
PARTITIONS = 3
"""Runs of what takes seconds."""
PARTITION_TARGET = 3.0
"""Times one Leiden call, at most."""

Draw = Callable[[int], list[int]]
"""So many rows at random."""
Work = Callable[[], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """What one operation takes, and what it is compared with."""

    operation: str
    p50_ms: float
    p95_ms: float
    base: str
    ratio: float
    """Median of what the operation takes over that of the base, in the same rounds."""
    target: float
    """The ratio, at most."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--relations", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    given = parser.parse_args()
    graph = make_graph(given.entities, given.relations)
    figures = list(measure(graph, given.runs))
    if given.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=2))
    else:
        print(to_markdown(graph, figures))


def make_graph(entities: int, relations: int) -> EntityGraph:
    """A graph of random relations with weights of 0 to 1; degrees follow a power law."""
    rng = np.random.default_rng(SEED)
    share = np.arange(1, entities + 1) ** -FALL
    share /= share.sum()
    names = rng.permutation(entities)
    none = np.zeros(relations, dtype=np.int64)
    parts = edge_parts(
        heads=names[rng.choice(entities, relations, p=share)],
        tails=names[rng.choice(entities, relations, p=share)],
        amounts=rng.uniform(0.1, 1, relations).astype(np.float32),
        relations=np.arange(1, relations + 1),
        chunks=none,
        sentences=none - 1,
    )
    return merge_parts(np.arange(1, entities + 1), parts, generation=1)


def measure(graph: EntityGraph, runs: int) -> Iterator[Figure]:
    """Every operation, in turn with what it is compared with."""
    multiply = product(graph)
    yield compare("one product", multiply, "one product", multiply, target=1, runs=runs)
    for name, operation in operations(graph).items():
        yield compare(name, operation, "one product", multiply, target=TARGET, runs=runs)
    yield communities(graph)


def communities(graph: EntityGraph) -> Figure:
    """The hierarchy of communities, in turn with the one call of Leiden on the whole graph."""
    whole = weighted(graph)
    return compare(
        "communities",
        lambda: partition(graph),
        "Leiden alone",
        lambda: leiden(whole),
        target=PARTITION_TARGET,
        runs=PARTITIONS,
    )


def operations(graph: EntityGraph) -> dict[str, Work]:
    """Searches from entities drawn anew at each call, by name."""
    draw = drawing(graph)

    def between(search: Callable[[EntityGraph, int, int, int], object], hops: int) -> Work:
        def work() -> object:
            start, end = draw(2)
            return search(graph, start, end, hops)

        return work

    return {
        "neighbours, depth 1": lambda: neighbourhood(graph, draw(1), 1),
        "neighbours, depth 2": lambda: neighbourhood(graph, draw(1), 2, limit=2_000),
        "neighbours, depth 3": lambda: neighbourhood(graph, draw(1), 3, limit=20_000),
        "shortest path": between(shortest_path, 5),
        "strongest path": between(strongest_path, 5),
        "all paths, 3 hops at most": between(all_paths, 3),
        f"Steiner tree, {PRIZES} prizes": lambda: steiner_tree(
            graph, dict.fromkeys(draw(PRIZES), 1.0)
        ),
    }


def product(graph: EntityGraph) -> Work:
    """One product of the graph's matrix of strengths with a vector."""
    size = len(graph.entity_ids)
    strengths = graph.strengths[graph.edges].astype(np.float64)
    matrix = csr_array((strengths, graph.neighbours, graph.starts), shape=(size, size))
    vector = np.ones(size)
    return lambda: matrix @ vector


def drawing(graph: EntityGraph) -> Draw:
    """Rows that have any ties, the same ones in every run of the program."""
    rng = np.random.default_rng(SEED)
    connected = np.flatnonzero(np.diff(graph.starts))
    return lambda count: rng.choice(connected, count, replace=False).tolist()


def compare(
    operation: str, work: Work, base: str, base_work: Work, *, target: float, runs: int
) -> Figure:
    """The two in turn, so many times, after one that does not count."""
    pairs = [(timed(work), timed(base_work)) for _ in range(runs + 1)][1:]
    spent, base_spent = (sorted(column) for column in zip(*pairs, strict=True))
    return Figure(
        operation=operation,
        p50_ms=1000 * statistics.median(spent),
        p95_ms=1000 * spent[int(0.95 * runs)],
        base=base,
        ratio=statistics.median(spent) / statistics.median(base_spent),
        target=target,
    )


def to_markdown(graph: EntityGraph, figures: list[Figure]) -> str:
    """A table."""
    degrees = np.diff(graph.starts)
    head = (
        f"{len(graph.entity_ids):,} entities, {len(graph.strengths):,} ties;"
        f" degrees: median {int(np.median(degrees))}, highest {degrees.max():,}\n\n"
        "| operation | p50 ms | p95 ms | compared with | times | at most |\n"
        "|---|---:|---:|---|---:|---:|\n"
    )
    return head + "\n".join(
        f"| {f.operation} | {f.p50_ms:.2f} | {f.p95_ms:.2f} | {f.base} | {f.ratio:.1f}"
        f" | {f.target:g} |"
        for f in figures
    )


if __name__ == "__main__":
    main()
