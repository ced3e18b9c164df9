"""What the tests of language models share: requests, schemas, settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel

from clew.plugins.llm.client import LanguageModelClient
from clew.ports import Parameters, Request, ask
from clew.settings import LlmSettings
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import Replies
from clew.testing.fakes import ScriptedLanguageModel

PARAMETERS = Parameters(model="small", temperature=0.0, max_output_tokens=100, seconds=5)


class Person(BaseModel):
    """A name and a year."""

    name: str
    year: int


ADA = '{"name": "Ada Morn", "year": 1820}'


def request(text: str = "Who?", *, schema: type[BaseModel] | None = None) -> Request:
    asked = ask("extract", "Answer.", text, subject=text)
    return replace(asked, schema=schema, documents=("d1",))


def settings(**given: object) -> LlmSettings:
    values: Mapping[str, object] = {"provider": "ollama", "model": "small", "retries": 0, **given}
    return LlmSettings.model_validate(values)


def client(
    model: ScriptedLanguageModel, store: SqliteStore | None = None, /, **given: object
) -> LanguageModelClient:
    log = None if store is None else Replies(store.backend)
    return LanguageModelClient(model, settings(**given), log)
