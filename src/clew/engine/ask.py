"""Answering questions in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.engine.search import Search
    from clew.engine.state import EngineState
    from clew.types.answers import Answer


class Ask:
    """Answers questions by what a search finds, and a language model where there is one."""

    def __init__(self, state: EngineState, search: Search) -> None:
        self._state, self._search = state, search

    def ask(
        self,
        question: str,
        *,
        tell: Callable[[str], None] | None = None,
        **options: Any,  # noqa: ANN401 - those of `search`
    ) -> Answer:
        """The answer in statements, each with the words of the documents that support it.

        Args:
            question: In words.
            tell: Called with each piece of the answer as soon as it was checked.
            options: Those of `search`.

        Without a language model, or where it fails, the statements are sentences of the documents.
        Raises what `search` raises.
        """
        from clew.search.ask.pipeline import answer

        found = self._search.search(question, context=False, **options)
        settings = self._state.settings.llm
        return answer(found, self._state.language_model, settings, tell or _ignore)


def _ignore(piece: str) -> None:
    pass
