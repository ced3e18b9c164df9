"""Time in retrieval: passages within a period, in order of time, on a timeline."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from clew.search.analysis.question_patterns import SUPERLATIVE
from clew.search.answer.blocks import Block, Form, cite_chunks, passage_block, trail
from clew.search.answer.stated_order import stated_order
from clew.search.retrieval.channels import in_turn
from clew.search.strategies.closeness import closeness
from clew.search.strategies.period_alone import asks_of_period, asks_what_happened, dated_first
from clew.text import one_line, terms
from clew.types import Period, TemporalInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.search.answer.result import RetrievalResult
    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Hit, Ids

ANSWERS = 0.75
"""Share of the best score from which on a passage of the period counts as an answer, too."""
ALIKE = 0.7
"""Share of the best cosine and the best BM25, on the average, from which on it does."""
IN_VIEW = 2
"""Passages of the period that take turns with the best of all where none of them answers."""
NEWER = 0.25
"""What being the newest adds to a score, as a share of it."""
NEWEST_AMONG = 50
"""Passages, from the best, that may change places for being newer."""
RELATIONS = 200
"""Relations of the question's entities of which it is looked up when they held."""
LIKELY = 0.3
"""Confidence below which no passage is held to answer: what is of the period may do so then."""
UNDATED = "undated"
"""Label of passages without a time."""
SAID = 300
"""Characters of a passage on the timeline, at most."""


def in_period(
    session: QuerySession, strategy: Callable[[QuerySession], RetrievalResult]
) -> RetrievalResult:
    """What the strategy finds, told in order of time; what is of the period asked for goes first.

    A period that is a filter already is that. One that the question names is preferred: of the
    passages that answer, those of the period come first, and what does not answer stays behind. Of
    several periods that are compared each has its turn. Where the question asks for what holds
    now, the newer of two passages that answer as well comes first.
    """
    found = replace(strategy(session), arrange=by_time)
    if session.applied == "filtered":
        return found
    session.applied = "ordered"
    period, asked = session.named_period, session.asked_time
    if period is None:
        newest = asked.newest and session.options.temporal is not False
        return replace(found, ranking=_newest_first(session, found.ranking)) if newest else found
    insides = list(_insides(session, asked.compared or (period,)))
    if not insides:
        return found
    session.applied = "preferred"
    rankings = [strategy(inside).ranking for inside in insides]
    answering = [
        _answering(session, inside, found.ranking, ranking)
        for inside, ranking in zip(insides, rankings, strict=True)
    ]
    if not any(map(len, answering)):
        session.note(f"what answers is not of the period {_describe(period)!r}")
        # The best of all stays first; the best of the period are in view.
        answering = [found.ranking.ids[:IN_VIEW], *(ranking.ids[:IN_VIEW] for ranking in rankings)]
    ranking = found.ranking.led_by(in_turn(answering))
    for within in rankings:
        ranking = ranking.then(within)
    return replace(found, ranking=ranking, scores=_scores(session, insides, ranking.ids))


def _insides(session: QuerySession, periods: Sequence[Period]) -> Iterator[QuerySession]:
    """The session limited to each of the periods of which there is anything."""
    for period in periods:
        inside = session.filtered(_chunks_of(session, period))
        if inside.allowed is not None and len(inside.allowed):
            yield inside
        else:
            session.note(f"no passage is of the period {_describe(period)!r}; it was ignored")


def _chunks_of(session: QuerySession, period: Period) -> Ids:
    """Chunks of the period, and those that state what held then of the question's entities."""
    store, seeds = session.resources.store, [seed.entity_id for seed in session.analysis.seeds]
    relations = store.relations(seeds, RELATIONS, as_of=session.options.as_of) if seeds else []
    stating = [(one.chunk_id, one) for one in relations if one.chunk_id is not None]
    said = store.published_at([chunk_id for chunk_id, _ in stating])
    held = {
        chunk_id
        for chunk_id, one in stating
        if (start := one.valid_from or said.get(chunk_id))
        and Period(start=start, end=one.valid_until).overlaps(period)
    }
    return np.union1d(store.chunks_within(period), np.array(sorted(held), dtype=np.int64))


def _answering(session: QuerySession, inside: QuerySession, found: Ranking, within: Ranking) -> Ids:
    """Of passages of a period, best first, those that answer about as well as any.

    They have a good share of the best score of all, or, where many passages are alike and these are
    not among the best, of the best by meaning and by words. All of the period are taken where none
    is likely to answer, and of "what happened in …?", "what was repaired in …?" and "notes of …".
    """
    if asks_of_period(session):
        dated = dated_first(session, within.ids)
        return _documents_in_turn(session, dated) if asks_what_happened(session) else dated
    if max(session.confidences.values(), default=1) < LIKELY:
        return within.ids
    best = float(found.scores.max(initial=0.0)) or 1.0
    enough = set(found.ids[found.scores >= ANSWERS * best].tolist())
    alike = _alike(session, inside, within.ids)
    return within.ids[alike | np.isin(within.ids, list(enough))]


def _documents_in_turn(session: QuerySession, ids: Ids) -> Ids:
    """The first of each document, then the second: no table tells alone what happened."""
    known = {chunk.id: chunk.document_id for chunk in session.resources.store.chunks(ids.tolist())}
    of_document: dict[str, list[int]] = {}
    for id_ in ids.tolist():
        of_document.setdefault(known.get(id_, ""), []).append(id_)
    return in_turn([np.array(own, dtype=np.int64) for own in of_document.values()])


def _alike(session: QuerySession, inside: QuerySession, ids: Ids) -> NDArray[np.bool_]:
    """(n,) whether passages come near the best by meaning and by words, as `inside` finds them."""
    shares = np.zeros(len(ids))
    everywhere = (session.channels.by_vector(), session.channels.by_keyword())
    for of_all, own in zip(everywhere, inside.channels.both(), strict=True):
        top = float(of_all.scores.max(initial=0.0)) or 1.0
        scores = dict(zip(own.ids.tolist(), (own.scores / top).tolist(), strict=True))
        shares += [scores.get(id_, 0.0) / 2 for id_ in ids.tolist()]
    return np.asarray(shares >= ALIKE)


def _newest_first(session: QuerySession, ranking: Ranking) -> Ranking:
    """By score, up to a quarter more for what is new: what answers best is not overridden.

    Of "the latest report" those that are alike stand by their dates alone.
    """
    top = ranking.top(NEWEST_AMONG)
    nearness = closeness(session, top.ids)
    order = np.argsort(-top.scores * (1 + NEWER * nearness), kind="stable")
    if SUPERLATIVE.search(session.question):
        alike = _alike(session, session, top.ids)
        if alike[:1].all():
            order = np.lexsort((np.argsort(order), np.where(alike, -nearness, 1), ~alike))
    return ranking.led_by(top.ids[order])


def _scores(
    session: QuerySession, insides: Sequence[QuerySession], ids: Ids
) -> dict[str, dict[int, float]]:
    """Nearness to the period, and what the channels found of it, who see the best of each alone."""
    ids = ids[: session.options.limit]
    scores = {"temporal": dict(zip(ids.tolist(), closeness(session, ids).tolist(), strict=True))}
    everything = session.channels.scores()
    for inside in insides:
        for name, found in inside.channels.scores().items():
            scores[name] = {**everything.get(name, {}), **scores.get(name, {}), **found}
    return scores


def keep_to_period(session: QuerySession) -> None:
    """Let nothing through but what is of the period that the question names, if that is wished."""
    period = session.named_period
    if not session.options.temporal or session.options.period is not None:
        return
    if period is None:
        session.note("the question names no period to keep to")
        return
    session.allowed = session.filtered(session.resources.store.chunks_within(period)).allowed
    session.applied = "filtered"


def by_time(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """A block for each passage, chosen by relevance, standing in order of time under its period.

    Where passages are not wanted, the timeline alone.
    """
    labels = _labels(hits)
    in_order = sorted(hits, key=_place)
    stated = stated_order(session, in_order, labels)
    if not session.options.context_passages:
        return [_timeline(in_order, labels), *stated]
    return stated + [
        replace(passage_block(hit.chunk), group=labels[hit.chunk.id], place=_place(hit))
        for hit in hits
    ]


def _timeline(hits: Sequence[Hit], labels: Mapping[int, str]) -> Block:
    """A line for each passage: its period, and the sentence that answers."""
    lines = [f"- {labels[hit.chunk.id]}: {_said(hit)} ({trail(hit.chunk)})" for hit in hits]
    form = Form(text="\n".join(lines), citations=cite_chunks([hit.chunk for hit in hits]))
    return Block(kind="timeline", heading="In order of time", forms=(form,))


def _said(hit: Hit) -> str:
    """The answering sentence, else how the passage begins; on one line.

    A sentence of one word and numbers ("Year: 2017") tells no more than the period beside it.
    """
    start, end = hit.answer or (hit.chunk.start, hit.chunk.end)
    said = one_line(hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start])
    if sum(map(str.isalpha, terms(said))) < 2:
        said = one_line(hit.chunk.text)
    return textwrap.shorten(said, SAID, placeholder=" …")


def _place(hit: Hit) -> float:
    moment = moment_of(hit.times)
    return float("inf") if moment is None else moment.timestamp()


def moment_of(times: Sequence[Period]) -> datetime | None:
    """Where passages with these times stand: when it was said, else the first time it speaks of."""
    for period in times:
        moment = period.start or period.end
        if moment is not None:
            return moment
    return None


def _labels(hits: Sequence[Hit]) -> dict[int, str]:
    """Label by chunk id: years, months or days, whichever makes a handful of groups."""
    moments = {hit.chunk.id: moment_of(hit.times) for hit in hits}
    known = [moment for moment in moments.values() if moment is not None]
    days = (max(known) - min(known)).days if known else 0
    form = "%Y" if days > 3 * 366 else "%B %Y" if days > 62 else "%d %B %Y"
    spans = {hit.chunk.id: _span(hit.times) for hit in hits}
    return {
        id_: UNDATED if moment is None else _format(moment, _coarser(form, spans[id_]))
        for id_, moment in moments.items()
    }


def _span(times: Sequence[Period]) -> int:
    """Days of the time that `moment_of` finds; 0 where a side of it is open."""
    first = next((period for period in times if period.start or period.end), None)
    both = first is not None and first.start is not None and first.end is not None
    return (first.end - first.start).days if both else 0  # type: ignore[union-attr, operator]


def _coarser(form: str, days: int) -> str:
    """The form of a label that says no more than what is stated: "2019" is no day of that year."""
    if days > 31:
        return "%Y"
    return form.removeprefix("%d ") if days > 1 else form


def _format(moment: datetime, form: str) -> str:
    # `%Y` pads years before 1000 on some platforms alone.
    form = form.replace("%Y", str(moment.year)).replace("%d", str(moment.day))
    return moment.strftime(form)


def describe_time(session: QuerySession, hits: Sequence[Hit]) -> TemporalInfo | None:
    """The time that was asked for and what came of it; None where none was."""
    options, named = session.options, session.named_period
    period = options.period or named
    asked = session.asked_time
    untimed = period is None and options.as_of is None and not asked.evolution
    if untimed and session.applied == "none":
        return None
    labels = _labels(sorted(hits, key=_place))
    timeline: dict[str, list[str]] = {}
    for hit in sorted(hits, key=_place):
        timeline.setdefault(labels[hit.chunk.id], []).append(hit.chunk.public_id)
    return TemporalInfo(
        phrase=asked.phrase if named else "",
        since=period.start if period else None,
        until=period.end if period else None,
        as_of=options.as_of,
        evolution=asked.evolution,
        applied=session.applied,
        timeline=tuple((label, tuple(ids)) for label, ids in timeline.items()),
    )


def _describe(period: Period) -> str:
    if period.text:
        return period.text
    return f"{period.start or '…'} to {period.end or '…'}"
