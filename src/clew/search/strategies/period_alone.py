"""Questions of a period and nothing else: "what happened on 9 April 2024?"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.search.analysis.question_patterns import EVENTS, HAPPENED
from clew.text import question_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.search.session import QuerySession
    from clew.types import Ids, Period


def asks_of_period(session: QuerySession) -> bool:
    """Whether it asks for what is of its period: "what was repaired in …?", "notes of …"."""
    rest = question_terms(session.question.replace(session.asked_time.phrase, " "))
    few = len(rest) <= 1 and not session.analysis.seeds
    return few or EVENTS.match(session.question) is not None


def asks_what_happened(session: QuerySession) -> bool:
    """Whether all that is asked is what happened then: whatever is dated so answers."""
    if session.named_period is None:
        return False
    question = session.question.replace(session.asked_time.phrase, " ")
    asked = HAPPENED.match(question)
    return asked is not None and not question_terms(question[asked.end() :])


def dated_first(session: QuerySession, ids: Ids) -> Ids:
    """The same passages, behind those with a time that lies wholly within the period asked for."""
    return ids[np.argsort(~dated_within(session, ids), kind="stable")]


def dated_within(session: QuerySession, ids: Ids) -> NDArray[np.bool_]:
    """(n,) whether passages have a time within the period: of a day, "in 2024" says little."""
    periods = session.asked_time.compared or (session.named_period,)
    times = session.resources.store.chunk_times(ids.tolist())
    return np.array(
        [
            any(p and lies_within(t, p) for t in times.get(i, ()) for p in periods)
            for i in ids.tolist()
        ],
        dtype=bool,
    )


def lies_within(one: Period, other: Period) -> bool:
    """Whether nothing of the one is outside the other."""
    begins = other.start is None or (one.start is not None and one.start >= other.start)
    ends = other.end is None or (one.end is not None and one.end <= other.end)
    return begins and ends
