"""Answering questions in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from clew.errors import InputError, NoLanguageModelError, SettingsError
from clew.stores.backend import check_characters
from clew.types.answers import AnswerMode
from clew.wiring import make_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.attach.cypher import CypherAnswer
    from clew.engine.search import Search
    from clew.engine.state import EngineState
    from clew.models.llm.budget import Estimate
    from clew.models.llm.client import LanguageModelClient
    from clew.ports.language_model import Request
    from clew.types import SearchResult
    from clew.types.answers import Answer

STEPS = 4
"""Searches of one question, at most, where `mode` is `stepwise` and nothing is said."""
_OVERVIEW_PASSAGES = 60
"""Passages behind the reports of one answer, at most."""


class Ask:
    """Answers questions by what a search finds, and a language model where there is one."""

    def __init__(self, state: EngineState, search: Search) -> None:
        self._state, self._search = state, search

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "one_shot",
        steps: int | None = None,
        max_tokens_spent: int | None = None,
        max_cost: float | None = None,
        tell: Callable[[str], None] | None = None,
        model: LanguageModelClient | None = None,
        **options: Any,  # noqa: ANN401 - those of `search`
    ) -> Answer:
        """The answer in statements, each with the words of the documents that support it.

        Args:
            question: In words.
            mode: `one_shot`: one search; `stepwise`: the question's parts, and what is still
                missing, are searched for, too; `global`: each community report is asked.
            steps: Searches of `stepwise`, 1 to 10; None: 4.
            max_tokens_spent: Tokens that the model may read and write; None: those of the settings.
            max_cost: US dollars, where prices are known; None: those of the settings.
            tell: Called with each piece of the answer as soon as it was checked.
            model: Asked in place of the store's own.
            options: Those of `search`.

        Without a language model, or where it fails, it is one sentence of the documents; of a whole
        what the strategy made of it, such as reports; where nothing is likely to answer, none, and
        the sources are the nearest passages.
        Raises what `search` raises, and `InputError` for a mode or steps that cannot be.
        """
        from clew.search.ask.pipeline import answer
        from clew.search.ask.stepwise import search_in_steps

        self._check(question)
        steps, options = _checked(question, mode, steps, options)
        settings, model = self._state.settings.llm, model or self._state.language_model
        if model is not None:
            # Another collection's text is not kept in this one.
            keep = not options.get("namespaces")
            model = model.limited(max_tokens_spent, max_cost, keep=keep)

        def search(asked: str) -> SearchResult:
            return self._search.search(asked, model=model, context_passages=False, **options)

        if mode == "stepwise":
            found, asked = search_in_steps(question, search, model, settings, steps)
        else:
            found, asked = search(question), ()
        made = answer(found, model, settings, tell or _ignore, by_reports=mode == "global")
        made = replace(made, mode=mode, questions=asked)
        if model is None:
            return made
        spent = model.budget.spent
        return replace(
            made,
            usage=spent.usage,
            cost=spent.cost,
            calls=spent.requests,
            cached_calls=spent.cached,
        )

    def warm(self, limit: int | None = None) -> None:
        """Have a local model loaded in the background while passages are found, `limit` at most.

        `search.limit` of them without it. Where that fails, the answer says so.
        """
        from clew.models.llm.tokens import most_tokens_of_passages

        settings, model = self._state.settings, self._state.language_model
        if model is not None:
            found = settings.search.limit if limit is None else limit
            model.warm(most_tokens_of_passages(found, settings.split.chunk_tokens))

    def estimate(
        self,
        question: str,
        *,
        mode: AnswerMode = "one_shot",
        steps: int | None = None,
        **options: Any,  # noqa: ANN401 - those of `search`
    ) -> Estimate:
        """What an answer would take, at most where replies decide what is asked next.

        The model is not asked. Judged by its replies so far, as `enrich` is. Raises
        `SettingsError` without a model, and what `ask` raises.
        """
        from clew.models.llm.budget import Rehearsal
        from clew.search.ask.prompt import answer_request
        from clew.search.ask.reports import report_requests
        from clew.search.ask.stepwise import step_requests

        model = self._state.language_model
        if model is None:
            raise SettingsError(
                "no language model is configured, so nothing is spent: set llm.provider and"
                " llm.model"
            )
        self._check(question)
        steps, options = _checked(question, mode, steps, options)
        settings, rehearsal = self._state.settings.llm, Rehearsal(model.name, model.kept)
        found = self._search.search(question, model=rehearsal, context_passages=False, **options)
        asked = rehearsal.asked
        if mode == "stepwise":
            asked = asked * steps  # a search each
            asked += step_requests(question, found, settings, steps)
        if found.reached and mode == "global":
            asked += report_requests(found, settings)
        elif found.reached:
            asked.append(answer_request(question, found.hits, settings, found.context.parts))
        return self.estimated(model, asked)

    def estimated(self, model: LanguageModelClient, asked: Sequence[Request]) -> Estimate:
        """What requests would take, each task judged by its own replies."""
        from clew.models.llm.budget import estimate, total
        from clew.search.ask.prompt import REPLY_TOKENS

        new = [request for request in asked if model.kept(request) is None]
        past = make_replies(self._state.store).entries()
        found = []
        for task in dict.fromkeys(["answer", *(request.task for request in new)]):
            same = [e for e in past if e.task == task and e.model == model.model_of(task)]
            most = min(REPLY_TOKENS, model.settings.task(task).max_output_tokens)
            found.append(estimate([r for r in new if r.task == task], 0, same, most))
        documents = {name for request in new for name in request.documents}
        return replace(total(found), documents=len(documents), cached=len(asked) - len(new))

    def _check(self, question: str) -> None:
        """Raise `InputError` for a question that is too long or no valid Unicode."""
        self._state.check_length("question", question)
        check_characters(question)

    def by_cypher(self, question: str, *, limit: int = 50, run: bool = True) -> CypherAnswer:
        """The rows of a query that the language model writes for the store's graph on Neo4j.

        See `clew.attach.cypher.ask_by_cypher`. Raises what that raises, `InputError` for a store
        that is a folder, and `NoLanguageModelError`.
        """
        from clew.attach.connect import open_database
        from clew.attach.cypher import ask_by_cypher
        from clew.attach.examples import read_examples

        state = self._state
        self._check(question)
        with open_database(state.settings) as database:
            if state.language_model is None:
                raise NoLanguageModelError
            known = state.settings.neo4j.examples
            return ask_by_cypher(
                database,
                state.language_model,
                question,
                embedder=state.embedder,
                examples=read_examples(known) if known else (),
                limit=limit,
                run=run,
            )


def _checked(
    question: str, mode: str, steps: int | None, options: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """The steps, and the options of the search that the mode needs; raises `InputError`."""
    from clew.search.ask.stepwise import MOST_STEPS

    if mode not in get_args(AnswerMode):
        modes = ", ".join(get_args(AnswerMode))
        raise InputError(f"mode {mode!r} cannot be; expected one of {modes}")
    if not question.strip():
        raise InputError("there is no question; say what is asked of the documents")
    if steps is not None and mode != "stepwise":
        raise InputError(f"steps {steps} has no effect on the mode {mode}; it is for stepwise")
    steps = STEPS if steps is None else steps
    if not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps {steps!r} cannot be; expected 1 to {MOST_STEPS}")
    if mode != "global":
        return steps, options
    if options.get("strategy") not in (None, "global"):
        raise InputError(
            f"mode 'global' asks community reports, not passages by {options['strategy']!r}; leave"
            " the strategy out, or the mode"
        )
    limit = options.get("limit") or _OVERVIEW_PASSAGES
    return steps, {**options, "strategy": "global", "limit": limit}


def _ignore(piece: str) -> None:
    pass
