"""Time: passages within a period and in order of time, and what is known of an entity so."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct
from clew.search.answer.blocks import (
    Block,
    Form,
    RetrievalResult,
    cite_chunks,
    passage_block,
    statement,
    trail,
)
from clew.search.answer.hits import read_relations
from clew.search.answer.standing import says, stated_order
from clew.search.channels import DEPTH, MOST, Ranking, in_turn, reciprocal_rank_fusion
from clew.search.question import WORDING, AskedTime, question_form, read_time
from clew.text import one_line, question_terms, terms
from clew.types import Period, TemporalInfo, TimelineEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set

    from numpy.typing import NDArray

    from clew.graph.snapshot import Snapshot
    from clew.search.session import QuerySession
    from clew.stores.store import Store
    from clew.types import Hit, Ids, StoredChunk


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


_YEAR = timedelta(days=365)
_YEARS_BACK, _YEARS_AHEAD = 20, 5
"""Years in which a day or a month without a year is looked for, at most."""


def read_asked_time(session: QuerySession) -> AskedTime:
    """What the question says about time, for the session to keep.

    A day or a month without a year is of a year of which the store has something: an old archive
    has none of this year, one late text has not moved the others, and an appointment is to come.
    """
    asked = read_time(session.question, session.options.now)
    session.found_time = _of_the_archive(session) if asked.yearless else asked
    return session.found_time


def _of_the_archive(session: QuerySession) -> AskedTime:
    """The reading by the nearest year of which the store has something, else by the latest past.

    In the past that is something said then, of a time to come whatever is told of it: of that time
    and of no longer one, "in 2027" says nothing of a day. A year that fits the verb's tense is
    nearer than any other.
    """
    question, now, store = session.question, session.options.now, session.resources.store
    moments = (
        *((session.newest or now) - n * _YEAR for n in range(_YEARS_BACK)),
        *(now + n * _YEAR for n in range(1, _YEARS_AHEAD + 1)),
    )
    readings = [read_time(question, now, moment) for moment in moments]
    for asked in sorted(readings, key=partial(_distance, session)):
        period = asked.period
        if period is None or period.start is None or period.end is None:  # "since March"
            break
        ids = store.chunks_within(period)
        ids = ids[session.allows(ids)]
        times, said = store.chunk_times(ids.tolist()), store.published_at(ids.tolist())
        told = times if period.start > now else {id_: times[id_][:1] for id_ in said}
        if any(lies_within(one, period) for own in told.values() for one in own):
            return asked
    return readings[0]


def _distance(session: QuerySession, asked: AskedTime) -> tuple[bool, timedelta]:
    """Whether the verb speaks against a reading, and how far from today it is."""
    now, start = session.options.now, asked.period.start if asked.period else None
    if start is None:
        return True, timedelta.max
    return says(session.question, "asked_past" if start > now else "asked_after"), abs(start - now)


def in_period(
    session: QuerySession, strategy: Callable[[QuerySession], RetrievalResult]
) -> RetrievalResult:
    """What the strategy finds, told in order of time; what is of the period asked for goes first.

    A period that is a filter already is that. One that the question names is preferred: of the
    passages that answer, those of the period come first, and what does not answer stays behind. Of
    several periods that are compared each has its turn. Where the question asks for what holds
    now, the newer of two passages that answer as well comes first.
    """
    if session.applied == "filtered":
        return replace(strategy(session), arrange=by_time)
    period, asked = session.named_period, session.asked_time
    insides = list(_insides(session, asked.compared or (period,))) if period else []
    session.applied = "preferred" if insides else "ordered"
    found = replace(strategy(session), arrange=by_time)
    if period is None or not insides:
        newest = asked.newest and session.options.temporal is not False
        return replace(found, ranking=_newest_first(session, found.ranking)) if newest else found
    rankings = [strategy(inside).ranking for inside in insides]
    answering = [
        _answering(session, inside, found.ranking, ranking)
        for inside, ranking in zip(insides, rankings, strict=True)
    ]
    if not any(map(len, answering)):
        session.note(f"what answers is not of the period {_worded(period)!r}")
        # The best of all stays first; the best of the period are in view.
        answering = [found.ranking.ids[:IN_VIEW], *(ranking.ids[:IN_VIEW] for ranking in rankings)]
    ranking = found.ranking.led_by(in_turn(answering))
    for within in rankings:
        ranking = ranking.then(within)
    return replace(found, ranking=ranking, scores=_scores(session, insides, ranking.ids))


def _insides(session: QuerySession, periods: Sequence[Period]) -> Iterator[QuerySession]:
    """The session limited to each of the periods of which there is anything."""
    for period in periods:
        # Chunks of the period, and those that state what held then of the question's entities.
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
        inside = session.filtered(
            np.union1d(store.chunks_within(period), np.array(sorted(held), dtype=np.int64))
        )
        if inside.allowed is not None and len(inside.allowed):
            yield replace(inside, of_period=True)
        else:
            session.note(f"no passage is of the period {_worded(period)!r}; it was ignored")


def _answering(session: QuerySession, inside: QuerySession, found: Ranking, within: Ranking) -> Ids:
    """Of passages of a period, best first, those that answer about as well as any.

    They have a good share of the best score of all, or, where many passages are alike and these are
    not among the best, of the best by meaning and by words. All of the period are taken where none
    is likely to answer, and of "what happened in …?", "what was repaired in …?" and "notes of …".
    """
    if session.asks_of_period:
        # What is of a part of the period goes before what only overlaps it.
        dated = within.ids[np.argsort(~dated_within(session, within.ids), kind="stable")]
        if not asks_what_happened(session):
            return dated
        # The first of each document, then the second: no table tells alone what happened.
        of_document: dict[str, list[int]] = {}
        for chunk in session.resources.store.chunks(dated.tolist()):
            of_document.setdefault(chunk.document_id, []).append(chunk.id)
        return in_turn([np.array(own, dtype=np.int64) for own in of_document.values()])
    if max(session.confidences.values(), default=1) < LIKELY:
        return within.ids
    best = float(found.scores.max(initial=0.0)) or 1.0
    enough = set(found.ids[found.scores >= ANSWERS * best].tolist())
    alike = _alike(session, inside, within.ids)
    return within.ids[alike | np.isin(within.ids, list(enough))]


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

    Those that the reader is at least half as sure of as of the surest, and of "the latest report"
    those that are alike, stand by their dates alone.
    """
    top = ranking.top(NEWEST_AMONG)
    nearness = closeness(session, top.ids)
    order = np.argsort(-top.scores * (1 + NEWER * nearness), kind="stable")
    sure = {id_: one.sureness for id_, one in session.readings.items() if one.sureness > 0}
    answering = np.isin(top.ids, [id_ for id_ in sure if 2 * sure[id_] >= max(sure.values())])
    if WORDING["superlative"].search(session.question) and not answering.any():
        alike = _alike(session, session, top.ids)
        answering = alike if alike[:1].all() else answering
    order = np.lexsort((np.argsort(order), np.where(answering, -nearness, 1), ~answering))
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
    session.applied, session.of_period = "filtered", True


def by_time(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """A block for each passage, chosen by relevance, standing in order of time under its period.

    Where passages are not wanted, the timeline alone.
    """
    labels = _labels(hits)
    in_order = sorted(hits, key=_place)
    stated = stated_order(session, in_order, labels)
    if not session.options.context_passages:
        # A line for each passage: its period, and the sentence that answers, else how it begins. A
        # sentence of one word and numbers ("Year: 2017") tells no more than the period beside it.
        lines = []
        for hit in in_order:
            chunk = hit.chunk
            start, end = hit.answer or (chunk.start, chunk.end)
            said = one_line(chunk.text[start - chunk.start : end - chunk.start])
            if sum(map(str.isalpha, terms(said))) < 2:
                said = one_line(chunk.text)
            said = textwrap.shorten(said, SAID, placeholder=" …")
            lines.append(f"- {labels[chunk.id]}: {said} ({trail(chunk)})")
        form = Form(text="\n".join(lines), citations=cite_chunks([hit.chunk for hit in in_order]))
        return [Block(kind="timeline", heading="In order of time", forms=(form,)), *stated]
    return stated + [
        replace(passage_block(hit.chunk), group=labels[hit.chunk.id], place=_place(hit))
        for hit in hits
    ]


def _place(hit: Hit) -> float:
    moment = moment_of(hit.times)
    return float("inf") if moment is None else moment.timestamp()


def moment_of(times: Sequence[Period]) -> datetime | None:
    """Where passages with these times stand: when it was said, else the first time it speaks of."""
    return next(filter(None, (period.start or period.end for period in times)), None)


def _labels(hits: Sequence[Hit]) -> dict[int, str]:
    """Label by chunk id: years, months or days, whichever makes a handful of groups."""
    moments = {hit.chunk.id: moment_of(hit.times) for hit in hits}
    known = [moment for moment in moments.values() if moment is not None]
    days = (max(known) - min(known)).days if known else 0
    form = "%Y" if days > 3 * 366 else "%B %Y" if days > 62 else "%d %B %Y"
    labels: dict[int, str] = {}
    for hit in hits:
        moment = moments[hit.chunk.id]
        first = next((period for period in hit.times if period.start or period.end), None)
        if moment is None or first is None:
            labels[hit.chunk.id] = UNDATED
            continue
        # No more than what is stated: "2019" is no day of that year.
        stated = (first.end - first.start).days if first.start and first.end else 0
        coarser = "%Y" if stated > 31 else form.removeprefix("%d ") if stated > 1 else form
        # `%Y` pads years before 1000 on some platforms alone.
        coarser = coarser.replace("%Y", str(moment.year)).replace("%d", str(moment.day))
        labels[hit.chunk.id] = moment.strftime(coarser)
    return labels


def describe_time(session: QuerySession, hits: Sequence[Hit]) -> TemporalInfo | None:
    """The time that was asked for and what came of it; None where none was."""
    options, named = session.options, session.named_period
    period = options.period or named
    asked = session.asked_time
    if not (period or options.as_of or asked.evolution or session.applied != "none"):
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


def _worded(period: Period) -> str:
    """Its words, with the year that was understood where they leave it out."""
    year = str((period.start or period.end or datetime.max).year)
    return period.text if year in period.text else f"{period.text} ({year})"


# How near passages are to the time that is asked for.


HALF_LIFE_DAYS = 365.0
"""Distance from the period asked for (or from today) at which time counts half."""


def closeness(session: QuerySession, ids: Ids) -> NDArray[np.float64]:
    """(n,) 0 to 1: 1 within the period asked for, else ½ for each half-life from it; 0 undated.

    Without a period, from the newest date of the store: what is new in an old archive is not new
    today.
    """
    newest = session.newest or session.options.now
    period = session.options.period or session.named_period or Period(start=newest, end=None)
    times = session.resources.store.chunk_times(ids.tolist())
    nearest = [min((_days(period, t) for t in times.get(i, ())), default=np.inf) for i in ids]
    return np.asarray(0.5 ** (np.array(nearest, dtype=np.float64) / HALF_LIFE_DAYS))


def _days(one: Period, other: Period) -> float:
    """Days between two periods; 0 where they overlap."""
    if one.overlaps(other):
        return 0.0
    gaps = [
        (later - earlier).total_seconds()
        for earlier, later in ((one.end, other.start), (other.end, one.start))
        if earlier is not None and later is not None and later >= earlier
    ]
    return min(gaps, default=0.0) / 86_400


# The place of earlier passages among those that a strategy found, by meaning and by words.


ONE_CHANNEL = ("vector", "keyword")
"""The strategies that ask one channel alone, each by its name."""
_K1, _B = 1.2, 0.75
"""Constants of BM25 as SQLite has them."""
_LEAST_IDF = 1e-6


def with_earlier(session: QuerySession, found: RetrievalResult, strategy: str) -> RetrievalResult:
    """The passages found, each earlier one at the place that its channels give it among all.

    What the strategy knows beside the channels (the graph, a reranker) says nothing of them.
    """
    if not session.earlier:
        return found
    if len(session.earlier) == MOST:
        session.note(f"only {MOST} passages of earlier versions were read; narrow it by filters")
    if any(passage.vector is None for passage in session.earlier.values()):
        session.note("versions that another embedding model has seen were found by words alone")
    channels = [strategy] if strategy in ONE_CHANNEL else [*ONE_CHANNEL]
    own = {name: _rank(session, name) for name in channels}
    of_store = {"vector": session.channels.by_vector, "keyword": session.channels.by_keyword}
    held = {name: of_store[name]() for name in channels}
    merged = []
    for one, other in zip(held.values(), own.values(), strict=True):
        ids = np.concatenate([one.ids, other.ids])
        values = np.concatenate([one.scores, other.scores])
        order = np.argsort(-values, kind="stable")
        merged.append(Ranking(ids[order], values[order]))
    scores = {
        name: {**held[name].by_id(), **found.scores.get(name, {}), **own[name].by_id()}
        for name in channels
    }
    # Each earlier passage at its place among all; it scores as what stood there.
    ids, places = found.ranking.ids.tolist(), found.ranking.scores.tolist()
    for place, id_ in enumerate(reciprocal_rank_fusion(merged).ids.tolist()):
        if id_ in session.earlier:
            places.insert(place, places[min(place, len(places) - 1)] if places else 1.0)
            ids.insert(place, id_)
    ranking = Ranking(np.array(ids, dtype=np.int64), np.array(places, dtype=np.float32))
    return replace(found, ranking=ranking, scores={**found.scores, **scores})


# --- the two channels


def _rank(session: QuerySession, channel: str) -> Ranking:
    passages = list(session.earlier.values())
    if channel == "vector":
        # Cosines, -1 to 1; none for a question whose meaning is not known (yet).
        if not session.vector.any():
            return Ranking.empty()
        return _best(
            {p.id: float(p.vector @ session.vector) for p in passages if p.vector is not None}
        )
    # BM25, above 0; words are as rare as they are in the store.
    snapshot, idf = session.snapshot, {}
    for term in session.channels.terms:
        rows = snapshot.term_rows([term])
        holding = int(snapshot.term_frequency[rows[0]]) if len(rows) else 0
        odds = (max(snapshot.store_size - holding, 0) + 0.5) / (holding + 0.5)
        idf[term] = max(float(np.log(odds)), _LEAST_IDF)
    usual = snapshot.words / max(snapshot.chunks, 1)
    scores = {}
    for passage in passages:
        counts = passage.counts
        norm = _K1 * (1 - _B + _B * counts.total() / (usual or 1.0))
        scores[passage.id] = sum(
            weight * counts[term] * (_K1 + 1) / (counts[term] + norm)
            for term, weight in idf.items()
        )
    return _best({id_: score for id_, score in scores.items() if score > 0})


def _best(scores: Mapping[int, float]) -> Ranking:
    best = sorted(scores, key=lambda id_: -scores[id_])[:DEPTH]
    found = np.array([scores[id_] for id_ in best], dtype=np.float32)
    return Ranking(np.array(best, dtype=np.int64), found)


# Questions of a period and nothing else: "what happened on 9 April 2024?".


def asks_what_happened(session: QuerySession) -> bool:
    """Whether what happened then, or "what did I do", is all that is asked.

    Whatever is dated so answers.
    """
    asked = WORDING["happened"].match(session.untimed)
    is_asked = asked is not None or question_form(session.question) == "what"
    is_kept = session.named_period is not None and session.applied in ("filtered", "preferred")
    return (
        is_asked and is_kept and not question_terms(session.untimed[asked.end() if asked else 0 :])
    )


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


# Passages weighed by meaning, by distance in the graph and by time.


MAX_FRONTIER = 2000
"""Passages from which a further hop may start, at most."""


def rank_weighted(session: QuerySession) -> RetrievalResult:
    """α · vector + β · 1/hops + γ · time, each 0 to 1, over what the channels and hops lead to."""
    alpha, beta, gamma = session.options.weights
    snapshot = session.snapshot
    near = session.channels.by_vector().ids
    inverse_hops = _inverse_hops(session)
    ids = distinct(np.concatenate([near, snapshot.chunk_ids[inverse_hops > 0]]))
    ids = ids[snapshot.known(ids)]
    cosines = session.views.vectors.vectors(ids) @ session.vector if len(ids) else np.zeros(0)
    parts = {
        "vector_share": np.clip(cosines, 0, 1),
        "hops": inverse_hops[snapshot.rows(ids)],
        "temporal": closeness(session, ids),
    }
    weighted = zip((alpha, beta, gamma), parts.values(), strict=True)
    total = sum(weight * part for weight, part in weighted) + np.zeros(len(ids))
    order = np.lexsort((ids, -total))
    return RetrievalResult(
        ranking=Ranking(ids[order], total[order].astype(np.float32)),
        scores={
            name: dict(zip(ids.tolist(), part.tolist(), strict=True))
            for name, part in parts.items()
            if name != "vector_share"
        },
    )


def _inverse_hops(session: QuerySession) -> NDArray[np.float64]:
    """(C,) 1 for passages that mention a seed, ½ for those one hop on, …; 0 for all others."""
    snapshot = session.snapshot
    inverse = np.zeros(snapshot.size)
    entities = np.array([seed.row for seed in session.analysis.seeds], dtype=np.int64)
    seen = np.zeros(len(snapshot.entity_ids), dtype=bool)
    for hop in range(1, session.options.max_hops + 1):
        seen[entities] = True
        entries, _ = snapshot.entity_passages.entries(entities)
        reached = distinct(snapshot.entity_passages.items[entries])
        reached = reached[inverse[reached] == 0]
        inverse[reached] = 1 / hop
        if len(reached) > MAX_FRONTIER:
            session.note(f"hops stopped after {hop}: {len(reached)} passages were reached")
            break
        entries, _ = snapshot.passage_entities.entries(reached)
        entities = distinct(snapshot.passage_entities.items[entries])
        entities = entities[~seen[entities]]
    inverse[~session.allows(snapshot.chunk_ids)] = 0
    return inverse


# What is known of an entity, in order of time.


_TITLE = -1
"""Ordinal of the title and headings among a passage's sentences."""
_GOES_ON = re.compile(r"\W{0,3}(?:[Ss]?[Hh]e|[Tt]hey|[Ii]t|[Hh]er|[Hh]is|[Tt]heir|[Ii]ts)\b")
_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Date|Subject|Reply-To|Sender|Resent-Date|Message-ID|Attachments?): "
)
"""A line of a message's header, as it is read: when a message was sent is no event in it."""
RELATIONS_TOLD = 1000
"""Relations of an entity that are read, the heaviest first."""


def read_timeline(
    store: Store,
    snapshot: Snapshot,
    entity_id: int,
    *,
    limit: int,
    period: Period | None = None,
    as_of: datetime | None = None,
) -> list[TimelineEntry]:
    """The entity's relations and the dated sentences that name it, earliest first.

    At one moment, what ends comes before what begins, and what is shorter before what is longer.
    Of a period, what overlaps it. At most `limit` entries; where there are more, the latest are
    left out. What has no time is not on a timeline.
    """
    # The entity's dated passages, at the time that each speaks of, else when it was said.
    ids = store.entity_chunks(entity_id).tolist()
    if as_of is not None:
        known = set(store.chunks_as_of(as_of).tolist())
        ids = [id_ for id_ in ids if id_ in known]
    times, said, origins = store.chunk_times(ids), store.published_at(ids), store.provenance(ids)
    sentences = store.sentences(ids)
    # Ordinals of the sentences that name an entity by chunk id; -1: the title or a heading.
    row = snapshot.entity_rows([entity_id]).get(entity_id)
    found: dict[int, set[int]] = {}
    for sentence in () if row is None else snapshot.entity_sentences.row(row).tolist():
        chunk = int(snapshot.sentence_chunk[sentence])
        ordinal = sentence - int(snapshot.sentence_starts[chunk]) - 1
        found.setdefault(int(snapshot.chunk_ids[chunk]), set()).add(ordinal)
    entries = [
        *_relations(store, entity_id, as_of),
        *(
            [
                TimelineEntry(
                    period=period,
                    text=" ".join(text.split()),
                    reference=chunk.public_id,
                    provenance=origins.get(chunk.id),
                )
                for chunk in store.chunks(ids)
                for period, text in _told(
                    chunk,
                    sentences.get(chunk.id, ()),
                    found.get(chunk.id, set()),
                    times.get(chunk.id, ()),
                    chunk.id in said,
                )
            ]
        ),
    ]
    if period is not None:
        entries = [entry for entry in entries if entry.period.overlaps(period)]
    last = datetime.max.replace(tzinfo=UTC)
    entries.sort(
        key=lambda entry: (
            *(entry.period.start or entry.period.end or last, entry.period.start is not None),
            *(entry.period.end or last, entry.text, entry.reference),
        )
    )
    distinct = {(entry.period, entry.text): entry for entry in entries}
    return list(distinct.values())[:limit]


def _relations(store: Store, entity_id: int, as_of: datetime | None) -> list[TimelineEntry]:
    found = store.relations([entity_id], RELATIONS_TOLD, as_of=as_of)
    chunks = {c.id: c for c in store.chunks([r.chunk_id for r in found if r.chunk_id is not None])}
    entries = []
    for relation, evidence in zip(found, read_relations(store, found), strict=True):
        if relation.valid_from is None and relation.valid_until is None:
            continue
        chunk = chunks.get(relation.chunk_id) if relation.chunk_id is not None else None
        entries.append(
            TimelineEntry(
                period=Period(start=relation.valid_from, end=relation.valid_until),
                text=statement(evidence.head, evidence.relation, evidence.tail),
                reference=chunk.public_id if chunk else "",
                provenance=evidence.provenance,
            )
        )
    return entries


def _told(
    chunk: StoredChunk,
    sentences: Sequence[str],
    naming: Set[int],
    times: Sequence[Period],
    dated: bool,
) -> list[tuple[Period, str]]:
    """The times of a passage that sentences about the entity name, with these sentences.

    A time that no sentence names in these words was worked out from "last month" and the like: the
    passage tells of it. Without any time, when the passage was said.
    """
    # All speak of it where the title or a heading names it; else those that name it, and those that
    # go on from there with a pronoun.
    about: set[int] = set()
    for ordinal, sentence in enumerate(sentences):
        goes_on = ordinal - 1 in about and _GOES_ON.match(sentence)
        if _TITLE in naming or ordinal in naming or goes_on:
            about.add(ordinal)
    about -= {n for n, sentence in enumerate(sentences) if _HEADER.match(sentence)}
    told = []
    for period in times[1:] if dated else times:
        dating = [n for n, s in enumerate(sentences) if period.text and period.text in s]
        if not dating:
            told.append((period, chunk.text))
        elif spoken := " ".join(sentences[ordinal] for ordinal in dating if ordinal in about):
            told.append((period, spoken))
    return told or [(period, chunk.text) for period in times[:1] if dated]
