"""The ways of asking, side by side: each a short composition of the shared steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.search.answer.result import Found, after
from clew.search.retrieval.channels import Ranking, reciprocal_rank_fusion, weighted_fusion
from clew.search.strategies.parent_child import best_parents
from clew.search.strategies.temporal import in_period

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.search.session import Asking

    Strategy = Callable[[Asking], Found]


def vector(asking: Asking) -> Found:
    """The passages whose meaning is nearest to the question's."""
    return Found(ranking=asking.channels.by_vector())


def keyword(asking: Asking) -> Found:
    """The passages that hold the question's words, the rare ones above all (BM25)."""
    return Found(ranking=asking.channels.by_keyword())


def hybrid(asking: Asking) -> Found:
    """Both of these, fused by rank, or by weight: α of the words, the rest of the meaning."""
    return Found(ranking=_fuse(asking))


def graph(asking: Asking) -> Found:
    """The passages that the question's entities lead to, ranked on all the evidence."""
    return Found(ranking=_follow(asking))


def parent_child(asking: Asking) -> Found:
    """The parents whose children answer together; the children tell which they are."""
    return best_parents(asking, asking.channels.by_vector())


def topic(asking: Asking) -> Found:
    """The passages on the topics nearest to the question, by topic and by theme."""
    from clew.search.strategies.community_reports import by_topics

    return by_topics(asking)


def multi_hop(asking: Asking) -> Found:
    """What `graph` finds, and the paths between the question's entities, fewest hops first."""
    from clew.search.strategies.entity_paths import paths_between

    ranking = _follow(asking)
    return Found(ranking=ranking, arrange=after(paths_between(asking)))


def hierarchical(asking: Asking) -> Found:
    """One layer of a declared hierarchy, or of the documents' outline, with all above and below."""
    from clew.search.strategies.hierarchy import by_hierarchy, by_outline

    return by_hierarchy(asking) if asking.options.hierarchy else by_outline(asking)


def temporal(asking: Asking) -> Found:
    """What `graph` finds within the period that the question names, told in order of time."""
    return in_period(asking, graph)


def global_(asking: Asking) -> Found:
    """The reports of the communities nearest to the question, and their passages."""
    from clew.search.strategies.community_reports import from_reports, relevant_communities

    return from_reports(asking, relevant_communities(asking))


def local(asking: Asking) -> Found:
    """The entities nearest to the question: their neighbours, relations and passages."""
    from clew.search.strategies.local import around, nearest_entities

    return around(asking, nearest_entities(asking))


def weighted(asking: Asking) -> Found:
    """Meaning, distance in the graph and time, each with its weight."""
    from clew.search.strategies.weighted_hops import weigh

    return weigh(asking)


def drift(asking: Asking) -> Found:
    """`global` first, then `local` around what it found."""
    from clew.search.strategies.drift import drift

    return drift(asking)


STRATEGIES: Mapping[str, Strategy] = {
    "vector": vector,
    "keyword": keyword,
    "hybrid": hybrid,
    "graph": graph,
    "parent_child": parent_child,
    "topic": topic,
    "multi_hop": multi_hop,
    "hierarchical": hierarchical,
    "temporal": temporal,
    "global": global_,
    "local": local,
    "weighted": weighted,
    "drift": drift,
}
AUTO = "auto"
"""Lets the router choose one of these."""


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises `InputError` that lists them all for any other."""
    if name not in STRATEGIES:
        known = ", ".join([*STRATEGIES, AUTO])
        raise InputError(f"unknown strategy {name!r}; expected one of {known}")
    return STRATEGIES[name]


def _fuse(asking: Asking) -> Ranking:
    by_vector, by_keyword = asking.channels.both()
    if asking.options.fusion == "weighted":
        return weighted_fusion(by_keyword, by_vector, asking.alpha)
    return reciprocal_rank_fusion([by_vector, by_keyword])


def _follow(asking: Asking) -> Ranking:
    if not asking.snapshot.size:
        return _fuse(asking)
    return asking.rank(asking.gather()).then(_fuse(asking))
