"""Reranking: a cross-encoder scores the best passages, each with the question.

Its scores and those of the first stage are mixed, each in standard units over the passages read. A
cross-encoder sees one passage at a time, so it underrates the second hop, which does not resemble
the question; the first stage does not. Both weigh the same by default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from clew.errors import MissingExtraError, ModelError, ReplyError
from clew.ports import Message, Request
from clew.search.answer.hits import find_threads
from clew.search.channels import Ranking
from clew.search.features import log_odds, min_max, standard_units
from clew.search.question import find_seeds
from clew.text import entity_key
from clew.untrusted import NOTICE, escaped, untrusted_block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.ports import LanguageModel, Reranker
    from clew.search.answer.blocks import RetrievalResult
    from clew.search.session import QuerySession
    from clew.settings import UsageSettings
    from clew.types import Ids, Scores, StoredChunk

    Values = NDArray[np.float64]
    Use = tuple[int, datetime]
    """(uses, at least 1; last use, aware)"""


DEPTH = 100
"""Passages that are read, from the best."""
WEIGHT = 0.5
"""Share of the cross-encoder; 1 is the cross-encoder alone."""


def rerank(
    reranker: Reranker | None,
    question: str,
    ranking: Ranking,
    texts: Mapping[int, str],
    *,
    depth: int = DEPTH,
    weight: float = WEIGHT,
) -> tuple[Ranking, tuple[str, ...]]:
    """The best passages in a better order, the others below them as they were; and notes.

    mix = weight · z(log-odds of the cross-encoder) + (1 - weight) · z(first-stage score), where z
    counts standard deviations above the mean of the passages read. New scores are the logistic
    function of the mix, 0 to 1. Equal mixes keep their order.

    Args:
        reranker: None where there is none.
        question: As it was asked.
        ranking: What the first stage found.
        texts: What is read, by chunk id; a passage without a text is not among those read.
        depth: Passages read, at most.
        weight: 0 to 1.

    Returns:
        The ranking, and why it is unchanged where the model is missing or fails.
    """
    if reranker is None:
        return ranking, ("not reranked: no model is configured (setting rerank.model)",)
    read = np.array([i in texts for i in ranking.top(depth).ids.tolist()], dtype=bool)
    head = Ranking(ranking.ids[:depth][read], ranking.scores[:depth][read])
    if not len(head.ids):
        return ranking, ()
    try:
        scores = _score(reranker, question, [texts[i] for i in head.ids.tolist()])
    except (ModelError, MissingExtraError) as error:
        return ranking, (f"not reranked: {error}",)
    mixed = weight * standard_units(log_odds(scores))
    mixed += (1 - weight) * standard_units(head.scores)
    order = np.argsort(-mixed, kind="stable")
    between_0_and_1 = 1 / (1 + np.exp(-mixed[order]))
    return Ranking(head.ids[order], between_0_and_1.astype(np.float32)).then(ranking), ()


def reranked(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """What was found in the order of the reranker, by the settings."""
    settings, resources = session.resources.settings.rerank, session.resources
    weight = session.options.rerank_weight
    with session.timings.step("rerank"):
        chunks = resources.store.chunks(found.ranking.top(settings.depth).ids.tolist())
        ranking, notes = rerank(
            resources.reranker,
            session.question,
            found.ranking,
            {chunk.id: f"{chunk.context}\n{chunk.text}".strip() for chunk in chunks},
            depth=settings.depth,
            weight=settings.weight if weight is None else weight,
        )
    session.note(*notes)
    return replace(found, ranking=ranking)


def _score(reranker: Reranker, question: str, texts: Sequence[str]) -> Scores:
    """Raises `ModelError` where the model answers with anything but a number for each text."""
    scores = reranker.score(question, texts)
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise ModelError(
            f"the reranker {reranker.name!r} gave scores of shape {scores.shape}, "
            f"{int(np.isfinite(scores).sum())} of them finite; expected {len(texts)} finite "
            "numbers. Choose another model with the setting rerank.model"
        )
    return scores


# What a language model is shown of the best passages: their texts, and what leads to them.


def read_candidates(session: QuerySession, chunk_ids: Ids) -> list[Candidate]:
    """The passages in this order, up to the first that has been deleted since."""
    chunks = {chunk.id: chunk for chunk in session.resources.store.chunks(chunk_ids.tolist())}
    bridges = _bridges(session, chunk_ids)
    found = []
    for id_ in chunk_ids.tolist():
        if id_ not in chunks:
            break
        chunk = chunks[id_]
        found.append(
            Candidate(
                document_id=chunk.document_id,
                title=chunk.title,
                text=chunk.text,
                bridge=bridges.get(id_, ()),
            )
        )
    return found


def _bridges(session: QuerySession, chunk_ids: Ids) -> Mapping[int, tuple[str, ...]]:
    """Sentences of other passages on the thread to each chunk, from the question on."""
    # Made apart: the hits show evidence only where the strategy went by it.
    evidence = session.evidence or replace(session, evidence=None).gather()
    snapshot = session.snapshot
    hits = snapshot.rows(chunk_ids[snapshot.known(chunk_ids)])
    others = snapshot.sentence_chunk[evidence.bridges.sentences]
    seeds = [seed.row for seed in evidence.analysis.seeds]
    threads = find_threads(snapshot, evidence.coverage, seeds, hits, others)
    steps = {
        int(snapshot.chunk_ids[hit]): [
            (row, step.sentence - int(snapshot.sentence_starts[row]) - 1)
            for step in thread
            if (row := int(snapshot.sentence_chunk[step.sentence])) != hit
        ]
        for hit, thread in zip(hits.tolist(), threads, strict=True)
    }
    rows = sorted({row for found in steps.values() for row, _ in found})
    ids = {row: int(snapshot.chunk_ids[row]) for row in rows}
    texts = session.resources.store.sentences(list(ids.values()))
    return {
        id_: tuple(
            texts[ids[row]][place]
            for row, place in found
            if 0 <= place < len(texts.get(ids[row], ()))
        )
        for id_, found in steps.items()
    }


# The best candidates judged by a language model as one set: which of them answer together.
#
# A passage of the second hop says nothing by itself: the model sees the question, each candidate,
# and
# the bridge that leads to it. Its choice is weighed against the ranking; a reply that cannot be
# used
# leaves the ranking as it is.


_SHOWN = 1200
"""Characters of a candidate that the model sees."""
_INSTRUCTIONS = f"""\
You judge which passages of documents are needed to answer a question. {NOTICE}
Some questions need several passages, of which one says what the next is about. Each passage comes\
 with the bridge that leads to it: sentences of other passages, from the question on. Choose the\
 passages that together state every step from the question to its answer, and no others.
Answer with a JSON object: {{"passages": [1, 2]}}, the numbers of the passages; where none helps,\
 {{"passages": []}}.
"""


class Choice(BaseModel):
    """The numbers of the passages that answer together."""

    passages: list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A passage as the model sees it."""

    document_id: str
    title: str
    text: str
    bridge: tuple[str, ...]
    """Sentences of other passages that lead to it, from the question on."""


def filtered(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """What was found, where the language model chooses among the best passages."""
    model, settings = session.model, session.resources.settings.llm
    if model is None:
        session.note("not filtered: no language model is configured (setting llm.provider)")
        return found
    with session.timings.step("filter"):
        candidates = read_candidates(session, found.ranking.ids[: settings.filter_depth])
        if not candidates:
            return found
        ranking, notes = filter_by_model(
            model, session.question, found.ranking, candidates, settings.filter_weight
        )
    session.note(*notes)
    return replace(found, ranking=ranking)


def filter_by_model(
    model: LanguageModel,
    question: str,
    ranking: Ranking,
    candidates: Sequence[Candidate],
    weight: float = WEIGHT,
) -> tuple[Ranking, tuple[str, ...]]:
    """The ranking with its first passages, which are the candidates, in a better order; and notes.

    Where the model fails, it is the very ranking that was given.
    """
    try:
        chosen = choose(model, question, candidates)
    except ModelError as error:
        return ranking, (f"not filtered: {error}",)
    return fuse(ranking.top(len(candidates)), chosen, weight).then(ranking), ()


def choose(
    model: LanguageModel, question: str, candidates: Sequence[Candidate]
) -> NDArray[np.bool_]:
    """(n,) whether the model chose each candidate; raises `ModelError`."""
    value = model.reply(filter_request(question, candidates)).value
    numbers = value.passages if isinstance(value, Choice) else [0]
    if not all(1 <= number <= len(candidates) for number in numbers):
        raise ReplyError(f"{model.name} chose passages that there are not", "malformed")
    chosen = np.zeros(len(candidates), dtype=bool)
    chosen[[number - 1 for number in numbers]] = True
    return chosen


def filter_request(question: str, candidates: Sequence[Candidate]) -> Request:
    """The question with all candidates and their bridges, numbered from 1."""
    blocks = []
    for number, candidate in enumerate(candidates, 1):
        bridge = "".join(f"Bridge: {' '.join(said.split())}\n" for said in candidate.bridge)
        text = f"{bridge}Passage: {candidate.text[:_SHOWN]}"
        blocks.append(untrusted_block(text, number=number, title=candidate.title[:200]))
    asked = f"Question: {escaped(question)}"
    return Request(
        task="judge",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join([*blocks, asked])),),
        schema=Choice,
        subject=question,
        documents=tuple(dict.fromkeys(candidate.document_id for candidate in candidates)),
    )


def fuse(head: Ranking, chosen: NDArray[np.bool_], weight: float) -> Ranking:
    """The candidates in the order of score + weight × choice, both in standard units.

    A model that chose nothing, or everything, changes nothing. New scores are 0 to 1; equal ones
    keep their order.
    """
    if chosen.all() or not chosen.any():
        return head
    scores = head.scores.astype(np.float64)
    # The ranker's are the logistic function of a sum; BM25's, say, are not.
    if scores.min() > 0 and scores.max() < 1:
        scores = log_odds(scores)
    mixed = standard_units(scores) + weight * standard_units(chosen.astype(np.float64))
    order = np.argsort(-mixed, kind="stable")
    return Ranking(head.ids[order], (1 / (1 + np.exp(-mixed[order]))).astype(np.float32))


# Numbers that a document has beside its words (citations, say) and importance, in the order.


IMPORTANCE = "importance"
DEPTH_BOOST = 200
"""Passages, from the best, that may change places."""


def boosted(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """The result with the numbers mixed in that `settings.boost` gives a weight.

    score = (1 - Σ weights) · rank score + Σ weight · number, each 0 to 1: the rank score from the
    least to the greatest, a number as ln(1 + n) / ln(1 + the greatest n here), 0 where there is
    none; importance is that of the entity that the document's title names.
    """
    settings = session.resources.settings.boost
    best = found.ranking.top(DEPTH_BOOST)
    known = {chunk.id: chunk for chunk in session.resources.store.chunks(best.ids.tolist())}
    chunks = [known.get(id_) for id_ in best.ids.tolist()]
    parts: dict[str, Values] = {}
    for name in settings.fields:
        given = [chunk.metadata.get(name) if chunk else None for chunk in chunks]
        numbers = [n if isinstance(n, (int, float)) and n > 0 else 0.0 for n in given]
        logs: Values = np.log1p(np.array(numbers))
        parts[name] = logs / (logs.max(initial=0.0) or 1.0)
    if settings.importance:
        parts[IMPORTANCE] = _importance(session, chunks)
    weights = {**settings.fields, IMPORTANCE: settings.importance}
    mixed = (1 - sum(weights.values())) * min_max(best.scores)
    mixed = mixed + sum(weights[name] * part for name, part in parts.items())
    order = np.argsort(-mixed, kind="stable")
    ranking = Ranking(best.ids[order], mixed[order].astype(np.float32)).then(found.ranking)
    ids = best.ids.tolist()
    shown = {name: dict(zip(ids, part.tolist(), strict=True)) for name, part in parts.items()}
    return replace(found, ranking=ranking, scores={**found.scores, **shown})


def _importance(session: QuerySession, chunks: Sequence[StoredChunk | None]) -> Values:
    """(n,) 0 to 1: see `graph.entity_graph.salience`."""
    keys = [entity_key(chunk.title) if chunk else "" for chunk in chunks]
    entities = session.resources.store.resolve(list(dict.fromkeys(filter(None, keys))))
    ranks = session.resources.entity_ranks.of(list(entities.values()))
    found = [ranks.get(entities.get(key, 0), (0.0, "minor"))[0] for key in keys]
    return np.array(found, dtype=np.float64)


# Usage boost: passages that were used recently and often move up a little.


_SECONDS_A_DAY = 86_400.0


def by_usage(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """The result with the usage of its passages mixed in, by the settings."""
    used = session.resources.store.usage(found.ranking.ids.tolist())
    settings = session.resources.settings.usage
    ranking = apply_usage(found.ranking, used, session.options.now, settings)
    return replace(found, ranking=ranking)


def apply_usage(
    ranking: Ranking, usage: Mapping[int, Use], now: datetime, settings: UsageSettings
) -> Ranking:
    """The ranking with usage mixed in; as it was where the weight is 0 or none of it was used.

    score = (1 - weight) · rank score + weight · (recency + frequency) / 2, each of them 0 to 1:
    the rank score is the ranking's own, least to greatest; recency is 0.5 ** (age / half-life) of
    the last use; frequency is ln(1 + uses) / ln(1 + most uses in this ranking). Passages never used
    have neither. Equal scores keep their order.

    Args:
        ranking: What the strategy found.
        usage: By chunk id, as `UsageLog.usage` gives it.
        now: The moment of the question, aware; later uses count as of now.
        settings: Weight (0 to 1) and half-life (days).
    """
    used = [place for place, chunk_id in enumerate(ranking.ids.tolist()) if chunk_id in usage]
    if settings.weight == 0 or not used:
        return ranking
    useful = np.zeros(len(ranking.ids))
    uses = [usage[chunk_id] for chunk_id in ranking.ids[used].tolist()]
    # (n,) above 0 to 1: the mean of recency and frequency.
    ages = np.array([max((now - last).total_seconds(), 0.0) for _, last in uses])
    recency = 0.5 ** (ages / _SECONDS_A_DAY / settings.half_life_days)
    counts = np.log1p([count for count, _ in uses])
    useful[used] = (recency + counts / counts.max()) / 2
    mixed = (1 - settings.weight) * min_max(ranking.scores) + settings.weight * useful
    order = np.argsort(-mixed, kind="stable")
    return Ranking(ranking.ids[order], mixed[order].astype(np.float32))


# Entities that a question is about, named by a language model beside those that its words name.


_MOST_NAMES = 10
_INSTRUCTIONS_NAMED_ENTITIES = f"""\
You name whom and what a question is about, as an encyclopaedia would head its pages: people,\
 places, organisations, works, things with a name. {NOTICE}
Write names in full where the question shortens, misspells, translates or describes them. Do not\
 answer the question. Answer with a JSON object: {{"names": ["…"]}}; where there is no name,\
 {{"names": []}}.
"""


class Named(BaseModel):
    """The names of what a question is about."""

    names: list[str] = Field(max_length=_MOST_NAMES)


def read_named_entities(session: QuerySession) -> None:
    """Add the entities that the model names and the graph knows, where the settings ask for it.

    Those that the words of the question name stay. Where the model fails, a note says so.
    """
    model = session.model
    if model is None:
        return
    with session.timings.step("entities"):
        try:
            request = Request(
                task="route",
                instructions=_INSTRUCTIONS_NAMED_ENTITIES,
                messages=(Message(role="user", text=f"Question: {escaped(session.question)}"),),
                schema=Named,
                subject=session.question,
            )
            value = model.reply(request).value
            assert isinstance(value, Named)
            names = value.names
        except ModelError as error:
            session.note(f"entities by the question's words alone: {error}")
            return
        analysis, known = session.analysis, {seed.row for seed in session.analysis.seeds}
        given = session.views.snapshot, session.resources.store, session.languages
        found = [
            seed
            for name in dict.fromkeys(names)
            for seed in find_seeds(name, *given)
            if seed.key == entity_key(name)
        ]
        new = {seed.row: seed for seed in found if seed.row not in known}
        session.found_analysis = replace(analysis, seeds=(*analysis.seeds, *new.values()))
