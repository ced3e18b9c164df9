"""Looking up: a few words that ask nothing mean the passages that hold every one of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.snapshot import Snapshot
    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Ids


def holding_all_first(session: QuerySession, ranking: Ranking) -> Ranking:
    """The same passages, behind those of the keyword channel that hold every term."""
    by_keyword = session.channels.by_keyword().ids
    snapshot, languages = session.snapshot, ("", *session.languages)
    holding = [_holding_all(snapshot, terms(session.question, code)) for code in languages]
    return ranking.led_by(by_keyword[np.isin(by_keyword, np.concatenate(holding))])


def _holding_all(snapshot: Snapshot, found: Sequence[str]) -> Ids:
    """Chunks that hold every term, in their text or their context; none for no terms."""
    rows = snapshot.term_rows(found)
    if not len(rows) or len(rows) < len(set(found)):
        return np.zeros(0, np.int64)
    chunks = [snapshot.sentence_chunk[snapshot.postings.row(row)] for row in rows]
    return snapshot.chunk_ids[reduce(np.intersect1d, chunks)]
