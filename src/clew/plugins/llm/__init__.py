"""Language models: Ollama, OpenAI, Anthropic and servers of OpenAI's interface; and what they add.

Each kind of enrichment is its works (what is left to ask), `ask` (one work, in a thread) and
`record` (what came of some works, in the store); `enriching` drives them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl


@hookimpl
def language_models() -> Mapping[str, str]:
    """See `Hooks`."""
    hosted = ("openai", "anthropic", "openai-compatible")
    return {
        "ollama": "clew.plugins.llm.ollama:Ollama",
        **dict.fromkeys(hosted, "clew.plugins.llm.hosted:Hosted"),
    }


@hookimpl
def embedders() -> Mapping[str, str]:
    """See `Hooks`."""
    providers = ("ollama", "openai", "openai-compatible")
    return dict.fromkeys(providers, "clew.plugins.llm.embeddings:RemoteEmbedder")


@hookimpl
def model_clients() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.plugins.llm.client:LanguageModelClient"]


@hookimpl
def tools() -> Sequence[str]:
    """See `Hooks`."""
    return [f"clew.plugins.llm.reading:{name}" for name in ("extraction_next", "graph_upsert")]


@hookimpl
def members() -> Mapping[str, str]:
    """See `Hooks`."""
    return {
        "chat": "clew.plugins.llm.chat:chat",
        "conversations": "clew.plugins.llm.chat:conversations",
        "enriching": "clew.plugins.llm.enriching:enriching",
        "enrich": "clew.plugins.llm.enriching:enrich",
    }


@hookimpl
def commands() -> Mapping[str, str]:
    """See `Hooks`."""
    return {name: f"clew.plugins.llm.commands:{name}" for name in ("chat", "enrich")}
