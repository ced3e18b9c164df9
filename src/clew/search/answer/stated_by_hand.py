"""What was stated by hand of a question's entities: relations that no passage says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clew.search.analysis.event_dates import named_event
from clew.search.answer.blocks import Block, Form, statement
from clew.search.answer.standing import asked_moment, known_relations
from clew.text import STOP_WORDS, entity_key, question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit, Relation, SearchResult

LOOKED_AT = 200
"""Relations of the question's entities that are looked at, heaviest first."""
SHOWN = 8
"""Relations that are shown."""


STATED = "Stated by hand"
"""Heading of what no passage says."""


def named_in_part(session: QuerySession, hits: Sequence[Hit]) -> Mapping[int, str]:
    """Names by id of entities that the question names by one word, "Oddny" for Oddny Vaal.

    They are among those of which the hits were told by hand, and the word is no name by itself.
    """
    by_itself = {word for seed in session.known_seeds for word in seed.key.split()}
    capital = " ".join(word for word in session.question.split() if word[:1].isupper())
    words = set(entity_key(capital).split()) - STOP_WORDS - by_itself
    keys = {hit.chunk.told_of for hit in hits}
    store, meant = session.resources.store, [key for key in keys if words & set(key.split())]
    return store.entity_names(sorted(store.resolve(meant).values())) if meant else {}


def stated_by_hand(session: QuerySession, in_part: Mapping[int, str]) -> tuple[str, ...]:
    """A line for each relation with its standing; none where nothing was stated by hand.

    Of the entities that the question names, in whole or `in_part`.

    What holds at the time that is asked about comes first; of that, what has most of the question's
    words, then what is of a type nearest to it in meaning, then what was told last.
    """
    store = session.resources.store
    seeds = [*(seed.entity_id for seed in session.known_seeds), *in_part]
    if not seeds or not store.unstated_relations(seeds):
        return ()
    if session.options.where or session.options.period is not None:
        return ()  # what no passage says passes no filter
    known = known_relations(session, seeds, LOOKED_AT)
    found = [one for one in known if one.chunk_id is None]
    if not found:
        return ()
    names = store.entity_names([id_ for one in found for id_ in _ends(one)])
    when = asked_moment(session)
    # "Before Oslo" asks for another place.
    asked = set(question_terms(session.question)) - set(terms(named_event(session.question)))
    nearness = _nearness(session, found, in_part.values())
    lines: list[tuple[tuple[bool, int, float, float], str]] = []
    for one in found:
        line = statement(
            names.get(one.from_entity_id, "?"), one.relation_type, names.get(one.to_entity_id, "?")
        )
        place = (
            not when.wants(one.valid_from, one.valid_until),
            -len(asked & set(terms(line))),
            -nearness[one.relation_type],
            -(one.valid_from or one.recorded_at).timestamp(),
        )
        lines.append((place, f"{line} ({one.standing(when.moment)})"))
    return tuple(dict.fromkeys(line for _, line in sorted(lines)))[:SHOWN]


def _nearness(
    session: QuerySession, relations: Sequence[Relation], in_part: Iterable[str]
) -> dict[str, float]:
    """How near in meaning the types are to what is asked of the names."""
    types = sorted({relation.relation_type for relation in relations})
    if len(types) < 2:
        return dict.fromkeys(types, 0.0)
    keys = [*(seed.key for seed in session.known_seeds), *map(entity_key, in_part)]
    names = {word for key in keys for word in key.split()}
    asked = [w for w in session.question.split() if names.isdisjoint(entity_key(w).split())]
    kept, embedder = session.resources.query_vectors, session.resources.embedder
    texts = [" ".join(asked), *(name.replace("_", " ") for name in types)]
    vectors = np.array([kept.get_or_make(t, partial(embedder.embed_query, t)) for t in texts])
    return dict(zip(types, (vectors[1:] @ vectors[0]).tolist(), strict=True))


def answering_line(result: SearchResult) -> int | None:
    """Place of the statement with most of what is asked about the names, if any has of it."""
    named = set(terms(" ".join(result.entities)))
    asked = set(question_terms(result.query)) - named
    shared = [len(asked & set(terms(line))) for line in result.stated]
    most = max(shared, default=0)
    return shared.index(most) if most else None


def stated_block(stated: Sequence[str]) -> list[Block]:
    """One block with these lines; none where there is none."""
    text = "\n".join(f"- {line}" for line in stated)
    form = Form(text=text, citations=())
    return [Block(kind="subgraph", heading=STATED, forms=(form,))] if stated else []


def _ends(relation: Relation) -> tuple[int, int]:
    return relation.from_entity_id, relation.to_entity_id
