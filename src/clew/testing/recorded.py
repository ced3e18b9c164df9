"""What a language model once found in texts, played back: the same code runs, nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import ReplyError
from clew.ports.language_model import Reply, Usage
from clew.sentences import sentences
from clew.untrusted import escaped

if TYPE_CHECKING:
    from clew.ports.language_model import Request

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedExtraction:
    """What a model found in one text."""

    entities: Sequence[tuple[str, str]] = ()
    """(name, type)"""
    facts: Sequence[tuple[str, str, str, str]] = ()
    """(head, relation, tail, quotation)"""


class RecordedLanguageModel:
    """Implements `clew.ports.language_model.LanguageModel` for requests to extract.

    A text is known by its own words, between the delimiters that requests put around it; the
    reply to several is that to each of them together. A token is four characters.

    Args:
        found: What was found, by text.
        name: Identity.

    Raises `ReplyError` for a text that was not recorded.
    """

    def __init__(self, found: Mapping[str, RecordedExtraction], *, name: str = "recorded") -> None:
        self._found = {escaped(text).strip(): record for text, record in found.items()}
        self._name = name
        self.calls = 0
        """How often it was asked."""

    @property
    def name(self) -> str:
        """`recorded` unless another was given."""
        return self._name

    def reply(self, request: Request) -> Reply:
        """What was found in all texts of the request."""
        self.calls += 1
        prompt = "\n".join(message.text for message in request.messages)
        records = [self._record(text) for text in _blocks(prompt)]
        answer = {
            "entities": [{"name": n, "type": t} for r in records for n, t in r.entities],
            "facts": [
                {"quote": quote, "head": head, "relation": relation, "tail": tail}
                for record in records
                for head, relation, tail, quote in record.facts
            ],
        }
        text = json.dumps(answer, ensure_ascii=False)
        usage = Usage(
            input_tokens=(len(prompt) + len(request.instructions)) // _CHARACTERS_A_TOKEN,
            output_tokens=len(text) // _CHARACTERS_A_TOKEN,
        )
        return Reply(text=text, finish="stop", model=self._name, usage=usage)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The same, in one piece."""
        reply = self.reply(request)
        yield reply.text
        yield reply

    def _record(self, text: str) -> RecordedExtraction:
        record = self._found.get(text.strip())
        if record is None:
            raise ReplyError(f"{self._name} has no record of {text[:60]!r}", "empty")
        return record


def _blocks(prompt: str) -> list[str]:
    """The texts between delimiters, which no text holds itself."""
    opened = (part.partition(">\n")[2] for part in prompt.split("<document")[1:])
    return [part.partition("\n</document>")[0] for part in opened]


def quotation_of(text: str, head: str, tail: str) -> str:
    """The sentence that a fact without a quotation is most likely from.

    The first one that names both ends, else where it leads to, else where it comes from; empty
    where the text names neither.
    """
    found = [text[start:end] for start, end in sentences(text)]
    for wanted in ((head, tail), (tail,), (head,)):
        for sentence in found:
            if all(name.casefold() in sentence.casefold() for name in wanted):
                return sentence
    return ""
