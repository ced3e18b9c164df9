"""What a language model adds to a store that was indexed: facts, contexts, reports.

What a task needs is imported inside the functions: opening a store needs none of it.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from clew.errors import BudgetError, InputError, ModelUnavailableError, SettingsError
from clew.ports.enrichment import Enriched, EnrichmentLog
from clew.types import EnrichmentReport, Skipped
from clew.wiring import make_language_model, make_replies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.engine.state import EngineState, Progress
    from clew.indexing.enrichment.run import EnrichmentTask
    from clew.models.llm.budget import Estimate
    from clew.models.llm.client import LanguageModelClient

KINDS: tuple[Enriched, ...] = get_args(Enriched)
AT_ONCE = 200
"""Passages taken back in one transaction."""


class Enriching:
    """Enriches the passages of a store by its language model."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    @cached_property
    def _log(self) -> EnrichmentLog:
        from clew.stores.relations.enrichments import enrichments_of

        return enrichments_of(self._state.store)

    def enrich(
        self,
        *kinds: Enriched,
        documents: Sequence[str] | None = None,
        retry: bool = False,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        progress: Progress | None = None,
    ) -> list[EnrichmentReport]:
        """Have the model do what is left of each kind; a report of each that was begun.

        Args:
            kinds: `context`: words that situate each passage in its document; `extract`: names and
                facts, each fact with words that stand in its passage.
            documents: Ids of documents; all of them without.
            retry: Ask again where the model failed before.
            max_tokens: Tokens that may be spent, `llm.max_tokens_spent` by default; 0: no limit.
            max_cost: US dollars, `llm.max_cost` by default; 0: no limit.
            progress: Told requests done, and of how many; may raise to end the work.

        What is done is kept, and so is each reply: cut short, it goes on where it was. Raises
        `SettingsError` without a language model.
        """
        check_kinds(kinds)
        model, reports = self._model(max_tokens, max_cost), list[EnrichmentReport]()
        for kind in kinds:
            reports.append(self._run(kind, model, documents, retry, progress or _ignore))
            if reports[-1].stopped:
                break
        return reports

    def estimate(
        self,
        *kinds: Enriched,
        documents: Sequence[str] | None = None,
        retry: bool = False,
    ) -> Mapping[Enriched, Estimate]:
        """What `enrich` would take, by kind; nothing is asked.

        Judged by what the model's replies to such requests took before; without any, a token is
        taken for four characters, and a reply for as long as most are.
        """
        from clew.models.llm.budget import estimate

        check_kinds(kinds)
        model, past = self._model(None, None), make_replies(self._state.store).entries()
        found = {}
        for kind in kinds:
            task, ids = self._task(kind, model), self._ids(documents)
            requests = [task.request(work) for work in task.works(ids, retry=retry)]
            asked = [request for request in requests if not model.is_cached(request)]
            same = [e for e in past if e.task == kind and e.model == model.model_of(kind)]
            cached = len(requests) - len(asked)
            found[kind] = estimate(asked, cached, same, task.reply_tokens)
        return found

    def left(self, *kinds: Enriched, retry: bool = False) -> list[str]:
        """Sources of the documents of which the model has not read everything."""
        check_kinds(kinds)
        store, skipped = self._state.store, set[int]()
        for kind in kinds:
            done = self._log.done(kind)
            read = {i for i, reason in done.items() if not (retry and reason)}
            skipped = read if kind == kinds[0] else skipped & read
        ids = [int(i) for i in store.chunk_ids() if int(i) not in skipped]
        return sorted({chunk.source for chunk in store.chunks(ids)})

    def undo(self, kind: Enriched, *, progress: Progress | None = None) -> int:
        """Take back all that the model added of a kind; in how many passages."""
        check_kinds([kind])
        log, say = self._log, progress or _ignore
        ids = sorted(log.done(kind))
        undo = log.undo_contexts if kind == "context" else log.undo_extraction
        for start in range(0, len(ids), AT_ONCE):
            say("undo", start, len(ids))
            with self._state.writing:
                undo(ids[start : start + AT_ONCE])
        if ids:
            self._state.persist()
        return len(ids)

    def failures(self, kind: Enriched) -> list[Skipped]:
        """Passages where the model failed, and why."""
        done = self._log.done(kind)
        failed = {chunk_id: reason for chunk_id, reason in done.items() if reason}
        chunks = self._state.store.chunks(list(failed))
        return [Skipped(source=chunk.public_id, reason=failed[chunk.id]) for chunk in chunks]

    def all_failures(self) -> list[Skipped]:
        """The same of every kind."""
        return [one for kind in KINDS for one in self.failures(kind)]

    # --- one kind

    def _run(
        self,
        kind: Enriched,
        model: LanguageModelClient,
        documents: Sequence[str] | None,
        retry: bool,
        progress: Progress,
    ) -> EnrichmentReport:
        from clew.indexing.enrichment.run import Run

        began, before, stopped = time.perf_counter(), model.budget.spent, ""
        task = self._task(kind, model)
        works = list(task.works(self._ids(documents), retry=retry))
        run = Run(
            task, self._state.settings.llm.concurrency, lambda n: progress(kind, n, len(works))
        )
        progress(kind, 0, len(works))
        try:
            run.over(works)
        except (BudgetError, ModelUnavailableError) as error:
            stopped = str(error)
        if works:
            self._state.persist()
        spent = model.budget.spent
        return EnrichmentReport(
            kind=kind,
            done=task.total.passages,
            failed=self._shown(task.total.failed),
            facts=task.total.facts,
            new_relations=task.total.new_relations,
            dropped=dict(task.total.dropped),
            requests=spent.requests - before.requests,
            cached=spent.cached - before.cached,
            usage=spent.usage - before.usage,
            cost=spent.cost,
            seconds=time.perf_counter() - began,
            stopped=stopped,
        )

    def _task(self, kind: Enriched, model: LanguageModelClient) -> EnrichmentTask[Any, Any]:
        state, llm = self._state, self._state.settings.llm
        if kind == "context":
            from clew.indexing.enrichment.contexts import ModelContexts

            state.bind_embedder()
            return ModelContexts(state.store, self._log, model, llm, state.embedder, state.writing)
        from clew.indexing.enrichment.extraction import ModelExtraction

        return ModelExtraction(
            state.store, self._log, model, llm, state.bound_ingest, state.writing
        )

    def _model(self, max_tokens: int | None, max_cost: float | None) -> LanguageModelClient:
        """A client with a budget of its own."""
        from clew.models.llm.budget import Budget

        state = self._state
        if state.language_provider is None:
            raise SettingsError(
                "no language model is configured: set llm.provider and llm.model, in clew.toml or"
                " as CLEW_LLM__PROVIDER and CLEW_LLM__MODEL"
            )
        model = make_language_model(state.settings, state.language_provider, state.store)
        llm = state.settings.llm
        model.budget = Budget(
            llm.max_tokens_spent if max_tokens is None else max_tokens,
            llm.max_cost if max_cost is None else max_cost,
        )
        return model

    def _ids(self, documents: Sequence[str] | None) -> list[str]:
        known = self._state.store.documents(ids=documents)
        return [document.id for document in known]

    def _shown(self, failed: Mapping[int, str]) -> tuple[Skipped, ...]:
        chunks = self._state.store.chunks(list(failed))
        return tuple(Skipped(source=c.public_id, reason=failed[c.id]) for c in chunks)


def check_kinds(kinds: Sequence[Any]) -> None:
    """Raise `InputError` where nothing, or something unknown, is asked for."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        given = repr(unknown[0]) if unknown else "nothing"
        raise InputError(f"{given} cannot be enriched; expected {' or '.join(KINDS)}")


def _ignore(step: str, done: int, total: int | None) -> None:
    """Takes progress where nobody asked for it."""
