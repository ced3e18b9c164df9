"""Embeddings from a server: Ollama by its own interface, all others by that of OpenAI."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import httpx2

from clew.errors import ModelError, ModelUnavailableError, SettingsError
from clew.models.given import FunctionEmbedder
from clew.models.onnx import VectorCache, default_folder
from clew.plugins.llm.client import with_retries
from clew.plugins.llm.hosted import VENDORS
from clew.plugins.llm.ollama import ADDRESS, FirstContact, bounded, refusal
from clew.settings import EmbedSettings, LlmSettings
from clew.text import one_line
from clew.types import Vectors

AT_ONCE = 64
"""Texts of one request."""
RETRIES = 4


class RemoteEmbedder(FunctionEmbedder):
    """An embedding model on a server, named `provider:model` in the settings.

    Texts are sent in batches, again where the server is overloaded, and not at all where their
    vectors are remembered on this machine. `tokens` and `cost` (US dollars, None where no price is
    known) count what was sent.
    """

    def __init__(self, settings: EmbedSettings) -> None:
        provider, _, model = settings.model.partition(":")
        try:
            self._login = LlmSettings(provider=provider, model=model, base_url=settings.base_url)
        except ValueError as error:
            raise SettingsError(
                f"embed.model {settings.model!r} with embed.base_url {settings.base_url!r} cannot"
                " be; expected provider:model, and the server's address for openai-compatible"
            ) from error
        address = self._login.base_url or VENDORS.get(provider, ADDRESS)
        path = "/api/embed" if provider == "ollama" else "/embeddings"
        self._address, self._url = address, f"{address}{path}"
        key = self._login.api_key.get_secret_value()
        self._lacks_key = address in VENDORS.values() and not key
        self._client = httpx2.Client(
            headers={"Accept-Encoding": "identity"}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=httpx2.Timeout(settings.seconds, connect=self._login.connect_seconds),
        )
        self._contact = FirstContact(address, self._login.connect_seconds)
        self._counting = threading.Lock()
        self._settings = settings
        self.tokens, self.cost = 0, None if self._login.base_url else self._price(0)
        super().__init__(
            partial(self._asked, settings.document_prefix),
            query=partial(self._asked, settings.query_prefix),
            # Vectors of texts with another prefix are those of another model.
            name=" ".join(filter(None, (settings.model, settings.document_prefix.strip()))),
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length. Raises `ModelError`."""
        if not self._settings.remembered or not texts:
            return super().embed_documents(texts)
        file = (self._settings.cache or default_folder()) / "vectors.db"
        cache = VectorCache(file, f"{self._url} {self.name}", self._settings.remembered)
        return cache.embed(texts, self.dimension, super().embed_documents)

    def _asked(self, prefix: str, texts: Sequence[str]) -> list[Any]:
        """The vectors of texts, asked for in batches."""
        found: list[Any] = []
        for start in range(0, len(texts), AT_ONCE):
            given = [prefix + text for text in texts[start : start + AT_ONCE]]
            deadline = time.monotonic() + self._settings.seconds
            reply = with_retries(partial(self._post, given), retries=RETRIES, deadline=deadline)
            found += self._read(reply, len(given))
        return found

    def _post(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """What the server answers; raises `ModelUnavailableError` and `ModelError`."""
        if self._lacks_key:
            raise ModelError(
                f"{self.name} needs a key: set {self._login.key_variable} in the environment"
            )
        body = {"model": self._login.model, "input": texts}
        try:
            self._contact.check()
            with self._client.stream("POST", self._url, json=body) as response:
                said = b"\n".join(bounded(response, self.name, self._settings.seconds))
        except (httpx2.HTTPError, OSError) as error:
            raise ModelUnavailableError(
                f"{self.name} cannot be reached at {self._address} ({one_line(str(error))[:200]});"
                " start the server, or correct embed.base_url",
                reached=isinstance(error, httpx2.ReadTimeout),
            ) from error
        if response.status_code != httpx2.codes.OK:
            raise refusal(self.name, self._login.model, response, said)
        with suppress(ValueError, RecursionError):
            reply = json.loads(said)
            if isinstance(reply, dict):
                return reply
        raise ModelError(f"{self.name} answers with something else than JSON: check embed.base_url")

    def _read(self, reply: Mapping[str, Any], count: int) -> list[Any]:
        """The vectors of a reply in the order of the texts; what they took is counted."""
        with suppress(KeyError, TypeError):
            if "embeddings" in reply:
                vectors, tokens = reply["embeddings"], reply.get("prompt_eval_count", 0)
            else:
                data = sorted(reply["data"], key=lambda one: one["index"])
                vectors = [one["embedding"] for one in data]
                tokens = (reply.get("usage") or {}).get("total_tokens", 0)
            if isinstance(vectors, list) and len(vectors) == count:
                with self._counting:
                    self.tokens += int(tokens)
                    if self.cost is not None:
                        self.cost = self._price(self.tokens)
                return vectors
        raise ModelError(f"{self.name} answered without the {count} embeddings asked for")

    def _price(self, tokens: int) -> float | None:
        """US dollars of so many tokens, where genai-prices knows the model."""
        try:
            from genai_prices import Usage, calc_price
        except ImportError:
            return None
        with suppress(LookupError):
            used = Usage(input_tokens=tokens)
            provider = self._login.provider
            return float(calc_price(used, self._login.model, provider_id=provider).total_price)
        return None
