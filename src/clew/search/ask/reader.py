"""Reading a reply while it is written: what is checked already is told at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json

from clew.search.ask.check import check_statement, find_quotations
from clew.search.ask.prompt import MOST_STATEMENTS, Quote, Stated
from clew.types.answers import CLOSING, OPENING, statement_text

if TYPE_CHECKING:
    from clew.search.ask.prompt import AnswerReply
    from clew.types import Hit
    from clew.types.answers import AnswerStatement, Quotation

Tell = Callable[[str], None]
"""Called with each piece of the answer."""


class ReplyReader:
    """Tells the statements of a reply as far as they are written.

    The words of a statement are told as they come once a quotation of it was found; a statement
    without one is never told.
    """

    def __init__(self, question: str, hits: Sequence[Hit], tell: Tell) -> None:
        self._question, self._hits, self._tell = question, hits, tell
        self._passages = {number: hit.chunk.text for number, hit in enumerate(hits, start=1)}
        self._written = ""
        self._whole: list[AnswerStatement] = []
        self._told = ""
        """Of the statement under way."""

    def feed(self, piece: str) -> None:
        """Read on; text that is no JSON yet, or never will be, is passed over."""
        self._written += piece
        begin = self._written.find("{")
        if begin < 0:
            return
        try:
            value = from_json(self._written[begin:], allow_partial="trailing-strings")
        except ValueError:
            return
        stated = value.get("statements") if isinstance(value, dict) else None
        if not isinstance(stated, list):
            return
        for place, statement in enumerate(stated[:MOST_STATEMENTS]):
            if place >= len(self._whole):
                self._go_on(statement, done=place < len(stated) - 1)

    def finish(self, reply: AnswerReply) -> tuple[AnswerStatement, ...]:
        """All statements, the last ones told."""
        for stated in reply.statements[len(self._whole) :]:
            self._end(stated)
        return tuple(self._whole)

    def broken_off(self) -> tuple[AnswerStatement, ...]:
        """The statements that were whole, where no more of the reply comes."""
        if self._told:
            self._tell("… ")
        return tuple(self._whole)

    def _go_on(self, statement: Any, *, done: bool) -> None:  # noqa: ANN401 - JSON
        """Tell what is new of a statement; it is `done` once the next one begins."""
        try:
            if done:
                self._end(Stated.model_validate(statement))
                return
            quotes = [Quote.model_validate(quote) for quote in statement["quotes"]]
            text = str(statement["statement"])
        except (ValidationError, KeyError, TypeError):
            return
        if find_quotations(quotes, self._hits):
            self._tell_up_to(statement_text(_settled(text)))

    def _end(self, stated: Stated) -> None:
        quotations: tuple[Quotation, ...] = find_quotations(stated.quotes, self._hits)
        checked = check_statement(stated.statement, quotations, self._question, self._passages)
        self._whole.append(checked)
        if quotations:
            self._tell_up_to(checked.marked)
            self._tell(" ")
        self._told = ""

    def _tell_up_to(self, text: str) -> None:
        if text.startswith(self._told) and len(text) > len(self._told):
            self._tell(text[len(self._told) :])
            self._told = text


def _settled(text: str) -> str:
    """What more words will not change: neither the last word, nor what may become a citation."""
    whole = text.rpartition(" ")[0]
    opened, closed = (max(map(whole.rfind, marks)) for marks in (OPENING, CLOSING))
    return whole if closed >= opened else whole[:opened]
