"""What a job of enriching does: a language model reads what is left, document by document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from clew.engine.enriching import PASSAGES
from clew.errors import BudgetError, ModelError
from clew.types import EnrichmentReport, document_id
from clew.wiring import make_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Engine
    from clew.ports.enrichment import Enrichment as Kind


class Wanted(TypedDict):
    """Arguments of a job."""

    kinds: list[Kind]
    retry: bool
    gleaning: NotRequired[bool | None]
    """None: as the settings say."""
    max_tokens: int
    """0: no limit but that of the settings."""
    since: str
    """When it was asked for, in UTC: what was spent from then on counts."""


class Enrichment:
    """`runner.Kind` that enriches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Sources of the documents of which something is left."""
        wanted = cast("Wanted", arguments)
        return self._engine.enriching.left(*wanted["kinds"], retry=wanted["retry"])

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`; raises `ModelError` where the model is away or the budget spent."""
        wanted, ids = cast("Wanted", arguments), [document_id(name) for name in names]
        kinds = [kind for kind in wanted["kinds"] if kind in PASSAGES]
        reports = self._enrich(wanted, kinds, ids, lambda: advance(0))
        failed = [item for report in reports for item in report.failed]
        counts = Counter(item.source.rpartition("#")[0] for item in failed)
        reasons = {item.source.rpartition("#")[0]: item.reason for item in reversed(failed)}
        return [
            f"{counts[id_]} of its passages failed (retry asks again); the first: {reasons[id_]}"
            if id_ in reasons
            else None
            for id_ in ids
        ]

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`; descriptions come when all passages are read."""
        wanted = cast("Wanted", arguments)
        self._enrich(wanted, [k for k in wanted["kinds"] if k not in PASSAGES], None, go_on)

    def _enrich(
        self,
        wanted: Wanted,
        kinds: Sequence[Kind],
        documents: Sequence[str] | None,
        go_on: Callable[[], None],
    ) -> list[EnrichmentReport]:
        if not kinds:
            return []
        reports = self._engine.enrich(
            *kinds,
            documents=documents,
            retry=wanted["retry"],
            gleaning=wanted.get("gleaning"),
            max_tokens=self._tokens_left(wanted),
            progress=lambda *_: go_on(),
        )
        for report in reports:
            if report.stopped:
                raise ModelError(report.stopped)
        return reports

    def _tokens_left(self, wanted: Wanted) -> int:
        """What the job may still spend, in whichever process it began; 0: no limit."""
        most = wanted["max_tokens"] or self._engine.settings.llm.max_tokens_spent
        if not most:
            return 0
        entries = make_replies(self._engine.store).entries()
        spent = sum(entry.usage.total for entry in entries if entry.at >= wanted["since"])
        if spent >= most:
            raise BudgetError(f"{spent:,} of {most:,} tokens are spent; what is done is kept")
        return most - spent
