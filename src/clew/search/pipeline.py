"""A search, as a table of contents: route, retrieve, postprocess, build hits, assemble."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.search.analysis.asked_time import read_asked_time
from clew.search.analysis.spelling import read_as_spelt
from clew.search.answer.answering_sentence import without_unsaid
from clew.search.answer.blocks import RetrievalResult, assemble
from clew.search.answer.hits import distinct_hits
from clew.search.answer.standing import (
    answering_line,
    by_standing,
    named_in_part,
    stated_block,
    stated_by_hand,
)
from clew.search.retrieval.channels import Ranking, reciprocal_rank_fusion
from clew.search.retrieval.exact import exact_first
from clew.search.session import QuerySession
from clew.search.strategies import (
    AUTO,
    EXACT_FIRST,
    FOR_PASSAGES,
    WITH_EARLIER,
    find_strategy,
    without_effect,
)
from clew.search.strategies.look_up import be_sure, is_looked_up
from clew.search.strategies.periods import (
    asks_what_happened,
    describe_time,
    keep_to_period,
    with_earlier,
)
from clew.types import Context, SearchResult

if TYPE_CHECKING:
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.search.strategies import Strategy
    from clew.types import Hit

logger = logging.getLogger("clew")

UNANSWERED = "nothing found that answers this; the nearest are given"
UNLIKELY = "nothing here is likely to answer this; the nearest are given"
MAX_QUESTION = 20_000
"""Characters of a question that are read."""


def ask(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """The passages that answer the question, best first, and their context."""
    session = QuerySession.start(resources, question[:MAX_QUESTION], options)
    session = read_as_spelt(session)
    read_asked_time(session)
    keep_to_period(session)
    if (there_is := _can_be_asked(session)) and resources.settings.llm.entities:
        from clew.search.analysis.expansion import read_named_entities

        read_named_entities(session)
    strategy, reason = _choose(session, there_is)
    found = _find(session, strategy) if there_is else RetrievalResult(ranking=Ranking.empty())
    if there_is and not session.confidences and _is_judged(options, strategy):
        session.judge()
    looked_up = is_looked_up(session, found)
    if session.confidences and looked_up:
        be_sure(session, found)
    with session.timings.step("expand"):
        hits = distinct_hits(session, found)
        if any(hit.chunk.told_of for hit in hits):
            hits = _with_standing(session, found)
    if session.confidences and not looked_up:
        with session.timings.step("confidence"):
            hits = without_unsaid(session, hits)
    if not hits and not len(resources.store.chunk_ids()):
        session.note(
            "the store is empty; index something first: `clew index PATH` or ingest_document"
        )
    with session.timings.step("assemble"):
        in_part = named_in_part(session, hits)
        stated = stated_by_hand(session, in_part) if there_is else ()
        context = _assemble(session, found, hits, stated)
    if context.left_out:
        session.note(f"{context.left_out} parts of the context did not fit into it")
    if context.is_cut:
        session.note("max_tokens has no room for the best part of the context, which is cut")
    result = SearchResult(
        query=question,
        strategy=strategy,
        reason=reason,
        hits=hits,
        context=context,
        stated=stated,
        entities=(*_entity_names(session), *in_part.values()),
        temporal=describe_time(session, hits),
        timings_ms=session.timings.milliseconds,
        min_confidence=options.min_confidence,
        overview=there_is and (strategy not in WITH_EARLIER or asks_what_happened(session)),
        notes=tuple(session.notes),
    )
    result = replace(result, answering=answering_line(result))
    if remark := _no_answer(result):
        result = replace(result, notes=(remark, *result.notes))
    _log(result)
    return result


def _with_standing(session: QuerySession, found: RetrievalResult) -> tuple[Hit, ...]:
    """The hits, what holds at the time that is asked about first, each with its standing."""
    found, standings = by_standing(session, found)
    return tuple(
        replace(hit, chunk=replace(hit.chunk, standing=standings.get(hit.chunk.id)))
        for hit in distinct_hits(session, found)
    )


def _no_answer(result: SearchResult) -> str:
    """That no passage answers, or hardly any may; empty where one is likely to."""
    if not result.hits or result.answered or any(hit.chunk.version for hit in result.hits):
        return ""  # what is sure of an earlier text is not known
    return UNLIKELY if result.reached else UNANSWERED


def _is_judged(options: Options, strategy: str) -> bool:
    """Whether passages get a confidence that the strategy itself has no need of."""
    asked = options.strategy == AUTO or "min_confidence" in options.given
    return asked and strategy in FOR_PASSAGES


def _choose(session: QuerySession, there_is: bool) -> tuple[str, str]:
    """The strategy and the reason for it; `there_is` anything to choose by."""
    asked = session.options.strategy
    if asked != AUTO:
        find_strategy(asked)
        for sentence in without_effect(session.options, asked):
            raise InputError(f"{sentence}. Leave it out, or name another strategy")
        return asked, "asked for"
    if not there_is:
        return "graph", "there is nothing to choose by"
    chosen = session.route
    session.note(*([chosen.note] if chosen.note else []))
    session.note(*without_effect(session.options, chosen.strategy))
    return chosen.strategy, chosen.reason


def _find(session: QuerySession, strategy: str) -> RetrievalResult:
    """What the strategy finds after postprocessing, behind what the question names exactly."""
    _note_early_date(session)
    found = postprocess(session, find_strategy(strategy))
    if strategy in EXACT_FIRST:
        found = exact_first(session, found)
    return with_earlier(session, found, strategy) if strategy in WITH_EARLIER else found


def _note_early_date(session: QuerySession) -> None:
    """Note it where `as_of` lies before the first record of the store."""
    moment = session.options.as_of
    first = session.resources.store.first_recorded() if moment is not None else None
    if moment is not None and first is not None and moment < first:
        session.note(
            f"the store knows nothing from before {first:%Y-%m-%d}; it says what it knows now of"
            f" {moment:%Y-%m-%d}"
        )


def _can_be_asked(session: QuerySession) -> bool:
    """Whether there is a question and a store to ask; says in the notes what is missing."""
    if len(session.question) == MAX_QUESTION:
        session.note(f"only the first {MAX_QUESTION} characters of the question were read")
    if not session.question.strip():
        session.note("the question is empty")
        return False
    if session.allowed is not None and not len(session.allowed) and not session.earlier:
        session.note("no passage meets the filters")
        return False
    return True


def _assemble(
    session: QuerySession, found: RetrievalResult, hits: tuple[Hit, ...], stated: tuple[str, ...]
) -> Context:
    wanted = hits and session.options.context
    blocks = found.arrange(session, hits) if wanted else []
    if wanted and not any(block.kind in ("path", "subgraph") for block in blocks):
        blocks = [*stated_block(stated), *blocks]
    if not session.options.context_passages:
        blocks = [block for block in blocks if block.kind != "passage"]
    embedder, most = session.resources.embedder, session.options.max_tokens
    return assemble(blocks, most, embedder.count_tokens, embedder.name)


def _entity_names(session: QuerySession) -> tuple[str, ...]:
    """The entities that the question names, where the strategy or the router looked for them."""
    names = session.records.names
    return tuple(names[s.entity_id] for s in session.known_seeds if s.entity_id in names)


def _log(result: SearchResult) -> None:
    logger.info(
        "search strategy=%s hits=%d tokens=%d ms=%s",
        result.strategy,
        len(result.hits),
        result.context.tokens,
        {name: round(spent, 1) for name, spent in result.timings_ms.items()},
    )


# --- steps after any strategy; each is imported when it is needed: most questions need none


def postprocess(session: QuerySession, strategy: Strategy) -> RetrievalResult:
    """What the strategy finds, after the steps that the options and the settings enable."""
    found = _by_parts(session, strategy) if session.options.sub_questions else strategy(session)
    if session.options.expand:
        found = _expanded(session, found)
    if session.options.rerank and session.resources.reranker is not None:
        found = _reranked(session, found)
    if _is_filtered(session):
        found = _filtered(session, found)
    if session.resources.settings.usage.weight:
        found = _by_usage(session, found)
    if session.resources.settings.boost.any:
        found = _boosted(session, found)
    return found


def _is_filtered(session: QuerySession) -> bool:
    options, settings = session.options, session.resources.settings
    by_setting = options.rerank and settings.llm.filter
    return by_setting if options.model_filter is None else options.model_filter


def _by_parts(session: QuerySession, strategy: Strategy) -> RetrievalResult:
    """Each part of the question asked by itself, and the whole; a passage takes its best."""
    from clew.search.analysis.sub_questions import fuse_by_max, split_question, split_with_model

    model = session.options.model or session.resources.language_model
    if model is None:
        parts = split_question(session.question)
        session.note("no language model was used: the question was split by rule")
    else:
        parts, notes = split_with_model(model, session.question)
        session.note(*notes)
    whole = strategy(session)
    if len(parts) < 2:
        return whole
    asked = [session.for_question(part) for part in parts]
    rankings = [strategy(part).ranking for part in asked]
    for part in asked:
        session.trust(part)
    return replace(whole, ranking=fuse_by_max([whole.ranking, *rankings]))


def _expanded(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """What follows the graph has the neighbours already: an equal vote would drown its order."""
    from clew.search.analysis.expansion import expansion_ranking

    with session.timings.step("widen"):
        wide = expansion_ranking(session, session.resources.name_vectors)
    if session.evidence is not None:
        return replace(found, ranking=found.ranking.then(wide))
    return replace(found, ranking=reciprocal_rank_fusion([found.ranking, wide]))


def _reranked(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    from clew.search.ranking.rerank import rerank

    settings, resources = session.resources.settings.rerank, session.resources
    with session.timings.step("rerank"):
        chunks = resources.store.chunks(found.ranking.top(settings.depth).ids.tolist())
        ranking, notes = rerank(
            resources.reranker,
            session.question,
            found.ranking,
            {chunk.id: f"{chunk.context}\n{chunk.text}".strip() for chunk in chunks},
            depth=settings.depth,
            weight=settings.weight,
        )
    session.note(*notes)
    return replace(found, ranking=ranking)


def _filtered(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    from clew.search.ranking.rerank import filter_by_model, read_candidates

    model = session.options.model or session.resources.language_model
    settings = session.resources.settings.llm
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


def _by_usage(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    from clew.search.ranking.rerank import apply_usage

    used = session.resources.store.usage(found.ranking.ids.tolist())
    settings = session.resources.settings.usage
    ranking = apply_usage(found.ranking, used, session.options.now, settings)
    return replace(found, ranking=ranking)


def _boosted(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    from clew.search.ranking.rerank import boosted

    return boosted(session, found)
