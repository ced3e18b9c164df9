"""What a context is made of (passages, reports, paths, neighbourhoods), put together for a reader.

The parts are numbered, whole where possible, within a token budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from clew.search.channels import RRF_K
from clew.text import one_line, question_terms, quoted, terms
from clew.types import Citation, Context, ContextPart, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.search.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Hit, PartKind, StoredChunk, StoredSection


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """One way to write a part down, and where what it says comes from."""

    text: str
    citations: tuple[Citation, ...]
    """Their numbers are given when the part has found its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A part of the context."""

    heading: str
    """Of a part that cites nothing, and so has no number, in Clew's own words alone."""
    forms: tuple[Form, ...]
    """The fullest first; the first that fits is taken."""
    kind: PartKind = "passage"
    group: str = ""
    """Heading above the first part of this group; parts of one group stand together."""
    place: float = 0.0
    """Parts are chosen in the order given and then stand in order of their places."""


def by_section(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """A block for each section in the order of its best hit: the whole of it, else that hit."""
    return [block for _, _, block in sections_found(session, hits)]


def sections_found(
    session: QuerySession, hits: Sequence[Hit]
) -> Iterator[tuple[StoredSection, StoredChunk, Block]]:
    """Each section with its best hit and its block, in the order of that hit.

    A section that holds a passage which a filter forbids comes as one block for each of its hits.
    """
    chunks: dict[int, list[StoredChunk]] = {}
    for hit in hits:
        chunks.setdefault(hit.chunk.section_id, []).append(hit.chunk)
    sections = session.sections(list(chunks))
    shown: Mapping[int, bool] = {}
    if session.allowed is not None:
        ids = dict.fromkeys(section.document_id for section in sections)
        shown = _sections_shown(session, *ids)
    for section in sections:
        found = chunks[section.id]
        if session.allowed is None or shown.get(section.id, False):
            yield section, found[0], section_block(section, found)
        else:
            for chunk in found:
                yield section, chunk, passage_block(chunk, headings=section.headings)


def document_sections(session: QuerySession, *document_ids: str) -> list[StoredSection]:
    """Sections of the documents, in order, with at least one allowed passage."""
    sections = session.resources.store.document_sections(*document_ids)
    if session.allowed is None:
        return sections
    shown = _sections_shown(session, *document_ids)
    return [section for section in sections if section.id in shown]


def _sections_shown(session: QuerySession, *document_ids: str) -> dict[int, bool]:
    """By id of each section with an allowed passage: whether all its passages are allowed."""
    chunks = session.resources.store.document_chunks(*document_ids)
    allowed = session.allows(np.array([chunk.id for chunk in chunks], dtype=np.int64))
    inside: dict[int, list[bool]] = {}
    for chunk, let in zip(chunks, allowed.tolist(), strict=True):
        inside.setdefault(chunk.section_id, []).append(let)
    return {section: all(let) for section, let in inside.items() if any(let)}


def section_block(section: StoredSection, found: Sequence[StoredChunk]) -> Block:
    """A section, or the best (the first) of the chunks found in it."""
    best = found[0]
    inside = [chunk for chunk in found if section.start <= chunk.start and chunk.end <= section.end]
    whole = cite(best, inside, section.start, section.end)
    forms = [Form(text=section.text.strip(), citations=(whole,))]
    if (alone := best.text.strip()) != forms[0].text:
        forms.append(Form(text=alone, citations=(cite(best, [best], best.start, best.end),)))
    return Block(heading=trail(best, section.headings), forms=tuple(forms))


def passage_block(chunk: StoredChunk, *, headings: Sequence[str] = ()) -> Block:
    """A passage alone."""
    citation = cite(chunk, [chunk], chunk.start, chunk.end)
    form = Form(text=chunk.text.strip(), citations=(citation,))
    return Block(heading=trail(chunk, headings), forms=(form,))


def cite(chunk: StoredChunk, covered: Sequence[StoredChunk], start: int, end: int) -> Citation:
    """A source without its number: a range of the chunk's document and the chunks in it."""
    return Citation(
        number=0,
        chunk_ids=tuple(c.public_id for c in covered),
        title=chunk.title,
        source=chunk.source,
        page=chunk.page,
        start=start,
        end=end,
    )


def cite_chunks(chunks: Sequence[StoredChunk]) -> tuple[Citation, ...]:
    """A source for each chunk, each once."""
    distinct = {chunk.id: chunk for chunk in chunks}.values()
    return tuple(cite(chunk, [chunk], chunk.start, chunk.end) for chunk in distinct)


def trail(chunk: StoredChunk, headings: Sequence[str] = ()) -> str:
    """Title (or source), which version where it is an earlier one, and headings."""
    remark = f" ({chunk.remark})" if chunk.remark else ""
    return " › ".join(dict.fromkeys([f"{chunk.title or chunk.source}{remark}", *headings]))


def statement(head: str, relation: str, tail: str, sentence: str = "") -> str:
    """A relation on one line, with the sentence that states it."""
    said = f": “{sentence}”" if sentence else ""
    return one_line(f"{head} — {relation} → {tail}{said}")


# --- put together ------------------------------------------------------------------------

GIVE_UP_AFTER = 3
"""Parts in a row that do not fit before the rest is left out unseen."""
LEAST = 40
"""Characters of a part that are shown where it is cut, at least."""
_MEASURED = 999
"""Number that parts are measured with, before they have their own."""
BREAK_TOKENS = 2
"""What the empty line between two parts costs, at most."""


class _Chosen(NamedTuple):
    block: Block
    form: Form
    body: str
    """Its heading and its text, without the number."""
    tokens: int
    """What it costs in its place, at most."""
    is_cut: bool = False


def assemble(
    blocks: Sequence[Block],
    max_tokens: int,
    count_tokens: Callable[[str], int],
    tokenizer: str = "",
) -> Context:
    """As many blocks as fit, chosen in the order given, each in the first of its forms that fits.

    Those that fit in none are left out and counted; of the first block, which is the best, as much
    is kept as fits. `tokens` never exceeds `max_tokens`.

    A part is a line of its heading, `[1] Title`, and its text, every line of it quoted; parts stand
    apart by an empty line. So no text can pass for the end of its part or for another part.
    """
    chosen, tokens = _choose(blocks, max_tokens, count_tokens)
    chosen.sort(key=lambda part: part.block.place)
    parts, groups, number = [], {""}, 0
    for block, form, body, used, _ in chosen:
        number += bool(form.citations)
        text = _numbered(form, body, number)
        if block.group not in groups:  # the first part of a group stands under its heading
            groups.add(block.group)
            text = f"{_group_heading(block)}\n\n{text}"
        citations = tuple(replace(citation, number=number) for citation in form.citations)
        parts.append(ContextPart(kind=block.kind, text=text, tokens=used, citations=citations))
    return Context(
        text="\n\n".join(part.text for part in parts),
        citations=tuple(citation for part in parts for citation in part.citations),
        tokens=tokens,
        left_out=len(blocks) - len(chosen),
        tokenizer=tokenizer,
        parts=tuple(parts),
        is_cut=any(part.is_cut for part in chosen),
    )


def _choose(
    blocks: Sequence[Block], max_tokens: int, count_tokens: Callable[[str], int]
) -> tuple[list[_Chosen], int]:
    chosen: list[_Chosen] = []
    groups = {""}
    tokens = misses = 0
    for block in blocks:
        if misses >= GIVE_UP_AFTER:
            break
        heading = 0
        if block.group not in groups:
            heading = count_tokens(_group_heading(block)) + BREAK_TOKENS
        for form in block.forms:
            body = _render(block, form)
            cost = heading + count_tokens(_numbered(form, body, _MEASURED))
            cost += BREAK_TOKENS if chosen else 0
            if tokens + cost <= max_tokens:
                chosen.append(_Chosen(block, form, body, cost))
                groups.add(block.group)
                tokens += cost
                misses = 0
                break
        else:
            misses += 1
            if block is blocks[0] and (cut := _cut(block, max_tokens - heading, count_tokens)):
                chosen.append(cut._replace(tokens=heading + cut.tokens))
                groups.add(block.group)
                tokens += heading + cut.tokens
    return chosen, tokens


def _cut(block: Block, room: int, count_tokens: Callable[[str], int]) -> _Chosen | None:
    """The longest beginning of a block that fits, found by halving; None for less than a line."""
    form = block.forms[-1]
    low, high = LEAST - 1, len(form.text) - 1
    best = None
    while low < high:
        middle = (low + high + 1) // 2
        text = form.text[:middle]
        # Without the word that it ends in, where words are parted by spaces.
        end = max(text.rfind(" "), text.rfind("\n"), LEAST // 2)
        shown = replace(form, text=f"{text[:end].rstrip()}…")
        body = _render(block, shown)
        tokens = count_tokens(_numbered(shown, body, _MEASURED))
        if tokens <= room:
            low, best = middle, _Chosen(block, shown, body, tokens, is_cut=True)
        else:
            high = middle - 1
    return best


def _group_heading(block: Block) -> str:
    return f"## {block.group}"


def _render(block: Block, form: Form) -> str:
    """A line of its heading and its text, without the number."""
    return f"{one_line(block.heading)}\n{quoted(form.text)}"


def _numbered(form: Form, body: str, number: int) -> str:
    """A part that cites nothing has no number."""
    return f"[{number}] {body}" if form.citations else body


# Sources as a list that a prompt or a reader can use.


def format_citations(result: SearchResult) -> str:
    """A line for each source of the context: number, title, place, who wrote it and when.

    Numbers are those of the context's passages; a report made of several passages has a line each.
    """
    origins = {
        hit.chunk.public_id: hit.provenance for hit in result.hits if hit.provenance is not None
    }
    lines = []
    for citation in result.context.citations:
        pages = "" if citation.page is None else f"page {citation.page}"
        parts = [
            citation.title or citation.source,
            pages or f"characters {citation.start}–{citation.end}",
        ]
        origin = next((origins[i] for i in citation.chunk_ids if i in origins), None)
        if origin is not None:
            version = f"version {origin.version}" if origin.version > 1 else ""
            parts += [origin.author or "", (origin.date or "")[: len("2019-03-02")], version]
        parts.append(citation.source if citation.title not in ("", citation.source) else "")
        lines.append(one_line(f"[{citation.number}] {', '.join(filter(None, parts))}"))
    return "\n".join(dict.fromkeys(lines))


# What a strategy finds: passages, and how they become a context.


Arrangement: TypeAlias = "Callable[[QuerySession, Sequence[Hit]], list[Block]]"
"""Makes the parts of the context of the hits, the most important first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalResult:
    """Passages, best first, and what else the strategy has to say of them."""

    ranking: Ranking
    arrange: Arrangement = by_section
    matched: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By chunk id: the chunks by which it was found, where these are others."""
    scores: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By name and chunk id: what was weighed beside the channels, 0 to 1."""
    tells: bool = False
    """Whether the parts of `arrange` answer by themselves, as those of an overview do."""


def after(parts: Sequence[Block], arrange: Arrangement = by_section) -> Arrangement:
    """The parts, then what `arrange` makes of the hits."""
    return lambda session, hits: [*parts, *arrange(session, hits)]


# One answer out of those of several collections.


def fuse_collections(
    results: Mapping[str, SearchResult],
    *,
    limit: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> SearchResult:
    """The answers to one question by namespace, fused by reciprocal rank.

    Their scores cannot be compared, their ranks can: the first of each come first, of these the
    surest, else the one of the highest score. Each hit and each part of the context says where it
    is from.
    """
    ranked = [
        ((rank, -(hit.confidence or 0.0), -hit.score, name), hit)
        for name, result in results.items()
        for rank, hit in enumerate(result.hits, 1)
    ]
    ranked.sort(key=lambda one: one[0])
    hits = tuple(
        replace(hit, score=1 / (RRF_K + rank), namespace=name)
        for (rank, _, _, name), hit in ranked[:limit]
    )
    in_order = dict.fromkeys([name for (*_, name), _ in ranked] + list(results))
    best = hits[0].namespace if hits else next(iter(results))
    timings = sum((Counter(result.timings_ms) for result in results.values()), Counter[str]())
    # What is noted of all collections once, of some with their names.
    places: dict[str, list[str]] = {}
    for name, result in results.items():
        for note in result.notes:
            places.setdefault(note, []).append(name)
    fused = replace(
        results[best],
        strategy=" and ".join(dict.fromkeys([result.strategy for result in results.values()])),
        reason="; ".join(f"{name}: {result.reason}" for name, result in results.items()),
        hits=hits,
        context=_fused_context(
            {name: results[name] for name in in_order}, max_tokens, count_tokens
        ),
        entities=tuple(dict.fromkeys(chain(*(result.entities for result in results.values())))),
        stated=tuple(dict.fromkeys(chain(*(result.stated for result in results.values())))),
        timings_ms=dict(timings),
        notes=tuple(
            note if len(names) == len(results) else f"{', '.join(names)}: {note}"
            for note, names in places.items()
        ),
    )
    return replace(fused, answering=answering_line(fused))


def _fused_context(
    results: Mapping[str, SearchResult], max_tokens: int, count_tokens: Callable[[str], int]
) -> Context:
    """The parts of all contexts in turn, as many as fit, numbered anew."""
    in_turn = zip_longest(*([(n, p) for p in r.context.parts] for n, r in results.items()))
    offered = [one for turn in in_turn for one in turn if one is not None]
    parts: list[ContextPart] = []
    tokens = number = 0
    for name, part in offered:
        # Under another number, its heading with where it is from: the first line that is no
        # heading of a group, as no quoted line begins.
        own = number + bool(part.citations)
        old = f"[{part.citations[0].number}] " if part.citations else ""
        new = f"[{own}] " if part.citations else ""
        lines = part.text.split("\n")
        at = next(n for n, line in enumerate(lines) if line and not line.startswith("## "))
        lines[at] = f"{new}{name}: {lines[at].removeprefix(old)}"
        text = "\n".join(lines)
        cost = count_tokens(text) + BREAK_TOKENS
        if tokens + cost <= max_tokens:
            number = own
            citations = tuple(replace(citation, number=own) for citation in part.citations)
            parts.append(replace(part, text=text, tokens=cost, citations=citations))
            tokens += cost
    left_out = sum(result.context.left_out for result in results.values())
    return Context(
        text="\n\n".join(part.text for part in parts),
        citations=tuple(citation for part in parts for citation in part.citations),
        tokens=tokens,
        left_out=left_out + len(offered) - len(parts),
        tokenizer=next(iter(results.values())).context.tokenizer,
        parts=tuple(parts),
    )


def answering_line(result: SearchResult) -> int | None:
    """Place of the statement with most of what is asked about the names, if any has of it."""
    asked = set(question_terms(result.query)).difference(terms(" ".join(result.entities)))
    shared = [len(asked & set(terms(line))) for line in result.stated]
    most = max(shared, default=0)
    return shared.index(most) if most else None
