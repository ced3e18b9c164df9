"""Steps after any strategy: sub-questions, query expansion, reranking, usage.

Each is imported when it is needed: most questions need none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.retrieval.channels import reciprocal_rank_fusion

if TYPE_CHECKING:
    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.search.strategies import Strategy


def postprocess(session: QuerySession, strategy: Strategy) -> RetrievalResult:
    """What the strategy finds, after the steps that the options and the settings enable."""
    found = _by_parts(session, strategy) if session.options.sub_questions else strategy(session)
    if session.options.expand:
        found = _expanded(session, found)
    if session.options.rerank and session.resources.reranker is not None:
        found = _reranked(session, found)
    if session.resources.settings.usage.weight:
        found = _by_usage(session, found)
    return found


def _by_parts(session: QuerySession, strategy: Strategy) -> RetrievalResult:
    """Each part of the question asked by itself, and the whole; a passage takes its best."""
    from clew.search.analysis.sub_questions import fuse_by_max, split_question, split_with_model

    model = session.resources.language_model
    if model is None:
        parts = split_question(session.question)
        session.note("no language model was used: the question was split by rule")
    else:
        parts, notes = split_with_model(model, session.question)
        session.note(*notes)
    whole = strategy(session)
    if len(parts) < 2:
        return whole
    rankings = [strategy(session.for_question(part)).ranking for part in parts]
    return replace(whole, ranking=fuse_by_max([whole.ranking, *rankings]))


def _expanded(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """What follows the graph has the neighbours already: an equal vote would drown its order."""
    from clew.search.analysis.query_expansion import expansion_ranking

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


def _by_usage(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    from clew.search.ranking.usage_boost import apply_usage

    used = session.resources.store.usage(found.ranking.ids.tolist())
    settings = session.resources.settings.usage
    ranking = apply_usage(found.ranking, used, session.options.now, settings)
    return replace(found, ranking=ranking)
