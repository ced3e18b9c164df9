"""Passages as a terminal shows them: matched words marked, and the path drawn as a thread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from clew.cli.date_ranges import date_range, moment
from clew.cli.output import shown_source
from clew.cli.safe_stream import printable
from clew.search.strategies.entity_paths import TOGETHER
from clew.text import one_line, question_terms, terms
from clew.types import (
    ContextPart,
    Hit,
    PathStep,
    Provenance,
    RelationEvidence,
    SearchResult,
    TemporalInfo,
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


def print_route(console: Console, result: SearchResult) -> None:
    """Print the strategy, why it was chosen, the time that was understood, and where time went."""
    console.print(Text(f"strategy {result.strategy}: {one_line(result.reason)}", style="bold"))
    if result.temporal is not None:
        console.print(Text(_time_line(result.temporal), style=FAINT))
        for period, ids in result.temporal.timeline:
            console.print(
                Text(f"  {period}: {len(ids)} passage{'s' if len(ids) > 1 else ''}", style=FAINT)
            )
    spent = " · ".join(f"{name} {value:.1f} ms" for name, value in result.timings_ms.items())
    console.print(Text(spent, style=FAINT))
    console.print()


def _time_line(info: TemporalInfo) -> str:
    phrase = f" (“{one_line(info.phrase)}”)" if info.phrase else ""
    parts = [
        f"{date_range(info.since, info.until)}{phrase}",
        "" if info.as_of is None else f"as of {moment(info.as_of)}",
        "the course of events" if info.evolution else "",
        # What was done with the period; `as_of` restricts what is asked whatever was.
        "" if info.applied == "none" else info.applied,
    ]
    return f"time: {', '.join(part for part in parts if part)}"


def print_parts(console: Console, result: SearchResult) -> None:
    """Print what the strategy made (paths, reports, a neighbourhood), in a short form."""
    made = [part for part in result.context.parts if part.kind not in ("passage", "hierarchy")]
    for part in made[:SHOWN_PARTS]:
        heading, *lines = part.text.splitlines()
        # Passages have the numbers here; those of the context would be others.
        bare = heading.partition("] ")[2] if part.citations else heading
        console.print(Text(one_line(bare), style="bold"))
        for line in lines[:SHOWN_LINES]:
            _print_indented(console, Text(one_line(line.removeprefix("> "))), INDENT)
        console.print()
    if len(made) > SHOWN_PARTS or any(_is_long(part) for part in made):
        console.print(Text("All of it: --context", style=FAINT))
        console.print()


def _is_long(part: ContextPart) -> bool:
    return part.text.count("\n") > SHOWN_LINES


def print_passages(
    console: Console, result: SearchResult, limit: int | None = None, *, explain: bool = False
) -> None:
    """Print the passages of a result, best first; `limit` of them, or all.

    With `explain`, also where each comes from and what relations it states.
    """
    languages = {hit.chunk.language for hit in result.hits}
    asked = frozenset(question_terms(result.query, languages))
    for number, hit in enumerate(result.hits[:limit], start=1):
        console.print(citation(number, hit))
        _print_indented(console, _passage(hit, asked), INDENT)
        _print_indented(console, scores(hit), INDENT)
        if hit.also_in:
            _print_indented(console, also_in(hit), INDENT)
        if explain:
            for line in trail(hit):
                _print_indented(console, line, INDENT)
        if hit.path:
            print_thread(console, hit.path, f"[{number}] {hit.chunk.title or hit.chunk.source}")
        console.print()


def citation(number: int, hit: Hit) -> Text:
    """`[1] Title, Ada Ray, 2020-01-02, page 3, source`: author and date where there is an author.

    Without pages, the range of characters; of an earlier version, which and until when it stood.
    """
    chunk = hit.chunk
    place = f"characters {chunk.start}–{chunk.end}" if chunk.page is None else f"page {chunk.page}"
    source = shown_source(chunk.source)
    title = one_line(chunk.title) or source
    title = f"{hit.namespace}: {title}" if hit.namespace else title
    place = f"{chunk.earlier}, {place}" if chunk.earlier else place
    text = Text.assemble((f"[{number}] {title}", "bold"), _said_by(hit), (f", {place}", FAINT))
    return text if title == source else text.append(f", {source}", style=FAINT)


def _said_by(hit: Hit) -> str:
    """Who wrote or said a passage, and on which day."""
    origin = hit.provenance
    if origin is None or not origin.author:
        return ""
    day = f", {origin.date[:10]}" if origin.date else ""
    return f", {one_line(origin.author)}{day}"


def scores(hit: Hit) -> Text:
    """The fused score, and the score by channel."""
    channels = [f"{name} {value:.3f}" for name, value in hit.scores.items()]
    if hit.confidence is not None:
        channels.insert(0, f"confidence {hit.confidence:.2f}")
    return Text(" · ".join([f"score {hit.score:.3f}", *channels]), style=FAINT)


def also_in(hit: Hit) -> Text:
    """Where else the same text is; the first documents by name, the others counted."""
    names = dict.fromkeys(one_line(c.title) or shown_source(c.source) for c in hit.also_in)
    shown = list(names)[:_OTHERS]
    left = len(names) - len(shown)
    more = f" and {left} more" if left > 0 else ""
    return Text(f"the same text is in {', '.join(shown)}{more}", style=FAINT)


def trail(hit: Hit) -> Iterator[Text]:
    """Where a passage comes from: document, version, author, extractor; and its relations."""
    if hit.matched:
        yield Text(f"matched {', '.join(hit.matched)}", style=FAINT)
    if hit.provenance is not None:
        yield Text(_origin(hit.provenance), style=FAINT)
    for relation in hit.relations:
        yield _relation(relation)


def _relation(relation: RelationEvidence) -> Text:
    line = Text(f"{one_line(relation.head)} — {relation.relation} → ")
    line.append(one_line(relation.tail))
    held = date_range(relation.valid_from, relation.valid_until)
    line.append(f", {held}" if held else "")
    if relation.provenance is not None:
        found_by = relation.provenance
        line.append(f" ({found_by.extractor}, {found_by.confidence:.2f})", style=FAINT)
    return line


def _origin(origin: Provenance) -> str:
    parts = [f"document {origin.document}", f"version {origin.version}"]
    parts += [f"sha256 {origin.sha256[:12]}"] if origin.sha256 else []
    parts += [f"derived from {origin.derived_from[:12]}"] if origin.derived_from else []
    parts += [f"by {one_line(origin.author)}"] if origin.author else []
    parts += [f"written {origin.date[:10]}"] if origin.date else []
    parts += [f"indexed {origin.indexed_at:%Y-%m-%d}"]
    parts += [f"read by {origin.extractor}"] if origin.extractor else []
    return ", ".join(parts)


def print_thread(console: Console, path: Sequence[PathStep], end: str) -> None:
    """Draw the path from an entity of the question, through sentences, to the passage."""
    knot, line, arrow = ("* ", "| ", "+> ") if console.options.ascii_only else ("● ", "│ ", "└▶ ")
    for step in path:
        _print_indented(console, Text(one_line(step.entity), style=ENTITY), INDENT + knot)
        sentence = Text(f"“{one_line(step.sentence)}”", style="italic")
        sentence.append(f" ({one_line(step.document)})", style=FAINT)
        _print_indented(console, sentence, INDENT + line)
    _print_indented(console, Text(one_line(end), style="bold"), INDENT + arrow)


def print_path(console: Console, way: Sequence[RelationEvidence]) -> None:
    """Draw a path between two entities: a line for each tie, and the sentence that says so."""
    console.print(Text(f"{len(way)} hop{'s' if len(way) > 1 else ''}", style="bold"))
    for tie in way:
        # A sentence that names both has no direction.
        how = " — " if tie.relation == TOGETHER else f" — {tie.relation} → "
        ends = (Text(one_line(end), style=ENTITY) for end in (tie.head, tie.tail))
        _print_indented(console, Text(how).join(ends), INDENT)
        if tie.evidence:
            said = Text(f"“{one_line(tie.evidence)}”", style="italic")
            if tie.provenance is not None:
                place = tie.provenance.title or tie.provenance.source
                said.append(f" ({one_line(place)})", style=FAINT)
            _print_indented(console, said, INDENT * 2)
    console.print()


def _passage(hit: Hit, asked: frozenset[str]) -> Text:
    """The passage with the answering sentence and the question's words marked."""
    language = hit.chunk.language
    if hit.answer is None:
        return marked(hit.chunk.text.strip(), asked, language)
    text, (start, end) = hit.chunk.text, (place - hit.chunk.start for place in hit.answer)
    before, answer, after = text[:start], text[start:end], text[end:]
    shown = marked(answer, asked, language)
    shown.stylize_before(ANSWER)
    return Text.assemble(
        marked(before.lstrip(), asked, language), shown, marked(after.rstrip(), asked, language)
    )


def marked(text: str, asked: frozenset[str], language: str = "") -> Text:
    """The text with the words marked whose search terms the question has, in any script."""
    # Printable from the start, since places in it are counted.
    shown = Text(printable(text))
    for start, end in matches(shown.plain, asked, language):
        shown.stylize(MATCH, start, end)
    return shown


def matches(text: str, asked: frozenset[str], language: str = "") -> Iterator[tuple[int, int]]:
    """Ranges of `text` that hold one of the terms `asked`; `language` is the text's."""
    for word in _WORD.finditer(text):
        found = terms(word.group(), language)
        if len(found) > 1:
            yield from _matching_pairs(word, asked)
        elif not asked.isdisjoint(found):
            yield word.span()


def _matching_pairs(word: re.Match[str], asked: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Scripts without spaces are searched by pairs of characters, and so marked by them."""
    for start in range(word.start(), word.end() - 1):
        if not asked.isdisjoint(terms(word.string[start : start + 2])):
            yield start, start + 2


def _print_indented(console: Console, text: Text, prefix: str) -> None:
    """Print a text, every line of it behind the prefix; lines are folded on a terminal alone."""
    folded = text.split() if console.soft_wrap else text.wrap(console, console.width - len(prefix))
    for line in folded:
        line.rstrip()
        console.print(Text.assemble((prefix, FAINT), line), soft_wrap=True)
