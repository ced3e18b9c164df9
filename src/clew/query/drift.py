"""From the whole to the part: reports first, then what lies around what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.query.found import Found, after
from clew.query.nearby import around, entities_of, nearest_entities
from clew.query.reports import relevant_communities, report_blocks
from clew.query.retrieve import reciprocal_rank_fusion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.query.asking import Asking
    from clew.query.blocks import Block
    from clew.types import Community

PRIMED = 3
"""Communities that the local part starts from."""
SHARE = 0.5
"""Share of the context that reports may take."""


def drift(asking: Asking) -> Found:
    """The nearest communities' reports, then the neighbourhood of the question and of these."""
    communities = relevant_communities(asking)[:PRIMED]
    near = around(asking, nearest_entities(asking))
    if not communities:
        asking.note("the graph has no communities yet; only the neighbourhood was searched")
        return near
    if asking.library.language_model is None:
        asking.note("no language model was used: reports are made of the texts' sentences")
    further = around(asking, entities_of(asking, communities))
    reports = _within_share(asking, communities)
    return Found(
        ranking=reciprocal_rank_fusion([near.ranking, near.ranking, further.ranking]),
        arrange=after(reports, near.arrange),
    )


def _within_share(asking: Asking, communities: Sequence[Community]) -> list[Block]:
    """As many reports as fit their share of the context."""
    room = SHARE * asking.options.max_tokens
    chosen: list[Block] = []
    for block in report_blocks(asking, communities):
        room -= asking.library.embedder.count_tokens(block.forms[0].text)
        if room < 0:
            break
        chosen.append(block)
    return chosen
