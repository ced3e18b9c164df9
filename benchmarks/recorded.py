"""What a language model once found in texts, played back: the same code runs, nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import ReplyError
from clew.ports import Reply
from clew.text import sentences
from clew.types import Usage
from clew.untrusted import escaped

if TYPE_CHECKING:
    from clew.ports import Request

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedExtraction:
    """What a model found in one text."""

    entities: Sequence[tuple[str, str]] = ()
    """(name, type)"""
    facts: Sequence[tuple[str, str, str, str]] = ()
    """(head, relation, tail, quotation)"""
    missed: Sequence[tuple[str, str, str, str]] = ()
    """Facts that the model listed in a second round, `llm.gleaning`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedDescription:
    """What a model said of one text."""

    title: str = ""
    statements: Sequence[tuple[str, str]] = ()
    """(quotation, statement)"""


class RecordedLanguageModel:
    """Implements `clew.ports.LanguageModel` for extraction and descriptions.

    A text is known by its own words, between the delimiters that requests put around it; the
    reply to several is that to each of them together. A token is four characters.

    Args:
        found: Names and facts, by text.
        described: What was said of a text; in a description's request, texts without a record
            are passed over, such as what was said of parts.
        name: Identity.

    Raises `ReplyError` for a passage to extract from that was not recorded, and for a
    description none of whose texts was.
    """

    def __init__(
        self,
        found: Mapping[str, RecordedExtraction],
        described: Mapping[str, RecordedDescription] | None = None,
        *,
        name: str = "recorded",
    ) -> None:
        self._found = {_key(text): record for text, record in found.items()}
        self._described = {_key(text): record for text, record in (described or {}).items()}
        self._name = name
        self.calls = 0
        """How often it was asked."""

    @property
    def name(self) -> str:
        """`recorded` unless another was given."""
        return self._name

    def reply(self, request: Request) -> Reply:
        """What was found in, or said of, all texts of the request."""
        self.calls += 1
        prompt = "\n".join(message.text for message in request.messages)
        say = self._describe if request.task == "summarise" else self._extract
        text = json.dumps(say(_blocks(prompt)), ensure_ascii=False)
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

    def _extract(self, blocks: Sequence[tuple[str, str]]) -> dict[str, object]:
        # Beside its passages, a second round shows what the first one found.
        is_second = any(part for part, _ in blocks)
        records = [self._record(text) for part, text in blocks if not part]
        names = [] if is_second else [name for record in records for name in record.entities]
        facts = [f for record in records for f in (record.missed if is_second else record.facts)]
        return {
            "entities": [{"name": name, "type": type_} for name, type_ in names],
            "facts": [
                {"quote": quote, "head": head, "relation": relation, "tail": tail}
                for head, relation, tail, quote in facts
            ],
        }

    def _record(self, text: str) -> RecordedExtraction:
        record = self._found.get(_key(text))
        if record is None:
            raise ReplyError(f"{self._name} has no record of {text[:60]!r}", "empty")
        return record

    def _describe(self, blocks: Sequence[tuple[str, str]]) -> dict[str, object]:
        known = [self._described.get(_key(text)) for _, text in blocks]
        records = [record for record in known if record is not None]
        if not records:
            raise ReplyError(f"{self._name} has no record of {blocks[0][1][:60]!r}", "empty")
        said = [statement for record in records for statement in record.statements]
        return {
            "title": records[0].title,
            "statements": [{"quote": quote, "text": text} for quote, text in said],
        }


def _key(text: str) -> str:
    return escaped(text).strip()


def _blocks(prompt: str) -> list[tuple[str, str]]:
    """What each block is, where it is no passage, and its text, which holds no delimiter."""
    opened = (block.partition(">\n") for block in prompt.split("<document")[1:])
    return [
        (_part(attributes), text.partition("\n</document>")[0]) for attributes, _, text in opened
    ]


def _part(attributes: str) -> str:
    return attributes.partition(' part="')[2].partition('"')[0]


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
