"""What language models were asked so far, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports.language_model import LoggedReply


def statistics(entries: Sequence[LoggedReply]) -> dict[str, Any]:
    """Figures of all requests that the store keeps, and of each task.

    A request asked again takes the place of the earlier one; `cache_hits` counts those that did not
    have to be asked again.
    """
    tasks = sorted({entry.task for entry in entries})
    return {
        **_figures(entries),
        "tasks": {task: _figures([e for e in entries if e.task == task]) for task in tasks},
    }


def _figures(entries: Sequence[LoggedReply]) -> dict[str, Any]:
    """Seconds and rates are those of the requests that were answered."""
    done = [entry for entry in entries if not entry.reason]
    seconds = [entry.seconds for entry in done]
    costs = [entry.cost for entry in entries if entry.cost is not None]
    written = sum(entry.usage.output_tokens for entry in done)
    return {
        "requests": len(entries),
        "failures": len(entries) - len(done),
        "cache_hits": sum(entry.hits for entry in entries),
        "input_tokens": sum(entry.usage.input_tokens for entry in entries),
        "cached_tokens": sum(entry.usage.cached_tokens for entry in entries),
        "output_tokens": sum(entry.usage.output_tokens for entry in entries),
        "cost": sum(costs) if costs else None,
        "tokens_per_second": round(written / sum(seconds), 1) if sum(seconds) else None,
        "p50_seconds": _percentile(seconds, 50),
        "p95_seconds": _percentile(seconds, 95),
    }


def _percentile(values: Sequence[float], share: int) -> float | None:
    return round(float(np.percentile(values, share)), 3) if values else None
