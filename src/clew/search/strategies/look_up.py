"""Looking up: a few words that ask nothing mean the passages that hold every one of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from clew.search.analysis.question_patterns import is_look_up
from clew.search.retrieval.exact import asked_folder, asks_author_alone
from clew.search.strategies.periods import asks_what_happened, dated_within
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.snapshot import Snapshot
    from clew.search.answer.blocks import RetrievalResult
    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Ids


SURE: Final = (0.9, 0.6)
"""Share of passages with every word of what is looked up that answer: of those that come first, and
of the others. By the open half of `benchmarks/real` (24 of 27, 53 of 86); the half held out: 32 of
34, 69 of 96."""


def holding_all_first(session: QuerySession, ranking: Ranking) -> Ranking:
    """The same passages, behind those of the keyword channel that hold every term."""
    by_keyword = session.channels.by_keyword().ids
    return ranking.led_by(by_keyword[np.isin(by_keyword, _of_question(session))])


def is_looked_up(session: QuerySession, found: RetrievalResult) -> bool:
    """Whether nothing more is asked than a name, or what an author, a folder or a time has."""
    question = session.question
    listed = asks_author_alone(question) or bool(asked_folder(question))
    return (
        (listed and "exact" in found.scores) or asks_what_happened(session) or is_look_up(question)
    )


def be_sure(session: QuerySession, found: RetrievalResult) -> None:
    """Raise the confidence in passages that hold all that is looked up, or are named exactly.

    So are those of the time of which is asked what happened. The ranker learned from questions in
    sentences, and a mere name or date tells it too little.
    """
    ids = found.ranking.ids[: session.options.limit]
    holding = {*_of_question(session).tolist(), *found.scores.get("exact", {})}
    if asks_what_happened(session):
        holding.update(ids[dated_within(session, ids)].tolist())
    for place, id_ in enumerate(ids.tolist()):
        if id_ in holding:
            least = SURE[min(place, 1)]
            session.confidences[id_] = max(session.confidences.get(id_, 0.0), least)


def _of_question(session: QuerySession) -> Ids:
    """Chunks that hold every term of the question, in one of its languages."""
    snapshot, languages = session.snapshot, ("", *session.languages)
    return np.concatenate([_holding_all(snapshot, terms(session.question, c)) for c in languages])


def _holding_all(snapshot: Snapshot, found: Sequence[str]) -> Ids:
    """Chunks that hold every term, in their text or their context; none for no terms."""
    rows = snapshot.term_rows(found)
    if not len(rows) or len(rows) < len(set(found)):
        return np.zeros(0, np.int64)
    chunks = [snapshot.sentence_chunk[snapshot.postings.row(row)] for row in rows]
    return snapshot.chunk_ids[reduce(np.intersect1d, chunks)]
