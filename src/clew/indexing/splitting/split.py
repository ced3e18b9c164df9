"""Splitting: a document's sections (parents) and chunks (children)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from clew.indexing.contextualise import context_of, fitted_context
from clew.indexing.markdown import MEDIA_TYPE, masked
from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.splitting.code_definitions import source_outline, source_units
from clew.indexing.splitting.dated_sections import date_within, dated_sections
from clew.indexing.splitting.outline import Heading, Outline, Trail, headings, outline
from clew.indexing.splitting.pack import CharRange, pack
from clew.indexing.splitting.pieces import check_pieces
from clew.indexing.splitting.sections import make_sections, section_spans
from clew.indexing.splitting.units import (
    CHARACTERS_A_TOKEN,
    Break,
    Unit,
    divide,
    mark,
    meter,
    prose_units,
    stripped,
    word_units,
)
from clew.indexing.syntax.parse import syntax_of
from clew.settings import SplitSettings
from clew.types import Chunk, Document, Metadata, Piece, Split

if TYPE_CHECKING:
    from clew.types import Vectors

_TELLING = re.compile(r"[^\W_]")
"""A letter or a digit."""
_SPECIAL_TOKENS = 2
"""What the embedder puts around a text."""
_CONTEXT_SHARE = 4
"""A context takes at most this part (a quarter) of what the embedder reads."""

_ALWAYS: Mapping[str, Break] = {"page": Break.PAGE, "semantic": Break.TOPIC}
"""Borders that end a chunk however short it is, by strategy."""


class Tokens(Protocol):
    """What splitting needs of an embedder."""

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length. Only the `semantic` strategy asks."""
        ...


def split(document: Document, settings: SplitSettings, tokens: Tokens) -> Split:
    """A document's sections and chunks, as `settings` say; sizes are tokens of `tokens`.

    Sections partition the text: contiguous, from 0 to its end, at most `section_tokens` each. A
    heading begins a new one unless the one before is tiny and next of kin. Text without a visible
    character has one section and no chunk; no text has neither.

    Chunks lie within one section, have at most `chunk_tokens` and, with their context, at most
    what the embedder reads; together they hold every letter and digit. A passage without any, such
    as a long rule or a table of empty cells, is left out unless it is all there is. A context over
    a quarter of what the embedder reads loses its middle headings first, then its last words.
    Overlap repeats whole sentences, lines or groups of words, never part of a word; it never
    reaches across a heading, a page (strategy `page`) or a turn of topic (`semantic`).

    Entries of a change log, a journal or minutes that have dates of their own are apart, and their
    chunks carry the date (`date` in their metadata).

    Source code is split by the strategy `code` where `recursive` is asked: functions and classes
    are the chunks where its language has a grammar, else lines that look like definitions begin
    them. A document with pieces
    has them as its chunks, with their keys and metadata, whatever the strategy; one that is too
    long is divided, and all its parts carry its key and metadata. Text between pieces belongs to
    sections only.

    A run without spaces that is over the limit is cut between two characters. Raises `InputError`
    where pieces overlap, are out of order or out of range, or do not fit the text.
    """
    if not document.text or document.text.isspace():
        return Split(sections=make_sections(document.text, [], Outline((0,), ((),))), chunks=())
    check_pieces(document)
    return _Splitter(document, settings, tokens).split()


class _Splitter:
    """One document on its way."""

    def __init__(self, document: Document, settings: SplitSettings, tokens: Tokens) -> None:
        self._document = document
        self._text = document.text
        self._language = document.language
        self._masked = masked(self._text) if document.media_type == MEDIA_TYPE else self._text
        self._settings = settings
        self._tokens = tokens
        self._weigh = meter(tokens.count_tokens)
        self._room = max(1, tokens.max_tokens - _SPECIAL_TOKENS)
        self._context_room = self._room // _CONTEXT_SHARE
        # Whatever its context, a unit of this size has room in a chunk.
        self._unit_limit = max(1, min(settings.chunk_tokens, self._room - self._context_room))
        self._is_code = settings.strategy == "code" or (
            settings.strategy == "recursive" and is_code(document.media_type)
        )
        self._syntax = syntax_of(document) if self._is_code and not document.pieces else None
        self._headings = self._find_headings()
        self._dated = [] if self._is_code else dated_sections(document)
        self._outline = (
            source_outline(self._text, self._syntax) if self._is_code else outline(self._headings)
        )
        self._contexts: dict[Trail, tuple[str, int]] = {}

    def split(self) -> Split:
        """Sections and chunks; a document that is one chunk costs one count of tokens."""
        whole = self._whole()
        if whole is not None:
            return whole
        units = self._units()
        settings = self._settings
        structured = None if self._is_code or settings.strategy == "fixed" else self._outline
        # Under half a chunk says too little by itself.
        spans = section_spans(
            units, structured, settings.section_tokens, tiny=settings.chunk_tokens // 2
        )
        ranges = [
            (section, start, end)
            for section, (a, b) in enumerate(spans)
            for start, end in self._chunk_ranges(units[a:b])
        ]
        if not self._document.pieces:
            ranges = [r for r in ranges if _TELLING.search(self._text, *r[1:])] or ranges[:1]
        return Split(
            sections=make_sections(self._text, [units[a].start for a, _ in spans], self._outline),
            chunks=tuple(self._chunk(i, *place) for i, place in enumerate(ranges)),
        )

    def _find_headings(self) -> list[Heading]:
        if self._is_code or self._document.pieces:
            return []
        return headings(self._text, self._document.media_type)

    # --- the fast path ---

    def _whole(self) -> Split | None:
        """The document as one chunk, where it fits."""
        pages = self._document.page_starts if self._settings.strategy == "page" else ()
        limit = min(self._settings.chunk_tokens, self._room)
        if self._syntax and len(self._outline.trails) > 1:
            return None  # each definition is a chunk
        if self._dated and self._settings.strategy != "fixed":
            return None  # and each entry of a journal
        if self._document.pieces or len(pages) > 1 or len(self._text) > limit * CHARACTERS_A_TOKEN:
            return None
        start, end = stripped(self._text, 0, len(self._text))
        trail = self._outline.trail(start, end)
        context = context_of(self._document, trail)
        if len(context) > self._context_room:
            context = self._context(trail)[0]
        if self._weigh(f"{context}\n{self._text}") > limit:
            return None
        chunk = self._chunk(0, 0, start, end, context)
        return Split(sections=make_sections(self._text, [start], self._outline), chunks=(chunk,))

    # --- units, by strategy ---

    def _units(self) -> list[Unit]:
        text, limit = self._text, self._unit_limit
        if self._document.pieces:
            return self._piece_units()
        if self._is_code:
            return self._at_pages(source_units(text, self._syntax, self._weigh, limit))
        if self._settings.strategy == "fixed":
            return self._fixed_units()
        units = self._at_pages(self._prose_units())
        if self._settings.strategy == "semantic":
            from clew.indexing.splitting.semantic import mark_topics

            return mark_topics(units, text, self._tokens.embed_documents)
        return units

    def _piece_units(self) -> list[Unit]:
        found: list[Unit] = []
        for piece in self._document.pieces:
            start, end = stripped(self._text, piece.start, piece.end)
            if start == end:
                continue
            units = list(divide(self._text, start, end, self._weigh, self._unit_limit, Break.PIECE))
            if len(units) > 1:
                first, *rest = self._prose(start, end)
                units = [replace(first, strength=Break.PIECE), *rest]
            found += units
        return found

    def _fixed_units(self) -> list[Unit]:
        units = word_units(self._text, 0, len(self._text), self._weigh, self._unit_limit)
        return [replace(unit, strength=Break.WORD) for unit in units]

    def _prose(self, start: int, end: int) -> list[Unit]:
        limit, language = self._unit_limit, self._language
        return prose_units(self._text, start, end, self._weigh, limit, language)

    def _prose_units(self) -> list[Unit]:
        """Sentences and blocks; headings (and pages, where asked) begin units of their own."""
        found: list[Unit] = []
        borders = self._borders()
        for (start, strength), (end, _) in pairwise([*borders.items(), (len(self._text), None)]):
            units = self._prose(start, end)
            if units and strength is not None:
                units[0] = replace(units[0], strength=strength)
            found += units
        return found

    def _borders(self) -> dict[int, Break | None]:
        """Where sentences end whatever they say, in order, and how strongly."""
        borders: dict[int, Break | None] = {0: None}
        for heading in self._headings:
            borders[heading.end] = Break.GLUE
            borders[heading.start] = Break.HEADING
        for one, other in pairwise(self._dated):
            if one.date != other.date:
                borders[other.start] = Break.PIECE
        if self._settings.strategy == "page":
            for start in self._document.page_starts:
                borders[start] = Break.PAGE
        return dict(sorted(borders.items()))

    def _at_pages(self, units: list[Unit]) -> list[Unit]:
        """The units, those that open a page with a border that says so."""
        strengths = {}
        for start in self._document.page_starts:
            index = bisect_left(units, start, key=lambda unit: unit.start)
            if 0 < index < len(units) and units[index].strength < Break.PAGE:
                within = self._is_within_sentence(units[index - 1].end, units[index].start)
                strengths[units[index].start] = Break.WORD if within else Break.PAGE
        return mark(units, strengths)

    def _is_within_sentence(self, end: int, start: int) -> bool:
        """Whether what stands before `end` goes on at `start`, on the next page."""
        return self._text[start].islower() and self._text[end - 1] not in ".!?…:"

    # --- chunks ---

    def _chunk_ranges(self, units: Sequence[Unit]) -> Iterator[CharRange]:
        """Character ranges of the chunks of one section."""
        trails = self._outline.trails_within(units[0].start, units[-1].end)
        room = self._room - max(self._context(trail)[1] for trail in trails)
        limit = min(self._settings.chunk_tokens, room)

        def fits(first: Unit, last: Unit) -> bool:
            return self._weigh(self._text[first.start : last.end]) <= limit

        always = _ALWAYS.get(self._settings.strategy)
        if self._document.pieces or self._syntax:
            always = Break.PIECE if self._document.pieces else Break.HEADING
        elif self._dated and always is None:
            always = Break.PIECE
        overlap = self._settings.overlap
        for a, b in pack(units, limit, fits=fits, overlap=overlap, always=always):
            yield units[a].start, units[b - 1].end

    def _chunk(
        self, ordinal: int, section: int, start: int, end: int, context: str | None = None
    ) -> Chunk:
        pages = self._document.page_starts
        on = bisect_right(pages, start)
        further = pages[on : bisect_left(pages, end)]
        piece = self._piece_at(start)
        if context is None:
            # Code says best where it begins; prose may reach over several small headings.
            trail = self._outline.trail(start, start + 1 if self._is_code else end)
            context = self._context(trail)[0]
        return Chunk(
            ordinal=ordinal,
            section=section,
            start=start,
            end=end,
            text=self._text[start:end],
            masked="" if self._masked is self._text else self._masked[start:end],
            context=context,
            page=max(1, on) if pages else None,
            page_starts=tuple((at, number) for number, at in enumerate(further, on + 1)),
            key=piece.key if piece else None,
            metadata=piece.metadata if piece else self._own_date(start, end),
        )

    def _own_date(self, start: int, end: int) -> Metadata:
        """The date of an entry of a change log, a journal or minutes."""
        date = date_within(self._dated, start, end) if self._dated else None
        return {"date": date.iso} if date else {}

    def _piece_at(self, start: int) -> Piece | None:
        pieces = self._document.pieces
        if not pieces:
            return None
        return pieces[bisect_right(pieces, start, key=lambda piece: piece.start) - 1]

    # --- context ---

    def _context(self, trail: Trail) -> tuple[str, int]:
        """The context under a trail of headings, cut to its room, and the tokens to set aside.

        Any shorter trail takes no more of them.
        """
        if trail not in self._contexts:
            self._contexts[trail] = fitted_context(
                self._document, trail, self._weigh, self._context_room
            )
        return self._contexts[trail]
