"""Passages by community reports and by topics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.topics import listed
from clew.search.answer.blocks import Block, Form, RetrievalResult, after, cite_chunks, statement
from clew.search.answer.hits import read_relations
from clew.search.around import Nearest, entities_of, nearest_entities, search_neighbourhood
from clew.search.channels import Ranking
from clew.search.session import filtered_entities
from clew.text import entity_key, one_line
from clew.types import statement_text, with_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.session import QuerySession
    from clew.stores.communities import Communities
    from clew.types import Community, Ids, Scores, Topic, Vector, Vectors


DEEPEST = 5
"""Levels of communities that are looked at."""
REPORTS = 50
"""Reports of one answer, at most."""
CHARACTERS_PER_TOKEN = 4
"""Rough length of a token: tells which level's reports fit, before any is counted."""
TOPICS = 8
"""Topics that an answer follows."""


# --- communities -------------------------------------------------------------------------


def from_reports(session: QuerySession, communities: Sequence[Community]) -> RetrievalResult:
    """Reports, most relevant first, and the passages that they are made of."""
    if not communities:
        session.note("the graph has no communities yet; passages were found by meaning alone")
        return RetrievalResult(ranking=session.channels.by_vector())
    if session.resources.language_model is None:
        session.note("no language model was used: reports are made of the texts' sentences")
    # The passages of the reports: the first of each in turn, then the second of each.
    longest = max((len(c.sources) for c in communities), default=0)
    turns = (c.sources[i] for i in range(longest) for c in communities if i < len(c.sources))
    ids = np.array(list(turns), dtype=np.int64)
    sources = Ranking.in_order(ids[session.allows(ids)])
    place = dict(zip(sources.ids.tolist(), sources.scores.tolist(), strict=True))
    return RetrievalResult(
        ranking=sources.then(session.channels.by_vector()),
        arrange=after(report_blocks(session, communities)),
        scores={"community": place},
    )


def relevant_communities(session: QuerySession) -> list[Community]:
    """The communities of one level, nearest to the question first."""
    communities = session.views.communities
    return nearest_communities(communities, _level(session), session.vector, REPORTS)


def nearest_communities(
    communities: Communities, level: int, vector: Vector, limit: int
) -> list[Community]:
    """The communities of a level nearest to a vector first."""
    ids, vectors = communities.community_vectors(level)
    order = np.argsort(-_cosines(vectors, vector), kind="stable")[:limit]
    return communities.communities(ids=ids[order].tolist())


def _level(session: QuerySession) -> int:
    """The level asked for; else the finest whose reports all fit the budget, else the coarsest."""
    if session.options.level is not None:
        return check_level(session.views.communities, session.options.level)
    fitting = 0
    for level in range(DEEPEST):
        reports = session.views.communities.communities(level=level)
        length = sum(len(c.title) + len(c.summary) for c in reports)
        if not reports or length > session.options.max_tokens * CHARACTERS_PER_TOKEN:
            break
        fitting = level
    return fitting


def check_level(communities: Communities, level: int) -> int:
    """The level; raises `InputError` where there are no communities so deep."""
    deepest = int(communities.members()[:, 1].max(initial=0))
    if not 0 <= level <= deepest:
        raise InputError(
            f"level {level!r} cannot be; the deepest level of this store's communities is {deepest}"
        )
    return level


def report_blocks(session: QuerySession, communities: Sequence[Community]) -> list[Block]:
    """A block for each report: the whole of it, else its title and central entities.

    With a filter, what passages say of it that are let through; nothing, where none do.
    """
    wanted = np.array(list(dict.fromkeys(i for c in communities for i in c.sources)), np.int64)
    allowed = wanted[session.allows(wanted)].tolist()
    chunks = {chunk.id: chunk for chunk in session.resources.store.chunks(allowed)}
    blocks = []
    for community in communities:
        sources = [chunks[id_] for id_ in community.sources if id_ in chunks]
        if session.allowed is not None:
            community = _filtered_report(session, community, [chunk.id for chunk in sources])
        if community.summary:
            citations = cite_chunks(sources)
            titles = [one_line(chunk.title or chunk.source) for chunk in sources]
            names = f"About {', '.join(community.entities)} ({community.size} entities)."
            blocks.append(
                Block(
                    kind="report",
                    heading=f"Report: {community.title}",
                    forms=(
                        # The numbers of a context are others than those of a report.
                        Form(text=with_sources(community.summary, titles), citations=citations),
                        Form(text=names, citations=citations),
                    ),
                )
            )
    return blocks


def _filtered_report(
    session: QuerySession, community: Community, sources: Sequence[int]
) -> Community:
    """The report, reduced to what these sources say; empty where they say nothing of it."""
    store, as_of = session.resources.store, session.options.as_of
    texts = store.sentences(sources)
    said = [statement_text(s) for id_ in sources for s in texts.get(id_, ())]
    stated = read_relations(store, store.chunk_relations(sources, as_of=as_of))
    lines = dict.fromkeys(f"- {statement(r.head, r.relation, r.tail)}" for r in stated)
    report, *relations = community.summary.split("\n")
    summary = [" ".join(s for s in said if s in report), *(r for r in relations if r in lines)]
    known = store.resolve([entity_key(name) for name in community.entities])
    ids = filtered_entities(session, list(dict.fromkeys(known.values())))
    names = tuple(store.entity_names(ids).values())
    return replace(
        community,
        title=listed(names[:3]) if names else "",
        summary="\n".join(summary).strip(),
        entities=names,
        size=len(names),
    )


# --- topics ------------------------------------------------------------------------------


def by_topics(session: QuerySession) -> RetrievalResult:
    """Passages on the nearest topics; a topic counts its own nearness times its theme's."""
    relevance = _nearest_topics(session)
    if not relevance:
        session.note("the store has no topics yet; passages were found by meaning alone")
        return RetrievalResult(ranking=session.channels.by_vector())
    tied = session.views.communities.topic_chunks(list(relevance))
    tied = tied[session.allows(tied[:, 1])]
    best: dict[int, float] = {}
    for topic, chunk in tied.tolist():
        best[chunk] = max(best.get(chunk, 0.0), relevance[topic])
    ids = np.array(sorted(best), dtype=np.int64)
    values = np.array([best[id_] for id_ in ids.tolist()])
    cosines = np.clip(session.views.vectors.vectors(ids) @ session.vector, 0, 1)
    scores = values * (1 + cosines) / 2
    order = np.lexsort((ids, -scores))
    topics = session.views.communities.topics(ids=list(relevance))
    ranking = Ranking(ids[order], scores[order].astype(np.float32))
    return RetrievalResult(
        ranking=ranking.then(session.channels.by_vector()),
        arrange=after([_topic_block(session, topics, tied)] if len(tied) else []),
        scores={"topic": best},
    )


def _nearest_topics(session: QuerySession) -> dict[int, float]:
    """Topic × theme relevance by topic id, best first."""
    ids, vectors = session.views.communities.topic_vectors()
    if not len(ids):
        return {}
    theme_of, themes = session.views.communities.theme_vectors()
    nearness = np.clip(_cosines(vectors, session.vector), 0, 1)
    relevance = nearness * np.clip(_cosines(themes, session.vector), 0, 1)[theme_of]
    order = np.lexsort((ids, -relevance))[:TOPICS]
    return {int(ids[i]): float(relevance[i]) for i in order if relevance[i] > 0}


def _cosines(vectors: Vectors, vector: Vector) -> Scores:
    """(n,) none for no vectors, whatever their dimension."""
    return vectors @ vector if len(vectors) else np.zeros(0, np.float32)


def _topic_block(session: QuerySession, topics: Sequence[Topic], tied: Ids) -> Block:
    """Each topic with the passages on it."""
    passages = Counter(tied[:, 0].tolist())
    lines = []
    for topic in topics:
        shown = topic.phrase
        if session.allowed is None:  # else nothing that is made of all its passages
            said = f". {topic.description.sourced}" if topic.description else ""
            shown = f"{topic.name} ({topic.theme}){said}"
        if passages[topic.id]:
            lines.append(f"- {shown}: {passages[topic.id]} passages")
    return Block(kind="topic", heading="Topics", forms=(Form(text="\n".join(lines), citations=()),))


# DRIFT search: community reports first, then local search around their entities.


PRIMED = 3
"""Communities that the local part starts from."""
SHARE = 0.5
"""Share of the context that reports may take."""
FOUND_WEIGHT = 0.5
"""What an entity that the reports led to counts beside one that the question led to."""


def drift(session: QuerySession) -> RetrievalResult:
    """The nearest communities' reports, then what lies around their entities and the question's."""
    communities = relevant_communities(session)[:PRIMED]
    asked = nearest_entities(session)
    if not communities:
        session.note("the graph has no communities yet; only the neighbourhood was searched")
        return search_neighbourhood(session, asked)
    if session.resources.language_model is None:
        session.note("no language model was used: reports are made of the texts' sentences")
    # Both, each entity at its higher relevance.
    relevance = {
        id_: FOUND_WEIGHT * value
        for id_, value in entities_of(session, communities).relevance.items()
    }
    for id_, value in asked.relevance.items():
        relevance[id_] = max(value, relevance.get(id_, 0.0))
    near = search_neighbourhood(session, Nearest(relevance))
    # As many reports as fit their share of the context.
    room = SHARE * session.options.max_tokens
    chosen: list[Block] = []
    for block in report_blocks(session, communities):
        room -= session.resources.embedder.count_tokens(block.forms[0].text)
        if room < 0:
            break
        chosen.append(block)
    return replace(near, arrange=after(chosen, near.arrange))
