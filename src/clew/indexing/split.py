"""Splitting: a document's sections (parents) and chunks (children)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import Protocol

import numpy as np

from clew.errors import InputError
from clew.hookspecs import kind_of, listed, there
from clew.indexing.outline import (
    CHARACTERS_A_TOKEN,
    MEDIA_TYPE,
    Break,
    Cut,
    Outline,
    Trail,
    Unit,
    common_trail,
    date_within,
    dated_sections,
    divide,
    fences,
    headings,
    mark,
    masked,
    meter,
    outline,
    prose_units,
    stripped,
    word_units,
)
from clew.settings import SplitSettings
from clew.types import Chunk, Document, Metadata, Section, Split, Vectors

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

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length. Only the `semantic` strategy asks."""


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

    Where `recursive` is asked, a document that is no prose, such as source code, is cut as its kind
    says; the strategy `code` cuts any document so. A document with pieces has them as its chunks,
    with their keys and metadata, whatever the strategy; one that is too long is divided, and all
    its parts carry its key and metadata. Text between pieces belongs to sections only.

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
        kind = (
            kind_of(document.media_type)
            if settings.strategy == "recursive"
            else next((one for one in listed("kinds") if one.name == settings.strategy), None)
        )
        self._cut: Cut | None = (
            there(kind.cut)(document, self._weigh, self._unit_limit) if kind else None
        )
        has_headings = not self._cut and not document.pieces
        self._headings = headings(self._text, document.media_type) if has_headings else []
        self._dated = [] if self._cut else dated_sections(document)
        self._outline = self._cut.outline if self._cut else outline(self._headings)
        self._contexts: dict[Trail, tuple[str, int]] = {}

    def split(self) -> Split:
        """Sections and chunks; a document that is one chunk costs one count of tokens."""
        whole = self._whole()
        if whole is not None:
            return whole
        units = self._units()
        settings = self._settings
        structured = None if self._cut or settings.strategy == "fixed" else self._outline
        # Under half a chunk says too little by itself.
        groups = (
            _groups(units, structured, settings.section_tokens, settings.chunk_tokens // 2)
            if structured
            else [(0, len(units))]
        )
        spans = [
            (start + a, start + b)
            for start, end in groups
            for a, b in pack(units[start:end], settings.section_tokens)
        ]
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

    # --- the fast path ---

    def _whole(self) -> Split | None:
        """The document as one chunk, where it fits."""
        pages = self._document.page_starts if self._settings.strategy == "page" else ()
        limit = min(self._settings.chunk_tokens, self._room)
        if self._cut and self._cut.always:
            return None  # each definition of source code, say, is a chunk
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
        return Split(
            sections=make_sections(self._text, [start], self._outline),
            chunks=(self._chunk(0, 0, start, end, context),),
        )

    # --- units, by strategy ---

    def _units(self) -> list[Unit]:
        text, limit = self._text, self._unit_limit
        if self._document.pieces:
            found: list[Unit] = []
            for piece in self._document.pieces:
                start, end = stripped(text, piece.start, piece.end)
                whole = divide(text, start, end, self._weigh, limit, Break.PIECE)
                units = list(whole) if start < end else []
                if len(units) > 1:
                    first, *rest = self._prose(start, end)
                    units = [replace(first, strength=Break.PIECE), *rest]
                found += units
            return found
        if self._cut:
            return self._at_pages(list(self._cut.units))
        if self._settings.strategy == "fixed":
            groups = word_units(text, 0, len(text), self._weigh, limit)
            return [replace(unit, strength=Break.WORD) for unit in groups]
        # Sentences and blocks; headings (and pages, where asked) begin units of their own.
        found = []
        borders = self._borders()
        for (start, strength), (end, _) in pairwise([*borders.items(), (len(text), None)]):
            units = self._prose(start, end)
            if units and strength is not None:
                units[0] = replace(units[0], strength=strength)
            found += units
        found = self._at_pages(found)
        is_semantic = self._settings.strategy == "semantic"
        return mark_topics(found, text, self._tokens.embed_documents) if is_semantic else found

    def _prose(self, start: int, end: int) -> list[Unit]:
        limit, language = self._unit_limit, self._language
        return prose_units(self._text, start, end, self._weigh, limit, language)

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
                # Whether what stands before `end` goes on at `start`, on the next page.
                within = (
                    self._text[units[index].start].islower()
                    and self._text[units[index - 1].end - 1] not in ".!?…:"
                )
                strengths[units[index].start] = Break.WORD if within else Break.PAGE
        return mark(units, strengths)

    # --- chunks ---

    def _chunk_ranges(self, units: Sequence[Unit]) -> Iterator[CharRange]:
        """Character ranges of the chunks of one section."""
        trails = self._outline.trails_within(units[0].start, units[-1].end)
        room = self._room - max(self._context(trail)[1] for trail in trails)
        limit = min(self._settings.chunk_tokens, room)

        def fits(first: Unit, last: Unit) -> bool:
            return self._weigh(self._text[first.start : last.end]) <= limit

        always = self._cut.always if self._cut else _ALWAYS.get(self._settings.strategy)
        if self._document.pieces or (self._dated and always is None):
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
        pieces = self._document.pieces
        piece = (
            pieces[bisect_right(pieces, start, key=lambda one: one.start) - 1] if pieces else None
        )
        # An entry of a change log, a journal or minutes has its own.
        date = date_within(self._dated, start, end) if self._dated else None
        own: Metadata = {"date": date.iso} if date else {}
        if context is None:
            # Code says best where it begins; prose may reach over several small headings.
            trail = self._outline.trail(start, start + 1 if self._cut else end)
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
            metadata=piece.metadata if piece else own,
        )

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


# Which units make a section: those under one heading, small next of kin put together.


@dataclass(slots=True)
class _Group:
    """Units that will be one section, or several where they are too many."""

    start: int
    end: int
    weight: int
    common: Trail
    """The headings that all of them lie under."""
    last: Trail

    def is_kin(self, trail: Trail) -> bool:
        """Whether a part under `trail` is a child or a sibling, under the same top heading."""
        if self.last and trail[:1] != self.last[:1]:
            return False
        return trail[: len(self.common)] == self.common or trail[:-1] == self.common[:-1]


def _groups(units: Sequence[Unit], outline: Outline, limit: int, tiny: int) -> list[CharRange]:
    groups: list[_Group] = []
    # The units under each heading: first, one after the last, trail.
    firsts = [bisect_left(units, start, key=lambda unit: unit.start) for start in outline.starts]
    for start, end, trail in [
        (a, b, trail)
        for (a, b), trail in zip(pairwise([*firsts, len(units)]), outline.trails, strict=True)
        if a < b
    ]:
        weight = sum(unit.weight for unit in units[start:end])
        current = groups[-1] if groups else None
        if (
            current
            and current.weight < tiny
            and current.weight + weight <= limit
            and current.is_kin(trail)
        ):
            current.end, current.last = end, trail
            current.weight += weight
            current.common = common_trail([current.common, trail])
        else:
            groups.append(_Group(start, end, weight, trail, trail))
    return [(group.start, group.end) for group in groups]


def make_sections(text: str, starts: Sequence[int], outline: Outline) -> tuple[Section, ...]:
    """Sections that begin at `starts`, stretched over all of the text."""
    if not text:
        return ()
    borders = [0, *starts[1:], len(text)]
    return tuple(
        Section(
            ordinal=i,
            start=start,
            end=end,
            headings=outline.trail(starts[i] if starts else 0, end),
        )
        for i, (start, end) in enumerate(pairwise(borders))
    )


# Putting units together into parts within a limit, split at the best places.


CharRange = tuple[int, int]
"""First unit, and the one after the last."""
Fits = Callable[[Unit, Unit], bool]
"""Whether the text from the first unit to the last is within the limit."""


def pack(
    units: Sequence[Unit],
    limit: int,
    *,
    fits: Fits | None = None,
    overlap: float = 0.0,
    always: Break | None = None,
) -> list[CharRange]:
    """Spans that cover all units in order, each of at most `limit` tokens.

    A span ends at the strongest border that leaves it at least half full; spans are evened out,
    so that no scrap is left at the end. `overlap` (0 to 0.5) is the share of the limit by which
    a span repeats the end of the one before, in whole units and to the nearest unit. A border of
    strength `always` always ends a span. `fits` has the last word where the sum of the
    units' weights comes near the limit, since a tokenizer may see a border otherwise.
    """
    starts = [0]
    if always is not None:
        starts += [i for i in range(1, len(units)) if units[i].strength is always]
    packer = _Packer(units, limit, fits, overlap)
    return [span for a, b in pairwise([*starts, len(units)]) for span in packer.spans(a, b)]


class _Packer:
    def __init__(
        self, units: Sequence[Unit], limit: int, fits: Fits | None, overlap: float
    ) -> None:
        self._units = units
        self._limit = limit
        self._fits = fits
        self._overlap = overlap * limit
        self._totals = list(accumulate((unit.weight for unit in units), initial=0))

    def spans(self, first: int, last: int) -> list[CharRange]:
        """Spans over the units `first` to `last`."""
        found: list[CharRange] = []
        start = done = first
        while done < last:
            start, end = self._longest(start, done, last)
            if end < last:
                remaining = self._weight(start, last)
                goal = remaining / max(2, -(-remaining // self._limit))
                half = bisect_left(self._totals, self._totals[start] + goal / 2)
                end = max(
                    range(min(max(done + 1, half), end), end + 1),
                    key=lambda i: (self._units[i].strength, -abs(self._weight(start, i) - goal)),
                )
            found.append((start, end))
            start, done = self._step_back(start, end), end
        return found

    def _weight(self, start: int, end: int) -> int:
        return self._totals[end] - self._totals[start]

    def _longest(self, start: int, done: int, last: int) -> CharRange:
        """The longest span that begins at `start`, later where it could not reach past `done`."""
        end = bisect_right(self._totals, self._totals[start] + self._limit) - 1
        end = min(max(end, done + 1), last)  # a unit over the limit makes a span of its own
        if not self._within(start, end):
            ends = range(done + 1, end)
            end = done + bisect_left(ends, True, key=lambda e: not self._within(start, e))
            end = max(end, done + 1)
        while not self._within(start, end):
            start += 1
        return start, end

    def _within(self, start: int, end: int) -> bool:
        """One unit is within the limit by itself; each border may shift a token or so."""
        if end - start == 1:
            return True
        weight = self._weight(start, end)
        first, last = self._units[start], self._units[end - 1]
        if self._fits is None:
            return True
        # Blank runs between units weigh nothing but have a length.
        if last.end - first.start > self._limit * CHARACTERS_A_TOKEN:
            return False
        return weight + (end - start) <= self._limit or self._fits(first, last)

    def _step_back(self, start: int, end: int) -> int:
        """Where the span after `[start, end)` begins, so that it repeats about the overlap."""
        best, best_miss = end, self._overlap
        if end >= len(self._units) or not self._overlap:
            return end
        needed = min(self._units[end].strength, Break.SENTENCE)
        for i in range(end - 1, start, -1):
            weight = self._weight(i, end)
            too_much = weight + self._units[end].weight > self._limit
            if too_much or self._units[i + 1].strength >= Break.HEADING:
                break
            if weight - self._overlap >= best_miss:
                break
            miss = abs(weight - self._overlap)
            if self._units[i].strength >= needed and miss < best_miss:
                best, best_miss = i, miss
        return best


# Documents that come ready split.


def check_pieces(document: Document) -> None:
    """Raise `InputError` where pieces overlap, are out of order, or do not fit the text."""
    at = 0
    for piece in document.pieces:
        if not at <= piece.start <= piece.end <= len(document.text):
            raise InputError(
                f"piece {piece.key!r} of {document.source!r} is [{piece.start}, {piece.end}):"
                f" expected a range within [{at}, {len(document.text)}), after the piece before it;"
                " give pieces in order, in code points, without overlap"
            )
        at = piece.end


# Where the topic turns: adjacent sentences whose embeddings differ more than most do.


_PERCENTILE = 20.0
"""The share of borders, least similar first, that are turns of topic."""
_REACH = 1
"""Neighbours on either side that are embedded with a sentence; one alone says too little."""
_FEWEST = 4
"""With fewer sentences there is no saying what is usual."""


def mark_topics(
    units: Sequence[Unit], text: str, embed_documents: Callable[[Sequence[str]], Vectors]
) -> list[Unit]:
    """The units, with `Break.TOPIC` where similarity drops to the lowest fifth of the document's.

    Borders that are stronger than a sentence's already (headings, pages) keep their strength.
    """
    if len(units) < _FEWEST:
        return list(units)
    last = len(units) - 1
    vectors = embed_documents(
        [
            text[units[max(0, i - _REACH)].start : units[min(last, i + _REACH)].end]
            for i in range(len(units))
        ]
    )
    # Rounded: what differs by less is no turn.
    similarities = np.einsum("ij,ij->i", vectors[:-1], vectors[1:]).round(3)
    padded = np.pad(similarities, 1, constant_values=similarities.max())
    # Only the lowest point of a slope: a topic is more than one sentence.
    lowest = (similarities < padded[:-2]) & (similarities <= padded[2:])
    low = similarities <= np.percentile(similarities, _PERCENTILE)
    turns = [units[i + 1] for i in np.flatnonzero(lowest & low).tolist()]
    return mark(
        units,
        {u.start: Break.TOPIC for u in turns if Break.SENTENCE <= u.strength < Break.TOPIC},
    )


# Context without a language model: what a passage belongs to, in a few words.


SEPARATOR = " › "


def context_of(document: Document, headings: Sequence[str]) -> str:
    """The document's title and the trail of headings, joined by " › ".

    A heading that repeats the title or the heading before it is left out, whatever its case and
    spacing. Empty where there is neither title nor heading.
    """
    return SEPARATOR.join(_parts_contextualise(document, headings))


def fitted_context(
    document: Document, headings: Sequence[str], weigh: Callable[[str], int], room: int
) -> tuple[str, int]:
    """`context_of` within `room` tokens, its line break counted, and the tokens to set aside.

    Too long a context loses its middle headings first, the outer ones before the inner, then its
    last words. Any shorter trail of the same document needs no more tokens than are set aside.
    """
    parts = _parts_contextualise(document, headings)

    def tokens(context: str) -> int:
        return weigh(f"{context}\n") + 1 if context else 0

    needed = tokens(SEPARATOR.join(parts))
    if needed <= room:
        return SEPARATOR.join(parts), needed
    while len(parts) > 2 and tokens(SEPARATOR.join(parts)) > room:
        del parts[1]
    # As many words as there is room for; of a single one, as much of it.
    context = SEPARATOR.join(parts)[: room * CHARACTERS_A_TOKEN]
    lengths = range(1, len(context) + 1)
    cut = bisect_right(lengths, room, key=lambda length: tokens(context[:length]))
    kept = context[:cut]
    if cut < len(context) and " " in kept and not context[cut].isspace():
        kept = kept.rsplit(" ", 1)[0]
    return kept.rstrip(" ›"), room


def _parts_contextualise(document: Document, headings: Sequence[str]) -> list[str]:
    parts: list[str] = []
    title = " ".join(document.title.split())
    for part in (title, *headings):
        label = " ".join(part.split())
        repeated = bool(parts) and label.casefold() in {title.casefold(), parts[-1].casefold()}
        if label and not repeated:
            parts.append(label)
    return parts


# What of a document is prose: names and relations are read from nothing else.
#
# Code blocks, drawings of characters and leader lines keep their place in chunks and can be found;
# for extraction a sign that is part of no word stands for each of their characters, so that every
# offset stays.


_SIGN = "\u2591"
_VISIBLE = re.compile(r"\S")
_RST = "text/x-rst"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_DIRECTIVES = (".. code::", ".. code-block::", ".. sourcecode::", ".. parsed-literal::")
_DRAWN = re.compile(r"[\u2500-\u259f]|[-=]{2}>|<[-=]{2}|[+|][-=]{3}|[-=]{3}[+|]|\.{4}|\. \. \. \. ")
_DRAWN_SHARE = 0.4
"""Of the visible characters of a drawn line neither letters nor digits, at least."""
_SHORTEST = 5
"""Visible characters of a line that is drawn, at least."""


def as_prose(document: Document, chunks: Sequence[Chunk]) -> tuple[Document, Sequence[Chunk]]:
    """The document and its chunks as readers see them, with signs in place of what is no prose.

    What is no prose keeps its own: its kind reads its names.
    """
    text = masked(document.text) if document.media_type == MEDIA_TYPE else document.text
    if not kind_of(document.media_type):
        shown, at = [], 0
        for start, end in code_ranges(text, document.media_type):
            shown += [text[at:start], _VISIBLE.sub(_SIGN, text[max(at, start) : end])]
            at = max(at, end)
        text = "".join([*shown, text[at:]])
    if text == document.text:
        return document, chunks
    parts = [replace(chunk, text=text[chunk.start : chunk.end]) for chunk in chunks]
    return replace(document, text=text), parts


def code_ranges(text: str, media_type: str) -> list[tuple[int, int]]:
    """Ranges of code blocks, sessions and drawings, in order; some may overlap.

    Tables drawn with bars are none, nor are headings with their underlines.
    """
    lines = [match.span() for match in _LINE.finditer(text)]
    found = [*_literal_blocks(text, lines)] if media_type == _RST else fences(text)
    kept = {heading.start for heading in headings(text, media_type)}
    # Lines that follow each other without a blank one between them.
    for is_blank, block in groupby(lines, key=lambda line: text[line[0] : line[1]].isspace()):
        (start, end), *rest = block
        end = rest[-1][1] if rest else end
        if not is_blank and start not in kept and _is_no_prose(text[start:end]):
            found.append((start, end))
    return sorted(found)


def _is_no_prose(block: str) -> bool:
    lines = block.strip().split("\n")
    if lines[0].startswith((">>> ", "$ ")):
        return True
    if all(line.lstrip().startswith(("|", "+")) for line in lines) and not any(
        sign in line for line in lines for sign in ("->", "<-", "+ ")
    ):
        return False
    drawn = 0
    for line in lines:
        visible = "".join(line.split())
        if len(visible) >= _SHORTEST and _DRAWN.search(line):
            drawn += sum(not c.isalnum() for c in visible) >= _DRAWN_SHARE * len(visible)
    return drawn >= 2 and 2 * drawn >= len(lines)


def _literal_blocks(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is indented below a paragraph that ends with `::`, or below a directive of code."""
    above: int | None = None
    for start, end in lines:
        line = text[start:end].rstrip()
        indent = len(line) - len(line.lstrip())
        if above is not None and line:
            if indent > above:
                yield start, end
                continue
            above = None
        if line.endswith("::") or line.lstrip().startswith(_DIRECTIVES):
            above = indent
