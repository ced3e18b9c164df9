"""Entities that a question is about, named by a language model beside those that its words name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from clew.errors import ModelError
from clew.ports import Message, Request
from clew.search.analysis.question import find_seeds
from clew.text import entity_key
from clew.untrusted import NOTICE, escaped

if TYPE_CHECKING:
    from clew.search.session import QuerySession

_MOST_NAMES = 10
_INSTRUCTIONS = f"""\
You name whom and what a question is about, as an encyclopaedia would head its pages: people,\
 places, organisations, works, things with a name. {NOTICE}
Write names in full where the question shortens, misspells, translates or describes them. Do not\
 answer the question. Answer with a JSON object: {{"names": ["…"]}}; where there is no name,\
 {{"names": []}}.
"""


class Named(BaseModel):
    """The names of what a question is about."""

    names: list[str] = Field(max_length=_MOST_NAMES)


def read_named_entities(session: QuerySession) -> None:
    """Add the entities that the model names and the graph knows, where the settings ask for it.

    Those that the words of the question name stay. Where the model fails, a note says so.
    """
    model = session.model
    if model is None:
        return
    with session.timings.step("entities"):
        try:
            request = Request(
                task="route",
                instructions=_INSTRUCTIONS,
                messages=(Message(role="user", text=f"Question: {escaped(session.question)}"),),
                schema=Named,
                subject=session.question,
            )
            value = model.reply(request).value
            assert isinstance(value, Named)
            names = value.names
        except ModelError as error:
            session.note(f"entities by the question's words alone: {error}")
            return
        analysis, known = session.analysis, {seed.row for seed in session.analysis.seeds}
        given = session.views.snapshot, session.resources.store, session.languages
        found = [
            seed
            for name in dict.fromkeys(names)
            for seed in find_seeds(name, *given)
            if seed.key == entity_key(name)
        ]
        new = {seed.row: seed for seed in found if seed.row not in known}
        session.found_analysis = replace(analysis, seeds=(*analysis.seeds, *new.values()))
