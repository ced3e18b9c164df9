"""Answering questions in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from clew.errors import InputError, NoLanguageModelError, SettingsError
from clew.types.answers import AnswerMode
from clew.wiring import make_replies

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.attach.cypher import CypherAnswer
    from clew.engine.search import Search
    from clew.engine.state import EngineState
    from clew.models.llm.budget import Estimate
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
        steps: int = STEPS,
        max_tokens_spent: int | None = None,
        max_cost: float | None = None,
        tell: Callable[[str], None] | None = None,
        **options: Any,  # noqa: ANN401 - those of `search`
    ) -> Answer:
        """The answer in statements, each with the words of the documents that support it.

        Args:
            question: In words.
            mode: `one_shot`: one search; `stepwise`: the question's parts, and what is still
                missing, are searched for, too; `global`: each community report is asked.
            steps: Searches of `stepwise`, 1 to 10.
            max_tokens_spent: Tokens that the model may read and write; None: those of the settings.
            max_cost: US dollars, where prices are known; None: those of the settings.
            tell: Called with each piece of the answer as soon as it was checked.
            options: Those of `search`.

        Without a language model, or where it fails, the statements are sentences of the documents.
        Raises what `search` raises, and `InputError` for a mode or steps that cannot be.
        """
        from clew.search.ask.pipeline import answer
        from clew.search.ask.stepwise import search_in_steps

        options = _checked(mode, steps, options)
        settings, model = self._state.settings.llm, self._state.language_model
        if model is not None:
            # Another collection's text is not kept in this one.
            keep = not options.get("namespaces")
            model = model.limited(max_tokens_spent, max_cost, keep=keep)

        def search(asked: str) -> SearchResult:
            return self._search.search(asked, context=mode == "global", **options)

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

    def estimate(self, question: str, **options: Any) -> Estimate:  # noqa: ANN401 - of `search`
        """What an answer of one search would take; the model is not asked.

        Judged by the model's replies so far, as `enrich` is. Raises `SettingsError` without a
        model, and what `search` raises.
        """
        from clew.models.llm.budget import estimate
        from clew.search.ask.prompt import REPLY_TOKENS, answer_request

        model = self._state.language_model
        if model is None:
            raise SettingsError(
                "no language model is configured, so nothing is spent: set llm.provider and"
                " llm.model"
            )
        found = self._search.search(question, context=False, **options)
        request = answer_request(question, found.hits, self._state.settings.llm)
        is_new = bool(found.answered and not model.is_cached(request))
        past = make_replies(self._state.store).entries()
        same = [e for e in past if e.task == "answer" and e.model == model.model_of("answer")]
        return estimate([request] * is_new, int(not is_new), same, REPLY_TOKENS)

    def by_cypher(self, question: str, *, limit: int = 50, run: bool = True) -> CypherAnswer:
        """The rows of a query that the language model writes for the store's graph on Neo4j.

        See `clew.attach.cypher.ask_by_cypher`. Raises what that raises, `InputError` for a store
        that is a folder, and `NoLanguageModelError`.
        """
        from clew.attach.connect import open_database
        from clew.attach.cypher import ask_by_cypher
        from clew.attach.examples import read_examples

        state = self._state
        state.check_length("question", question)
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


def _checked(mode: str, steps: int, options: dict[str, Any]) -> dict[str, Any]:
    """The options of the search that the mode needs; raises `InputError`."""
    from clew.search.ask.stepwise import MOST_STEPS

    if mode not in get_args(AnswerMode):
        modes = ", ".join(get_args(AnswerMode))
        raise InputError(f"mode {mode!r} cannot be; expected one of {modes}")
    if not 1 <= steps <= MOST_STEPS:
        raise InputError(f"steps {steps!r} cannot be; expected 1 to {MOST_STEPS}")
    if mode != "global":
        return options
    if options.get("strategy") not in (None, "global"):
        raise InputError(
            f"mode 'global' asks community reports, not passages by {options['strategy']!r}; leave"
            " the strategy out, or the mode"
        )
    limit = options.get("limit") or _OVERVIEW_PASSAGES
    return {**options, "strategy": "global", "limit": limit}


def _ignore(piece: str) -> None:
    pass
