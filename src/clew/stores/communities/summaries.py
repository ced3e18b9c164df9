"""Reports that a language model wrote of communities, and what they stand in place of.

What there was before, or why the model failed, is kept beside the partition: as JSON, by id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

from clew.stores.statements.communities import KEEP, SUMMARIES, reported

if TYPE_CHECKING:
    from clew.stores.backend import Backend
    from clew.types import Ids


def read_summaries(backend: Backend) -> dict[int, dict[str, Any]]:
    """`reason` and, where the model wrote one, `title` and `summary` of before; by id."""
    ((kept,),) = backend.rows(SUMMARIES)
    return {int(id_): made for id_, made in json.loads(kept or "{}").items()}


def write_summaries(
    backend: Backend, reports: Mapping[int, tuple[str, str]], failed: Mapping[int, str]
) -> None:
    """See `ports.CommunityWriter.summarise`; call inside `write`."""
    made = read_summaries(backend)
    statement = reported(("id", "title", "summary"), among=True, at_level=False)
    rows = backend.rows(statement, ids=sorted({*reports, *failed}), level=None)
    changed = []
    for id_, title, summary in rows:
        before = {"title": title, "summary": summary, **made.get(id_, {})}
        if id_ in reports:
            made[id_] = {**before, "reason": ""}
            changed.append(dict(zip(("id", "title", "summary"), (id_, *reports[id_]), strict=True)))
        else:
            made[id_] = {**made.get(id_, {}), "reason": failed[id_]}
    backend.update("communities", changed)
    _keep(backend, made)


def undo_summaries(backend: Backend) -> int:
    """See `ports.CommunityWriter`; call inside `write`."""
    made = read_summaries(backend)
    before = [
        {"id": id_, "title": one["title"], "summary": one["summary"]}
        for id_, one in made.items()
        if "summary" in one
    ]
    backend.update("communities", before)
    _keep(backend, {})
    return len(before)


def forget_summaries(backend: Backend, replaced: Set[int], there: Ids) -> None:
    """Forget those of communities that have another report now, or are gone."""
    made = read_summaries(backend)
    left = set(there.tolist()) - {int(id_) for id_ in replaced}
    kept = {id_: one for id_, one in made.items() if id_ in left}
    if len(kept) < len(made):
        _keep(backend, kept)


def _keep(backend: Backend, made: Mapping[int, Mapping[str, Any]]) -> None:
    backend.execute_many(KEEP, [{"name": "summaries", "value": json.dumps(made)}])
