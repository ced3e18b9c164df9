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

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.neighbourhood import Neighbourhood
from clew.ports import NearbyQuery
from clew.search.analysis.analyse import MAX_TERMS, analyse, candidate_keys
from clew.search.ranking.features import look_onward
from clew.search.ranking.first_stage_features import VectorReader, read_first_stage_features
from clew.search.retrieval.bridge import MAX_SEED_SENTENCES, Coverage, find_bridges
from clew.search.retrieval.personalized_pagerank import personalized_pagerank
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Snapshot
    from clew.search.retrieval.bridge import Bridges
    from clew.search.session import QuerySession

NEAR = 100
"""Best passages of a channel that are read."""


MOST_MENTIONS = 300
"""Mentions of a bridge, or of an entity further on, that is followed, at most."""
ONWARD = 100
COUNT_LAST = True
"""Entities further on whose own passages are read."""


def read_neighbourhood(session: QuerySession) -> tuple[Neighbourhood, Snapshot]:
    """The graph around the session's question, as far as its filters let it reach."""
    near = Neighbourhood(session.resources.store)
    found = [ranking.ids[:NEAR] for ranking in session.channels.both()]
    question = session.question
    asked = dict.fromkeys([*question_terms(question, session.languages), *terms(question)])
    snapshot = near.read(
        NearbyQuery(
            chunk_ids=np.concatenate(found).tolist(),
            keys=candidate_keys(question),
            terms=list(asked)[: 2 * MAX_TERMS],
            most=MAX_SEED_SENTENCES,
        )
    )
    first = _Step(session, near, snapshot)
    channels = session.channel_scores(snapshot)
    reader = VectorReader(lambda rows: session.vectors_of(snapshot.chunk_ids[rows]))
    prior = read_first_stage_features(first.analysis, snapshot, channels, reader).prior
    bridges = first.bridges(prior)
    wider = near.read(
        NearbyQuery(
            entity_ids=snapshot.entity_ids[bridges.entities].tolist(),
            counted=snapshot.entity_ids.tolist(),
            most=MOST_MENTIONS,
        )
    )
    second = _Step(session, near, wider)
    spread = np.zeros(wider.size, np.float32)
    spread[wider.rows(snapshot.chunk_ids)] = prior
    onward = second.onward(spread).entities[:ONWARD]
    last = near.read(
        NearbyQuery(
            subjects=wider.entity_ids[onward].tolist(),
            counted=wider.entity_ids.tolist() if COUNT_LAST else (),
            most=MOST_MENTIONS,
        )
    )
    return near, last


class _Step:
    """The question on the graph that has been read so far."""

    def __init__(self, session: QuerySession, near: Neighbourhood, snapshot: Snapshot) -> None:
        given = session.vector, snapshot, near, session.languages
        self.analysis = analyse(session.question, *given)
        self.coverage = Coverage(self.analysis, snapshot)
        self.snapshot = snapshot
        self.allowed = session.channel_scores(snapshot).allowed

    def bridges(self, prior: Floats) -> Bridges:
        return find_bridges(self.analysis, self.snapshot, self.coverage, prior, self.allowed)

    def onward(self, prior: Floats) -> Bridges:
        """Where the walk leads on from there."""
        given = self.bridges(prior), self.snapshot, prior, self.allowed
        walks = personalized_pagerank(self.analysis, *given)
        return look_onward(self.analysis, self.snapshot, self.coverage, walks)
