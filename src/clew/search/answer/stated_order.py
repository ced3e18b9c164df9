"""Which of the things that passages are about precedes which, as relations state it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.search.answer.blocks import Block, Form, cite_chunks
from clew.search.retrieval.filters import filtered_relations
from clew.text import entity_key, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit

PRECEDES = "precedes"
"""The relation that states an order in time."""
_PER_HIT = 50
"""Relations of what a passage is about, of which it is seen whether they state an order."""


def stated_order(
    session: QuerySession, hits: Sequence[Hit], labels: Mapping[int, str]
) -> list[Block]:
    """One block with a line for each pair, in the order of the hits; none where nothing is stated.

    `labels` are the periods of the hits, by chunk id.
    """
    titled = {entity_key(hit.chunk.title): hit for hit in reversed(hits)}
    titled.pop("", None)
    store = session.resources.store
    about = {id_: titled[key] for key, id_ in store.resolve(list(titled)).items()}
    limit = _PER_HIT * len(about)
    relations = store.relations(list(about), limit, as_of=session.options.as_of) if about else []
    ends = {
        (one.from_entity_id, one.to_entity_id)
        for one in filtered_relations(session, relations)
        if one.relation_type == PRECEDES
    }
    places = {hit.chunk.id: place for place, hit in enumerate(hits)}
    pairs = sorted(
        ((about[one], about[two]) for one, two in ends if one in about and two in about),
        key=lambda pair: [places[hit.chunk.id] for hit in pair],
    )
    if not pairs:
        return []
    lines = [" precedes ".join(_named(hit, labels) for hit in pair) for pair in pairs]
    cited = {hit.chunk.id: hit.chunk for pair in pairs for hit in pair}
    form = Form(
        text="\n".join(f"- {line}" for line in lines), citations=cite_chunks(list(cited.values()))
    )
    return [Block(kind="timeline", heading="What precedes what", forms=(form,))]


def _named(hit: Hit, labels: Mapping[int, str]) -> str:
    return f"{one_line(hit.chunk.title)} ({labels[hit.chunk.id]})"
