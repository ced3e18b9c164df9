"""DRIFT search: community reports first, then local search around their entities."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.answer.result import after
from clew.search.strategies.community_reports import relevant_communities, report_blocks
from clew.search.strategies.local import (
    Nearest,
    entities_of,
    nearest_entities,
    search_neighbourhood,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.answer.blocks import Block
    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import Community

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
    near = search_neighbourhood(session, _together(asked, entities_of(session, communities)))
    return replace(near, arrange=after(_within_share(session, communities), near.arrange))


def _together(asked: Nearest, found: Nearest) -> Nearest:
    """Both, each entity at its higher relevance."""
    relevance = {id_: FOUND_WEIGHT * value for id_, value in found.relevance.items()}
    for id_, value in asked.relevance.items():
        relevance[id_] = max(value, relevance.get(id_, 0.0))
    return Nearest(relevance)


def _within_share(session: QuerySession, communities: Sequence[Community]) -> list[Block]:
    """As many reports as fit their share of the context."""
    room = SHARE * session.options.max_tokens
    chosen: list[Block] = []
    for block in report_blocks(session, communities):
        room -= session.resources.embedder.count_tokens(block.forms[0].text)
        if room < 0:
            break
        chosen.append(block)
    return chosen
