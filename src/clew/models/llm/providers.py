"""From settings to the provider of a language model; each is imported where it is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.models.llm.hosted import Hosted
    from clew.models.llm.ollama import Ollama
    from clew.settings import LlmSettings


def make_provider(settings: LlmSettings) -> Ollama | Hosted:
    """The provider that is configured; nothing is asked before the first request."""
    if settings.provider == "ollama":
        from clew.models.llm.ollama import Ollama

        return Ollama(settings)
    from clew.models.llm.hosted import Hosted

    return Hosted(settings)
