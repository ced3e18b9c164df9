"""Usage boost: passages that were used recently and often move up a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.search.ranking.normalise import min_max
from clew.search.retrieval.channels import Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.settings import UsageSettings

    Use = tuple[int, datetime]
    """(uses, at least 1; last use, aware)"""

_SECONDS_A_DAY = 86_400.0


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
    useful[used] = _usefulness(uses, now, settings.half_life_days)
    mixed = (1 - settings.weight) * min_max(ranking.scores) + settings.weight * useful
    order = np.argsort(-mixed, kind="stable")
    return Ranking(ranking.ids[order], mixed[order].astype(np.float32))


def _usefulness(uses: Sequence[Use], now: datetime, half_life_days: float) -> NDArray[np.float64]:
    """(n,) above 0 to 1: the mean of recency and frequency."""
    ages = np.array([max((now - last).total_seconds(), 0.0) for _, last in uses])
    recency = 0.5 ** (ages / _SECONDS_A_DAY / half_life_days)
    counts = np.log1p([count for count, _ in uses])
    return (recency + counts / counts.max()) / 2
