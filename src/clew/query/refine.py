"""Steps that any strategy can take: further questions, a wider net, a second reading, usage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.query.rerank import rerank
from clew.query.retrieve import reciprocal_rank_fusion
from clew.query.sub_questions import fuse_by_max, split_question, split_with_model
from clew.query.usage import apply_usage
from clew.query.widen import widened_ranking

if TYPE_CHECKING:
    from clew.query.asking import Asking
    from clew.query.found import Found
    from clew.query.retrieve import Ranking
    from clew.query.strategies import Strategy


def refine(asking: Asking, strategy: Strategy) -> Found:
    """What the strategy finds, after the steps that the options and the settings ask for."""
    found = _by_parts(asking, strategy) if asking.options.sub_questions else strategy(asking)
    if asking.options.expand:
        with asking.timings.step("widen"):
            wide = widened_ranking(asking, asking.library.name_vectors)
        found = replace(found, ranking=_widened(asking, found.ranking, wide))
    if asking.options.rerank and asking.library.reranker is not None:
        found = _reranked(asking, found)
    if asking.library.settings.usage.weight:
        found = _by_usage(asking, found)
    return found


def _by_parts(asking: Asking, strategy: Strategy) -> Found:
    """Each part of the question asked by itself, and the whole; a passage takes its best."""
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


def _widened(asking: Asking, found: Ranking, wide: Ranking) -> Ranking:
    """What follows the graph has the neighbours already: an equal vote would drown its order."""
    if asking.evidence is not None:
        return found.then(wide)
    return reciprocal_rank_fusion([found, wide])


def _reranked(asking: Asking, found: Found) -> Found:
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
    used = asking.library.store.usage(found.ranking.ids.tolist())
    settings = asking.library.settings.usage
    ranking = apply_usage(found.ranking, used, asking.options.now, settings)
    return replace(found, ranking=ranking)
