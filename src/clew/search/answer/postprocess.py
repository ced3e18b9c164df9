"""Steps that any strategy can take: further questions, a wider net, a second reading, usage.

Each is imported when it is taken: most questions take none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.retrieval.channels import reciprocal_rank_fusion

if TYPE_CHECKING:
    from clew.search.answer.result import Found
    from clew.search.session import Asking
    from clew.search.strategies import Strategy


def refine(asking: Asking, strategy: Strategy) -> Found:
    """What the strategy finds, after the steps that the options and the settings ask for."""
    found = _by_parts(asking, strategy) if asking.options.sub_questions else strategy(asking)
    if asking.options.expand:
        found = _widened(asking, found)
    if asking.options.rerank and asking.library.reranker is not None:
        found = _reranked(asking, found)
    if asking.library.settings.usage.weight:
        found = _by_usage(asking, found)
    return found


def _by_parts(asking: Asking, strategy: Strategy) -> Found:
    """Each part of the question asked by itself, and the whole; a passage takes its best."""
    from clew.search.analysis.sub_questions import fuse_by_max, split_question, split_with_model

    model = asking.library.language_model
    if model is None:
        parts = split_question(asking.question)
        asking.note("no language model was used: the question was split by rule")
    else:
        parts, notes = split_with_model(model, asking.question)
        asking.note(*notes)
    whole = strategy(asking)
    if len(parts) < 2:
        return whole
    rankings = [strategy(asking.part(part)).ranking for part in parts]
    return replace(whole, ranking=fuse_by_max([whole.ranking, *rankings]))


def _widened(asking: Asking, found: Found) -> Found:
    """What follows the graph has the neighbours already: an equal vote would drown its order."""
    from clew.search.analysis.query_expansion import widened_ranking

    with asking.timings.step("widen"):
        wide = widened_ranking(asking, asking.library.name_vectors)
    if asking.evidence is not None:
        return replace(found, ranking=found.ranking.then(wide))
    return replace(found, ranking=reciprocal_rank_fusion([found.ranking, wide]))


def _reranked(asking: Asking, found: Found) -> Found:
    from clew.search.ranking.rerank import rerank

    settings, library = asking.library.settings.rerank, asking.library
    with asking.timings.step("rerank"):
        chunks = library.store.chunks(found.ranking.top(settings.depth).ids.tolist())
        ranking, notes = rerank(
            library.reranker,
            asking.question,
            found.ranking,
            {chunk.id: f"{chunk.context}\n{chunk.text}".strip() for chunk in chunks},
            depth=settings.depth,
            weight=settings.weight,
        )
    asking.note(*notes)
    return replace(found, ranking=ranking)


def _by_usage(asking: Asking, found: Found) -> Found:
    from clew.search.ranking.usage_boost import apply_usage

    used = asking.library.store.usage(found.ranking.ids.tolist())
    settings = asking.library.settings.usage
    ranking = apply_usage(found.ranking, used, asking.options.now, settings)
    return replace(found, ranking=ranking)
