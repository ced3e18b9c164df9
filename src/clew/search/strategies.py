"""The strategies, side by side: each a short composition of the shared steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from clew.errors import InputError
from clew.search.answer.blocks import RetrievalResult, after
from clew.search.channels import (
    Ranking,
    in_turn,
    reciprocal_rank_fusion,
    weighted_fusion,
)
from clew.search.exact import holding_all_first
from clew.search.hierarchy import asked_sections, rank_parents
from clew.search.periods import in_period
from clew.search.question import compared_sides, is_look_up
from clew.types import LEAST_LIKELY, Fusion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.search.options import Options
    from clew.search.session import QuerySession

    Find = Callable[[QuerySession], RetrievalResult]


FROM_EACH_SIDE = 1
"""Passages of each side of a comparison that lead."""


def vector(session: QuerySession) -> RetrievalResult:
    """The passages whose meaning is nearest to the question's."""
    return RetrievalResult(ranking=session.channels.by_vector())


def keyword(session: QuerySession) -> RetrievalResult:
    """The passages that hold the question's words, the rare ones above all (BM25)."""
    return RetrievalResult(ranking=session.channels.by_keyword())


def hybrid(session: QuerySession) -> RetrievalResult:
    """Both of these, fused by rank, or by weight: α of the words, the rest of the meaning.

    Fused by rank, passages with every word of what is looked up go first.
    """
    ranking = _fuse(session)
    if session.options.fusion == "rrf" and is_look_up(session.question):
        ranking = holding_all_first(session, ranking)
    return RetrievalResult(ranking=ranking)


def graph(session: QuerySession) -> RetrievalResult:
    """The passages that the question's entities lead to, ranked on all the evidence."""
    if not session.snapshot.size:
        return RetrievalResult(ranking=_fuse(session))
    ranking = session.rank(session.gather()).then(_fuse(session))
    best = []
    for side in compared_sides(session.question):
        from clew.search.around import defining

        # What is best for the whole question may all speak of one side.
        part = session.for_question(side)
        ranked = part.rank(part.gather())
        best.append(ranked.led_by(defining(part, ranked)).ids[:FROM_EACH_SIDE])
        session.trust(part)
    return RetrievalResult(ranking=ranking.led_by(in_turn(best)))


def parent_child(session: QuerySession) -> RetrievalResult:
    """The parents whose children answer together; the children tell which they are.

    The sections that the question names ("section 4.2", "the chapter on …") go first.
    """
    found = rank_parents(session, session.channels.by_vector())
    named = asked_sections(session)
    return replace(found, ranking=found.ranking.led_by(named))


def topic(session: QuerySession) -> RetrievalResult:
    """The passages on the topics nearest to the question, by topic and by theme.

    Where nobody asked for this strategy by its name, those that are likely to answer go first, as
    `graph` has them: what is asked about need not be a topic of the store.
    """
    from clew.search.reports import by_topics

    found = by_topics(session)
    if session.options.strategy != AUTO:
        return found
    ids = graph(session).ranking.ids
    sure = np.array([session.confidences.get(id_, 0.0) for id_ in ids.tolist()])
    return replace(found, ranking=found.ranking.led_by(ids[sure >= LEAST_LIKELY]))


def multi_hop(session: QuerySession) -> RetrievalResult:
    """What `graph` finds, and the paths between the question's entities, fewest hops first.

    The passages that state the first path are among the hits, behind the first third at most.
    """
    from clew.search.around import paths_between

    found = graph(session)
    paths, stating = paths_between(session)
    limit = session.options.limit
    ranking = found.ranking.with_among(stating, max(limit - len(stating), -(-limit // 3)))
    return replace(found, ranking=ranking, arrange=after(paths))


def hierarchical(session: QuerySession) -> RetrievalResult:
    """One layer of a declared hierarchy, or of the documents' outline, with all above and below."""
    from clew.search.hierarchy import by_hierarchy, by_outline, declared

    hierarchy = declared(session)
    return by_hierarchy(session, hierarchy) if hierarchy else by_outline(session)


def temporal(session: QuerySession) -> RetrievalResult:
    """What `graph` finds within the period that the question names, told in order of time."""
    return in_period(session, graph)


def global_(session: QuerySession) -> RetrievalResult:
    """The reports of the communities nearest to the question, and their passages."""
    from clew.search.reports import from_reports, relevant_communities

    return from_reports(session, relevant_communities(session))


def local(session: QuerySession) -> RetrievalResult:
    """The entities nearest to the question: their neighbours, relations and passages."""
    from clew.search.around import nearest_entities, search_neighbourhood

    return search_neighbourhood(session, nearest_entities(session))


def weighted(session: QuerySession) -> RetrievalResult:
    """Meaning, distance in the graph and time, each with its weight."""
    from clew.search.periods import rank_weighted

    return rank_weighted(session)


def drift(session: QuerySession) -> RetrievalResult:
    """`global` first, then `local` around what it found."""
    from clew.search.reports import drift

    return drift(session)


EVERYWHERE = frozenset({"passages", "exact", "parents"})
"""What strategies find among which passages of earlier versions have a place: not overviews."""


class Strategy(NamedTuple):
    """A line of the table."""

    find: Find
    finds: Literal["passages", "exact", "parents", "overview"]
    """Passages that answer, those that the question names exactly first (`retrieval.exact`) or not;
    the parents of such; or what gives an overview."""
    options: tuple[str, ...] = ()
    """Those that have an effect on it and not on every strategy."""


STRATEGIES: Mapping[str, Strategy] = {
    "vector": Strategy(vector, "passages"),
    "keyword": Strategy(keyword, "exact"),
    "hybrid": Strategy(hybrid, "exact", ("fusion", "alpha")),
    "graph": Strategy(graph, "exact"),
    "parent_child": Strategy(parent_child, "parents"),
    "topic": Strategy(topic, "overview"),
    "multi_hop": Strategy(multi_hop, "exact", ("max_hops",)),
    "hierarchical": Strategy(hierarchical, "overview", ("layer", "hierarchy")),
    "temporal": Strategy(temporal, "exact"),
    "global": Strategy(global_, "overview", ("level",)),
    "local": Strategy(local, "exact", ("max_hops",)),
    "weighted": Strategy(weighted, "passages", ("max_hops", "weights")),
    "drift": Strategy(drift, "overview", ("max_hops", "level")),
}
OPTIONS = ("max_hops", "fusion", "alpha", "weights", "layer", "hierarchy", "level")
"""Options that only some strategies use, in the order in which they are told of."""
AUTO = "auto"
"""Lets the router choose one of these."""


def known_strategies() -> list[str]:
    """Names of all strategies, those of plugins at the end."""
    from clew.hookspecs import named  # the core's own need no plugin

    return list(dict.fromkeys((*STRATEGIES, *named("strategies"))))


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises `InputError` that lists them all for any other."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name not in (known := known_strategies()):
        raise InputError(f"unknown strategy {name!r}; expected one of {', '.join([*known, AUTO])}")
    from clew.hookspecs import named, there

    found: Strategy = there(named("strategies")[name][0])
    return found


def without_effect(options: Options, strategy: str) -> list[str]:
    """A sentence for each option that the caller gave and the strategy has no use for."""
    used_by: dict[str, list[str]] = {}
    for name, line in sorted(STRATEGIES.items()):
        for option in line.options:
            used_by.setdefault(option, []).append(name)
    own = find_strategy(strategy).options
    idle = [name for name in OPTIONS if name in options.given and name not in own]
    found = [
        f"{name} has no effect on the strategy {strategy}; it is for {', '.join(used_by[name])}"
        for name in idle
    ]
    if "alpha" in options.given and "alpha" not in idle and options.fusion != "weighted":
        found.append("alpha has no effect on the fusion rrf; it is for weighted")
    return found


def _fuse(session: QuerySession) -> Ranking:
    if session.options.fusion not in (known := get_args(Fusion)):
        raise InputError(
            f"unknown fusion {session.options.fusion!r}; expected {' or '.join(known)}"
        )
    by_vector, by_keyword = session.channels.both()
    if session.options.fusion == "weighted":
        return weighted_fusion(by_keyword, by_vector, session.alpha)
    return reciprocal_rank_fusion([by_vector, by_keyword])
