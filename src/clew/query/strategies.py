"""The ways of asking, side by side: each a short composition of the shared steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.query.retrieve import Ranking, reciprocal_rank_fusion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.query.asking import Asking

    Strategy = Callable[[Asking], Ranking]


def vector(asking: Asking) -> Ranking:
    """The passages whose meaning is nearest to the question's."""
    return asking.channels.by_vector()


def keyword(asking: Asking) -> Ranking:
    """The passages that hold the question's words, the rare ones above all (BM25)."""
    return asking.channels.by_keyword()


def hybrid(asking: Asking) -> Ranking:
    """Both of these, by reciprocal rank fusion."""
    return reciprocal_rank_fusion([asking.channels.by_vector(), asking.channels.by_keyword()])


def graph(asking: Asking) -> Ranking:
    """The passages that the question's entities lead to, ranked on all the evidence."""
    if not asking.snapshot.size:
        return hybrid(asking)
    return asking.rank(asking.gather()).then(hybrid(asking))


STRATEGIES: Mapping[str, Strategy] = {
    "vector": vector,
    "keyword": keyword,
    "hybrid": hybrid,
    "graph": graph,
}


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises `InputError` that lists them all for any other."""
    if name not in STRATEGIES:
        raise InputError(f"unknown strategy {name!r}; expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
