"""Language models: Ollama, and those of OpenAI, Anthropic and servers of OpenAI's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl


@hookimpl
def language_models() -> Mapping[str, str]:
    """See `Hooks`."""
    hosted = ("openai", "anthropic", "openai-compatible")
    return {
        "ollama": "clew.models.llm.ollama:Ollama",
        **dict.fromkeys(hosted, "clew.models.llm.hosted:Hosted"),
    }


@hookimpl
def tools() -> Sequence[str]:
    """See `Hooks`."""
    return [f"clew.plugins.llm.extraction:{name}" for name in ("extraction_next", "graph_upsert")]
