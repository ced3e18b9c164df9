"""Passages as a terminal shows them: matched words marked, and the path drawn as a thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dateutil.relativedelta import relativedelta

from clew.cli.common import note
from clew.cli.output import (
    Page,
    Pieces,
    print_facts,
    print_table,
    shown_source,
    stdout_page,
    write_line,
)
from clew.cli.safe_stream import printable
from clew.search.around import TOGETHER
from clew.text import counted, one_line, question_terms, quoted, terms
from clew.types import (
    Hit,
    PathStep,
    Provenance,
    SearchResult,
)

MATCH = "bold yellow"
ANSWER = "underline"
ENTITY = "bold cyan"
FAINT = "dim"
INDENT = "    "
SHOWN_PARTS, SHOWN_LINES = 5, 8
"""Parts that a strategy made, and lines of each, that are shown beside passages."""

_OTHERS = 5
"""Documents with the same text that are named."""
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def print_route(page: Page, result: SearchResult) -> None:
    """Print the strategy, why it was chosen, the time that was understood, and where time went."""
    page.print([(f"strategy {result.strategy}: {one_line(result.reason)}", "bold")])
    if result.temporal is not None:
        info = result.temporal
        phrase = f" (“{one_line(info.phrase)}”)" if info.phrase else ""
        parts = [
            f"{date_range(info.since, info.until)}{phrase}",
            "" if info.as_of is None else f"as of {moment(info.as_of)}",
            "the course of events" if info.evolution else "",
            # What was done with the period; `as_of` restricts what is asked whatever was.
            "" if info.applied == "none" else info.applied,
        ]
        page.print([(f"time: {', '.join(part for part in parts if part)}", FAINT)])
        for period, ids in info.timeline:
            page.print([(f"  {period}: {len(ids)} passage{'s' if len(ids) > 1 else ''}", FAINT)])
    spent = " · ".join(f"{name} {value:.1f} ms" for name, value in result.timings_ms.items())
    page.print([(spent, FAINT)])
    page.print([])


def print_parts(page: Page, result: SearchResult) -> None:
    """Print what the strategy made (paths, reports, a neighbourhood), in a short form."""
    made = [part for part in result.context.parts if part.kind not in ("passage", "hierarchy")]
    for part in made[:SHOWN_PARTS]:
        heading, *lines = part.text.splitlines()
        # Passages have the numbers here; those of the context would be others.
        bare = heading.partition("] ")[2] if part.citations else heading
        page.print([(one_line(bare), "bold")])
        for line in lines[:SHOWN_LINES]:
            page.print([(one_line(line.removeprefix("> ")), "")], behind=INDENT)
        page.print([])
    if len(made) > SHOWN_PARTS or any(p.text.count("\n") > SHOWN_LINES for p in made):
        page.print([("All of it: --context", FAINT)])
        page.print([])


def print_passages(
    page: Page, result: SearchResult, limit: int | None = None, *, explain: bool = False
) -> None:
    """Print the passages of a result, best first; `limit` of them, or all.

    With `explain`, also where each comes from and what relations it states.
    """
    languages = {hit.chunk.language for hit in result.hits}
    asked = frozenset(question_terms(result.query, languages))
    for number, hit in enumerate(result.hits[:limit], start=1):
        page.print(citation(number, hit))
        page.print(_passage(hit, asked), behind=INDENT)
        page.print(scores(hit), behind=INDENT)
        if hit.also_in:
            page.print(also_in(hit), behind=INDENT)
        if explain:
            for line in trail(hit):
                page.print(line, behind=INDENT)
        if hit.path:
            print_thread(page, hit.path, f"[{number}] {hit.chunk.title or hit.chunk.source}")
        page.print([])


def citation(number: int, hit: Hit) -> Pieces:
    """`[1] Title, Ada Ray, 2020-01-02, page 3, source`: author and date where there is an author.

    Without pages, the range of characters; of an earlier version, which and until when it stood.
    """
    chunk = hit.chunk
    place = f"characters {chunk.start}–{chunk.end}" if chunk.page is None else f"page {chunk.page}"
    source = shown_source(chunk.source)
    title = one_line(chunk.title) or source
    title = f"{hit.namespace}: {title}" if hit.namespace else title
    place = f"{chunk.remark}, {place}" if chunk.remark else place
    place = place if title == source else f"{place}, {source}"
    origin, said_by = hit.provenance, ""
    if origin is not None and origin.author:
        day = f", {origin.date[:10]}" if origin.date else ""
        said_by = f", {one_line(origin.author)}{day}"
    return [(f"[{number}] {title}", "bold"), (said_by, ""), (f", {place}", FAINT)]


def scores(hit: Hit) -> Pieces:
    """The fused score, and the score by channel."""
    channels = [f"{name} {value:.3f}" for name, value in hit.scores.items()]
    if hit.confidence is not None:
        channels.insert(0, f"confidence {hit.confidence:.2f}")
    return [(" · ".join([f"score {hit.score:.3f}", *channels]), FAINT)]


def also_in(hit: Hit) -> Pieces:
    """Where else the same text is; the first documents by name, the others counted."""
    names = dict.fromkeys(one_line(c.title) or shown_source(c.source) for c in hit.also_in)
    shown = list(names)[:_OTHERS]
    left = len(names) - len(shown)
    more = f" and {left} more" if left > 0 else ""
    return [(f"the same text is in {', '.join(shown)}{more}", FAINT)]


def trail(hit: Hit) -> Iterator[Pieces]:
    """Where a passage comes from: document, version, author, extractor; and its relations."""
    if hit.matched:
        yield [(f"matched {', '.join(hit.matched)}", FAINT)]
    if hit.provenance is not None:
        yield [(_origin(hit.provenance), FAINT)]
    for relation in hit.relations:
        held = date_range(relation.valid_from, relation.valid_until)
        ends = f"{one_line(relation.head)} — {relation.relation} → {one_line(relation.tail)}"
        line = [(f"{ends}, {held}" if held else ends, "")]
        if relation.provenance is not None:
            found_by = relation.provenance
            line.append((f" ({found_by.extractor}, {found_by.confidence:.2f})", FAINT))
        yield line


def _origin(origin: Provenance) -> str:
    parts = [f"document {origin.document}", f"version {origin.version}"]
    parts += [f"sha256 {origin.sha256[:12]}"] if origin.sha256 else []
    parts += [f"derived from {origin.derived_from[:12]}"] if origin.derived_from else []
    parts += [f"by {one_line(origin.author)}"] if origin.author else []
    parts += [f"written {origin.date[:10]}"] if origin.date else []
    parts += [f"indexed {origin.indexed_at:%Y-%m-%d}"]
    parts += [f"read by {origin.extractor}"] if origin.extractor else []
    return ", ".join(parts)


def print_thread(page: Page, path: Sequence[PathStep], end: str) -> None:
    """Draw the path from an entity of the question, through sentences, to the passage."""
    knot, line, arrow = ("* ", "| ", "+> ") if page.ascii_only else ("● ", "│ ", "└▶ ")
    before = None
    for step in path:
        if step.entity != before:  # two sentences may name the same
            page.print([(one_line(step.entity), ENTITY)], behind=INDENT + knot)
        before = step.entity
        said, where = f"“{one_line(step.sentence)}”", f" ({one_line(step.document)})"
        page.print([(said, "italic"), (where, f"italic {FAINT}")], behind=INDENT + line)
    page.print([(one_line(end), "bold")], behind=INDENT + arrow)


def _passage(hit: Hit, asked: frozenset[str]) -> Pieces:
    """The passage with the answering sentence and the question's words marked."""
    language = hit.chunk.language
    if hit.answer is None:
        return marked(hit.chunk.text.strip(), asked, language)
    text, (start, end) = hit.chunk.text, (place - hit.chunk.start for place in hit.answer)
    before, answer, after = text[:start], text[start:end], text[end:]
    return [
        *marked(before.lstrip(), asked, language),
        *((said, f"{ANSWER} {style}") for said, style in marked(answer, asked, language)),
        *marked(after.rstrip(), asked, language),
    ]


def marked(text: str, asked: frozenset[str], language: str = "") -> Pieces:
    """The text with the words marked whose search terms the question has, in any script."""
    # Printable from the start, since places in it are counted.
    text = printable(text)
    pieces, done = [], 0
    for start, end in matches(text, asked, language):
        start = max(start, done)  # pairs of characters overlap
        pieces += [(text[done:start], ""), (text[start:end], MATCH)]
        done = end
    return [*pieces, (text[done:], "")]


def matches(text: str, asked: frozenset[str], language: str = "") -> Iterator[tuple[int, int]]:
    """Ranges of `text` that hold one of the terms `asked`; `language` is the text's."""
    for word in _WORD.finditer(text):
        found = terms(word.group(), language)
        if len(found) > 1:
            # Scripts without spaces are searched by pairs of characters, and so marked by them.
            for start in range(word.start(), word.end() - 1):
                if not asked.isdisjoint(terms(text[start : start + 2])):
                    yield start, start + 2
        elif not asked.isdisjoint(found):
            yield word.span()


# Date ranges as a reader writes them: `1860 to 1884`, `since May 2023`, `8 May 2023`.


_UNITS: tuple[tuple[relativedelta, Callable[[datetime], bool], str], ...] = (
    (relativedelta(years=1), lambda m: (m.month, m.day) == (1, 1) and _midnight(m), "{m.year}"),
    (relativedelta(months=1), lambda m: m.day == 1 and _midnight(m), "{m:%B} {m.year}"),
    (relativedelta(days=1), lambda m: _midnight(m), "{m.day} {m:%B} {m.year}"),
)
"""Calendar units, longest first: length, whether a moment begins one, how one is written."""
_INSTANT = timedelta(microseconds=1)


def date_range(start: datetime | None, end: datetime | None) -> str:
    """The half-open range `[start, end)`, in UTC, in the longest units that hold it exactly.

    The last unit named belongs to it: `1860 to 1884` ends with that year. Empty where both sides
    are open.
    """
    sides = [side for side in (start, end) if side is not None]
    for unit, begins, form in _UNITS:
        if all(begins(side) for side in sides):
            first = "" if start is None else form.format(m=start)
            last = "" if end is None else form.format(m=end - unit)
            return _joined(first, last)
    first = "" if start is None else moment(start)
    last = "" if end is None else moment(end - _INSTANT)
    return _joined(first, last)


def moment(when: datetime) -> str:
    """A moment to the minute; the last one of a day is written as the day."""
    day = f"{when.day} {when:%B} {when.year}"
    return day if _midnight(when + _INSTANT) else f"{day}, {when:%H:%M}"


def _joined(first: str, last: str) -> str:
    if first and last:
        return first if first == last else f"{first} to {last}"
    if first:
        return f"since {first}"
    return f"until {last}" if last else ""


def _midnight(when: datetime) -> bool:
    return when == when.replace(hour=0, minute=0, second=0, microsecond=0)


# What a tool found, by the type of its result.


def print_content(content: Mapping[str, Any]) -> None:
    """Print the things found, or else what was done; notes, and what is left out, as notes."""
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    notes = list(lists.pop("notes", ()))
    results = {n: v for n, v in lists.items() if not v or isinstance(v[0], dict)}
    for name, items in results.items():
        if items:
            _PRINTED.get(name, _print_items)(items)
    if not results:
        around = ("success", "notes", "search_params")
        print_facts({n: v for n, v in content.items() if n not in around})
    elif not notes and not any(results.values()):
        notes.append("nothing found")
    if content.get("left_out"):
        notes.append(f"{content['left_out']:,} more do not fit; ask for less at a time")
    if content.get("next_cursor"):
        notes.append(f"there is more: --cursor {content['next_cursor']}")
    for remark in notes:
        note(f"Note: {remark}")


def _print_items(items: Sequence[Mapping[str, Any]]) -> None:
    """Print things as a table, a column for each field that any of them has."""
    columns = dict.fromkeys(name for item in items for name in item)
    rows = [[item.get(name) for name in columns] for item in items]
    print_table([name.replace("_", " ") for name in columns], rows)


def _print_paths(paths: Sequence[Mapping[str, Any]]) -> None:
    """Draw paths between two entities: a line for each tie, and the sentence that says so."""
    page = stdout_page()
    for path in paths:
        page.print([(counted(path["hops"], "hop"), "bold")])
        for tie in path["ties"]:
            # A sentence that names both has no direction.
            how = " — " if tie["relation"] == TOGETHER else f" — {tie['relation']} → "
            head, tail = one_line(tie["from"]), one_line(tie["to"])
            page.print([(head, ENTITY), (how, ""), (tail, ENTITY)], behind=INDENT)
            if tie["evidence"]:
                said = [(f"“{one_line(tie['evidence'])}”", "italic")]
                if tie["source"] is not None:
                    said.append((f" ({one_line(_title(tie['source']))})", f"italic {FAINT}"))
                page.print(said, behind=INDENT * 2)
        page.print([])


def _print_timeline(entries: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for entry in entries:
        start, end = (at and datetime.fromisoformat(at) for at in (entry["from"], entry["until"]))
        when = entry["when"] or date_range(start, end)
        rows.append((when, entry["text"], _title(entry["source"])))
    print_table(("when", "what", "source"), rows)


def _print_documents(documents: Sequence[Mapping[str, Any]]) -> None:
    """Print one a line, dates as precisely as they are stated, times without their seconds."""
    rows = [
        (
            *(one["document"], one["chunks"], (one["date"] or "")[: len("2019-03-02T10:00")]),
            *(one["title"], shown_source(one["source"])),
        )
        for one in documents
    ]
    print_table(("id", "chunks", "date", "title", "source"), rows)


def _print_communities(found: Sequence[Mapping[str, Any]]) -> None:
    """Print reports in Markdown, each with the documents that it is made of."""
    for one in found:
        sources = [f"[{n}] {one_line(source)}" for n, source in enumerate(one["sources"], start=1)]
        head = f"# {one_line(one['title'])}\n\n{quoted(one['summary'])}\n\nSources:\n"
        write_line("\n".join([head, *sources, ""]))


def _title(source: Mapping[str, Any] | None) -> str:
    return "" if source is None else source["title"] or source["source"]


_PRINTED: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], None]] = {
    "paths": _print_paths,
    "timeline": _print_timeline,
    "communities": _print_communities,
    "documents": _print_documents,
}
"""How things are printed, by the name of their list in a result; others are a table."""
