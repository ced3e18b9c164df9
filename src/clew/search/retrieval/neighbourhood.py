"""The graph around a question, read from the store in three round trips after the channels' own.

Where a store is larger than this process's memory, it is asked for

1. the channels' best passages with those beside them, the passages of the entities that the
   question names, and how common its terms are;
2. the passages of the bridges that lead on from there;
3. the passages about the entities that the walk then visits most.

Each step runs on what was read before; ranking runs on all of it. An entity of very many mentions
is not followed: its passages are here where something else leads to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Neighbourhood
from clew.ports import NearbyQuery
from clew.search.analysis.question import MAX_TERMS, analyse, candidate_keys
from clew.search.ranking.features import (
    ChannelScores,
    VectorReader,
    look_onward,
    read_first_stage_features,
)
from clew.search.retrieval.channels import RowValues
from clew.search.retrieval.walk import (
    MAX_SEED_SENTENCES,
    Coverage,
    find_bridges,
    personalized_pagerank,
)
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.graph.snapshot import Snapshot
    from clew.search.retrieval.channels import Ranking
    from clew.search.retrieval.walk import Bridges
    from clew.stores.store import Store
    from clew.types import Ids, Vector, Vectors

NEAR = 50
"""Best passages of a channel that are read: as many as have a prior."""
MOST_MENTIONS = 100
"""Mentions of a bridge, or of an entity further on, that is followed, at most."""
ONWARD = 40
"""Entities further on whose own passages are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, and what its channels found."""

    question: str
    languages: frozenset[str]
    vector: Vector
    found: tuple[Ranking, Ranking]
    """By vector and by keyword."""
    allowed: Ids | None
    """Chunks that the filters let through; None for all."""
    vectors_of: Callable[[Ids], Vectors]

    def scores(self, snapshot: Snapshot) -> ChannelScores:
        """What was found, as rows of a snapshot."""
        return ChannelScores.of(self.found, snapshot, self.allowed)


def read_neighbourhood(source: Store, asked: Asked) -> Neighbourhood:
    """The graph around a question, as far as its filters let it reach."""
    near = Neighbourhood(source)
    words = [*question_terms(asked.question, asked.languages), *terms(asked.question)]
    near.read(
        NearbyQuery(
            chunk_ids=np.concatenate([ranking.ids[:NEAR] for ranking in asked.found]).tolist(),
            keys=candidate_keys(asked.question),
            terms=list(dict.fromkeys(words))[: 2 * MAX_TERMS],
            most=MAX_SEED_SENTENCES,
        )
    )
    graph = _Graph(asked, near)
    known, prior = near.snapshot, graph.prior()
    wider = near.read(
        NearbyQuery(
            entity_ids=known.entity_ids[graph.bridges(prior).entities].tolist(),
            counted=known.entity_ids.tolist(),
            most=MOST_MENTIONS,
        )
    )
    rows = wider.rows(known.chunk_ids[prior.rows])
    onward = _Graph(asked, near).onward(RowValues(rows, prior.values)).entities[:ONWARD]
    near.read(NearbyQuery(subjects=wider.entity_ids[onward].tolist(), most=MOST_MENTIONS))
    return near


class _Graph:
    """The question on the graph that has been read so far."""

    def __init__(self, asked: Asked, near: Neighbourhood) -> None:
        self._asked = asked
        self.snapshot = near.snapshot
        given = asked.vector, self.snapshot, near, asked.languages
        self.analysis = analyse(asked.question, *given)
        self.coverage = Coverage(self.analysis, self.snapshot)
        self.channels = asked.scores(self.snapshot)

    def prior(self) -> RowValues:
        """How well each passage answers by itself, 0 to 1."""
        ids = self.snapshot.chunk_ids
        reader = VectorReader(lambda rows: self._asked.vectors_of(ids[rows]))
        given = self.analysis, self.snapshot, self.channels, reader
        return read_first_stage_features(*given).prior

    def bridges(self, prior: RowValues) -> Bridges:
        """The entities that sentences tie to the question."""
        given = self.snapshot, self.coverage, prior, self.channels.allowed
        return find_bridges(self.analysis, *given)

    def onward(self, prior: RowValues) -> Bridges:
        """The entities of the passages that the walk visits most."""
        given = self.bridges(prior), self.snapshot, prior, self.channels.allowed
        walks = personalized_pagerank(self.analysis, *given)
        return look_onward(self.analysis, self.snapshot, self.coverage, walks)
