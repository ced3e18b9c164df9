"""Placing nodes, some of which are communities already, in a hierarchy of communities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.communities.leiden import leiden
from clew.graph.snapshot import distinct

if TYPE_CHECKING:
    from clew.graph.communities.leiden import WeightedGraph, Weights
    from clew.graph.snapshot import Ints
    from clew.types import Ids

MAX_SIZE = 32
"""Entities of a community that is not clustered further, where it can be."""
ENTITY = np.iinfo(np.int64).max
"""The level of a node that is a single entity: below every community."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """What is placed: single entities, and untouched communities as a whole."""

    graph: WeightedGraph
    numbers: Ints
    """(nodes,) which of the first nodes each is, as parts of parts are taken."""
    inner: Weights
    """(nodes,) the weights within a node, counted from both ends."""
    levels: Ints
    """(nodes,) at which a community stood; `ENTITY` for an entity."""
    sizes: Ints
    """(nodes,) entities."""
    communities: Ids
    """(nodes,) id of the community; 0 for an entity."""

    def among(self, nodes: Ints) -> Nodes:
        """These nodes (sorted) alone."""
        return Nodes(
            graph=self.graph.among(nodes),
            numbers=self.numbers[nodes],
            inner=self.inner[nodes],
            levels=self.levels[nodes],
            sizes=self.sizes[nodes],
            communities=self.communities[nodes],
        )

    def divisible(self, nodes: Ints) -> bool:
        """Whether these are to be clustered: too many, or some are communities that stay."""
        return int(self.sizes[nodes].sum()) > MAX_SIZE or bool((self.levels[nodes] != ENTITY).any())

    def groups(self, level: int) -> list[Ints]:
        """Positions of the nodes of each community of a level; what stood there stays."""
        stays = self.levels <= level
        found = [np.array([node]) for node in np.flatnonzero(stays)]
        rest = np.flatnonzero(~stays)
        if len(rest):
            labels = self._cluster(rest)
            order = np.argsort(labels, kind="stable")
            found += np.split(rest[order], np.cumsum(np.bincount(labels))[:-1])
        return found

    def _cluster(self, rest: Ints) -> Ints:
        """Communities of some nodes, at the modularity that they have among all.

        Leiden sees only the edges among them. A pendant node of half the weight that is missing
        brings each to its strength, and the resolution makes up for the smaller total.
        """
        if len(rest) == self.graph.size and not self.inner.any():
            return leiden(self.graph)
        inside = self.graph.among(rest)
        strengths = self.graph.strengths() + self.inner
        missing = strengths[rest] - inside.strengths()
        total = strengths.sum()
        share = strengths[rest].sum() / total if total > 0 else 1.0
        return leiden(inside.with_pendants(missing / 2), share)[: len(rest)]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A community of the new hierarchy."""

    nodes: Ints
    """Of the first nodes."""
    level: int
    parent: int
    """Its place among those found; -1 for none."""
    kept: int
    """Id of the untouched community that it is; 0 where it is clustered again."""


def find_clusters(nodes: Nodes) -> list[Cluster]:
    """The hierarchy of communities, each after the one that holds it.

    Not what is below communities that stay.
    """
    found: list[Cluster] = []
    if nodes.graph.size:
        _divide(nodes, 0, -1, found)
    return found


def _divide(part: Nodes, level: int, parent: int, found: list[Cluster]) -> None:
    """Add the communities that a part consists of, and all below them.

    Where clustering finds but one, the part stays whole, unless it holds communities that stay:
    they then rise to this level.
    """
    groups = part.groups(level)
    if parent >= 0:
        for deeper in distinct(part.levels[(part.levels > level) & (part.levels != ENTITY)]):
            if len(groups) > 1:
                break
            groups = part.groups(int(deeper))
        if len(groups) == 1:
            return
    for members in groups:
        kept = int(part.communities[members[0]]) if len(members) == 1 else 0
        found.append(Cluster(part.numbers[members], level, parent, kept))
        if not kept and part.divisible(members):
            _divide(part.among(members), level + 1, len(found) - 1, found)
