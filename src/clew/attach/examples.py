"""Questions with the queries that answer them: the nearest ones show a model what to write."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clew.ports import Embedder

NEAREST = 4
"""Examples that a model is shown."""


class Example(BaseModel):
    """A question and the query that answers it."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1)
    query: str = Field(min_length=1)
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    example: list[Example]


def read_examples(path: Path) -> list[Example]:
    """Those of a TOML file of `[[example]]` tables; raises `InputError`."""
    try:
        return _read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"examples {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"examples {str(path)!r} are not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"examples {str(path)!r} cannot be: {place}: {first['msg']}") from error


def own_examples() -> list[Example]:
    """Those about the graph that Clew itself keeps."""
    return _read(files("clew.attach").joinpath("own_examples.toml").read_text(encoding="utf-8"))


def _read(text: str) -> list[Example]:
    return _File.model_validate(tomllib.loads(text)).example


def nearest_examples(
    question: str, examples: Sequence[Example], embedder: Embedder, most: int = NEAREST
) -> list[Example]:
    """The examples whose questions are most like the question, the nearest first.

    Names are what differs between two questions of one form: those that are parameters of an
    example are left out of it.
    """
    if len(examples) <= most:
        return list(examples)
    vectors = embedder.embed_documents([_without_names(example) for example in examples])
    near = vectors @ embedder.embed_query(question)
    return [examples[place] for place in (-near).argsort(kind="stable")[:most]]


def _without_names(example: Example) -> str:
    text = example.question
    for name, value in example.parameters.items():
        text = text.replace(str(value), name)
    return text


def shown_example(example: Example) -> str:
    """An example as a model reads it."""
    parameters = [{"name": name, "value": value} for name, value in example.parameters.items()]
    written = {"query": example.query, "parameters": parameters, "reason": ""}
    return f"Example question: {example.question}\n{json.dumps(written, ensure_ascii=False)}"
