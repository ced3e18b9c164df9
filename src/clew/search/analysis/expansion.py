"""Query expansion: other names of the question's entities, and their strongest neighbours.

A passage that calls an entity by another name than the question does shares no word with it.
`expansion_ranking` finds such passages by keyword; any strategy can fuse it with its own ranking.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from clew.errors import ModelError
from clew.graph.snapshot import find_sorted
from clew.ports.models import Message, Request
from clew.search.analysis.analyse import MAX_TERMS, find_seeds
from clew.search.retrieval.channels import DEPTH, Ranking, reciprocal_rank_fusion
from clew.text import entity_key, terms
from clew.untrusted import NOTICE, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clew.graph.snapshot import Ints
    from clew.ports import Embedder
    from clew.search.session import QuerySession, RecentlyUsed
    from clew.types import Vector, Vectors

    NameVectors = RecentlyUsed[str, Vector]


SYNONYM_COSINE = 0.8
"""Names at least this alike are taken for names of one thing."""
NAMES_A_SEED = 5
"""Aliases, synonyms and neighbours of one seed: as many of each, at most."""
CANDIDATE_PASSAGES = 50
"""Passages, from the best, whose entities may be synonyms."""
CANDIDATE_NAMES = 64
"""Entities that are compared with the seeds, at most."""


_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryExpansion:
    """Names related to the question that it does not use; each once, the best first."""

    seeds: tuple[int, ...] = ()
    """Ids of the entities that the question names."""
    aliases: tuple[str, ...] = ()
    """Their other names in the store."""
    synonyms: tuple[str, ...] = ()
    """Names of other entities that mean nearly the same."""
    neighbours: tuple[str, ...] = ()
    """Names of the entities that they are tied to most."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.aliases, *self.synonyms, *self.neighbours)

    @property
    def terms(self) -> tuple[str, ...]:
        """The search terms of all of them, each once."""
        return tuple(dict.fromkeys(term for name in self.names for term in terms(name)))


def expand_query(session: QuerySession, known: NameVectors | None = None) -> QueryExpansion:
    """Other names for what the question asks for; nothing where it names no entity.

    Args:
        session: The question.
        known: Embeddings of names, kept from one question to the next.
    """
    seeds = [seed.entity_id for seed in session.analysis.seeds]
    if not seeds:
        return QueryExpansion()
    near = reciprocal_rank_fusion([session.channels.by_vector(), session.channels.by_keyword()])
    said = _SeenNames(session.question)
    return QueryExpansion(
        seeds=tuple(seeds),
        aliases=said.new(_aliases(session, seeds)),
        synonyms=said.new(_synonyms(session, seeds, near, known)),
        neighbours=said.new(_neighbours(session, seeds)),
    )


def expansion_ranking(session: QuerySession, known: NameVectors | None = None) -> Ranking:
    """Passages by the question's words and the other names in one search by keyword.

    To be fused by rank with what a strategy finds: words of other names are not asked for, and
    count as much as one more vote. Empty where there is nothing to add.
    """
    names = expand_query(session, known).terms
    if not names:
        return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
    wanted = list(dict.fromkeys([*session.channels.terms, *names]))[:MAX_TERMS]
    return Ranking(*session.resources.store.search_keywords(wanted, DEPTH, session.allowed))


class _SeenNames:
    """Words of the question and names that were added already."""

    def __init__(self, question: str) -> None:
        self._terms = set(terms(question))
        self._keys: set[str] = set()

    def new(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names that add a word to the question and were not added before."""
        added = []
        for name in names:
            key = entity_key(name)
            if key not in self._keys and not self._terms.issuperset(terms(name)):
                self._keys.add(key)
                added.append(name)
        return tuple(added)


def _aliases(session: QuerySession, seeds: Sequence[int]) -> list[str]:
    """The best-founded ones of each seed."""
    found: list[str] = []
    for seed in seeds:
        known = session.resources.store.aliases(entity_id=seed)
        best = sorted(known, key=lambda alias: (-alias.score, alias.id))
        found.extend(islice((alias.name for alias in best), NAMES_A_SEED + 1))
    return found


def _synonyms(
    session: QuerySession, seeds: Sequence[int], near: Ranking, known: NameVectors | None
) -> list[str]:
    """Entities of the best passages whose names are like a seed's, the most alike first."""
    names = session.resources.store.entity_names([*seeds, *_candidates(session, near)])
    asked = [names[seed] for seed in seeds if seed in names]
    others = [name for entity, name in names.items() if entity not in seeds]
    if not asked or not others:
        return []
    embedded = _embed([*asked, *others], session.resources.embedder, known)
    alike = embedded[len(asked) :] @ embedded[: len(asked)].T
    # Two years, or two models of a series, are near each other and never the same.
    numbers = [_numbers(name) for name in asked]
    same = np.array([[_numbers(name) == n for n in numbers] for name in others])
    alike = np.where(same, alike, -1).max(axis=1)
    order = np.argsort(-alike, kind="stable")[: NAMES_A_SEED * len(seeds)]
    return [others[place] for place in order if alike[place] >= SYNONYM_COSINE]


def _numbers(name: str) -> set[str]:
    return set(_NUMBER.findall(name))


def _embed(names: Sequence[str], embedder: Embedder, known: NameVectors | None) -> Vectors:
    """(len(names), dim); those that are not known are embedded in one batch."""
    found: dict[str, Vector] = {}
    if known is not None:
        found = {n: vector for n in names if (vector := known.get(n)) is not None}
    missing = [name for name in dict.fromkeys(names) if name not in found]
    if missing:
        found.update(zip(missing, embedder.embed_documents(missing), strict=True))
    if known is not None:
        for name in missing:
            known.put(name, found[name])
    return np.stack([found[name] for name in names])


def _candidates(session: QuerySession, near: Ranking) -> list[int]:
    """Ids of the entities of the best passages that most of these mention and few others do."""
    snapshot = session.snapshot
    ids = near.top(CANDIDATE_PASSAGES).ids
    entries, _ = snapshot.passage_entities.entries(snapshot.rows(ids[snapshot.known(ids)]))
    members, counts = np.unique(snapshot.passage_entities.items[entries], return_counts=True)
    weights = counts * snapshot.entity_idf[members]
    weights[np.isin(members, [seed.row for seed in session.analysis.seeds])] = 0
    best = np.argsort(-weights, kind="stable")[:CANDIDATE_NAMES]
    found: list[int] = snapshot.entity_ids[members[best[weights[best] > 0]]].tolist()
    return found


def _neighbours(session: QuerySession, seeds: Sequence[int]) -> list[str]:
    """The entities that the strongest ties of each seed lead to."""
    graph = session.resources.entity_graph
    rows, known = find_sorted(graph.entity_ids, np.array(seeds, np.int64))
    strongest: list[Ints] = []
    for row in rows[known].tolist():
        others, edges = graph.row(row)
        order = np.argsort(-graph.strengths[edges], kind="stable")[:NAMES_A_SEED]
        strongest.append(others[order])
    ids = graph.entity_ids[np.concatenate(strongest)].tolist() if strongest else []
    names = session.resources.store.entity_names([i for i in dict.fromkeys(ids) if i not in seeds])
    return [names[i] for i in dict.fromkeys(ids) if i in names]


# Entities that a question is about, named by a language model beside those that its words name.


_MOST_NAMES = 10
_INSTRUCTIONS = f"""\
You name whom and what a question is about, as an encyclopaedia would head its pages: people,\
 places, organisations, works, things with a name. {NOTICE}
Write names in full where the question shortens, misspells, translates or describes them. Do not\
 answer the question. Answer with a JSON object: {{"names": ["…"]}}; where there is no name,\
 {{"names": []}}.
"""


class Named(BaseModel):
    """The names of what a question is about."""

    names: list[str] = Field(max_length=_MOST_NAMES)


def read_named_entities(session: QuerySession) -> None:
    """Add the entities that the model names and the graph knows, where the settings ask for it.

    Those that the words of the question name stay. Where the model fails, a note says so.
    """
    model = session.model
    if model is None:
        return
    with session.timings.step("entities"):
        try:
            request = Request(
                task="route",
                instructions=_INSTRUCTIONS,
                messages=(Message(role="user", text=f"Question: {escaped(session.question)}"),),
                schema=Named,
                subject=session.question,
            )
            value = model.reply(request).value
            assert isinstance(value, Named)
            names = value.names
        except ModelError as error:
            session.note(f"entities by the question's words alone: {error}")
            return
        analysis, known = session.analysis, {seed.row for seed in session.analysis.seeds}
        given = session.views.snapshot, session.resources.store, session.languages
        found = [
            seed
            for name in dict.fromkeys(names)
            for seed in find_seeds(name, *given)
            if seed.key == entity_key(name)
        ]
        new = {seed.row: seed for seed in found if seed.row not in known}
        session.found_analysis = replace(analysis, seeds=(*analysis.seeds, *new.values()))
