"""What was stated by hand of a question's entities: relations that no passage says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.search.answer.blocks import Block, Form, statement
from clew.search.retrieval.filters import filtered_relations
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.session import QuerySession
    from clew.types import Relation

LOOKED_AT = 200
"""Relations of the question's entities that are looked at, heaviest first."""
SHOWN = 8
"""Relations that are shown, those whose words the question has first."""


STATED = "Stated by hand"
"""Heading of what no passage says."""


def stated_by_hand(session: QuerySession) -> tuple[str, ...]:
    """A line for each relation that holds; none where nothing was stated by hand."""
    store, seeds = session.resources.store, [seed.entity_id for seed in session.known_seeds]
    if not seeds or (session.options.as_of is None and not store.unstated_relations(seeds)):
        return ()
    known = store.relations(seeds, LOOKED_AT, as_of=session.options.as_of)
    found = [one for one in filtered_relations(session, known) if one.chunk_id is None]
    if not found:
        return ()
    names = store.entity_names([id_ for one in found for id_ in _ends(one)])
    asked = set(question_terms(session.question))
    said = [_said(one, [names.get(id_, "?") for id_ in _ends(one)]) for one in found]
    said.sort(key=lambda line: -len(asked & set(terms(line))))
    return tuple(dict.fromkeys(said[:SHOWN]))


def stated_block(stated: Sequence[str]) -> list[Block]:
    """One block with these lines; none where there is none."""
    text = "\n".join(f"- {line}" for line in stated)
    form = Form(text=text, citations=())
    return [Block(kind="subgraph", heading=STATED, forms=(form,))] if stated else []


def _ends(relation: Relation) -> tuple[int, int]:
    return relation.from_entity_id, relation.to_entity_id


def _said(relation: Relation, names: list[str]) -> str:
    bounds = (("since", relation.valid_from), ("until", relation.valid_until))
    held = ", ".join(f"{word} {moment:%Y-%m-%d}" for word, moment in bounds if moment)
    return statement(names[0], relation.relation_type, names[1]) + (f" ({held})" if held else "")
