"""What each group of rules for names, relations and structure brings, and what it costs.

    uv run python -m benchmarks.rent FOLDER [--only NAME,NAME] [--write]

Each group is left out in turn, by putting in its place what finds nothing; names and relations are
then measured against the labels (`benchmarks.real.extraction`), beside two measures of what
retrieval lives on: `anchors`, the names of answering passages that their questions have, and
`ties`, the names that two documents or more share. A group costs the statements that only it
reaches. FOLDER is that of `benchmarks.real.fetch`; its files are read once. `--write` writes
`RENT.md` beside this file; rows there of groups that were not measured, or that no longer exist,
stay as they are.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.real.extracted import Sentence, documents_of, sentences, steps_of
from benchmarks.real.extraction import (
    Found,
    entities_judged,
    names_in_sentences,
    relations_in_sentences,
    relations_judged,
)
from benchmarks.real.labels import (
    judged_entities,
    judged_relations,
    marked_sentences,
    stating_sentences,
)
from benchmarks.real.questions import Question, read_questions
from clew.indexing import structure
from clew.indexing.processes import Prepared, with_language
from clew.indexing.split import as_prose, split
from clew.indexing.structure import add_structure, structure_of
from clew.text import entity_key
from clew.types import Document, Extraction, Split, Structure
from clew.wiring import make_extractor
from scripts.budget import statements

GROUPS = Path(__file__).with_name("rent.toml")
TABLE = Path(__file__).with_name("RENT.md")
SOURCE = Path(__file__).resolve().parent.parent / "src"
OPENING = 1
"""Chunks that are read of every document, since they say what it is about."""
AROUND = 0
"""Chunks that are read on either side of one that a label or a question is about."""
PARTS = tuple(
    f"clew.{part}"
    for part in ("indexing.ner", "indexing.relations", "indexing.structure", "plugins.code")
)
EXTRACTOR = make_extractor()
NEVER = re.compile(r"(?!)")
NOTHING: dict[str, Callable[..., Any]] = {
    "none": lambda *_, **__: None,
    "empty": lambda *_, **__: (),
    "list": lambda *_, **__: [],
    "dict": lambda *_, **__: {},
    "set": lambda *_, **__: frozenset(),
    "false": lambda *_, **__: False,
    "true": lambda *_, **__: True,
    "zero": lambda *_, **__: 0,
    "first": lambda first, *_, **__: first,
    "second": lambda _, second, *__, **___: second,
    "third": lambda _, __, third, *___, **____: third,
    "lists": lambda _, __, found: [list(one) for one in found],
    "nones": lambda _, told, *__: (None for _ in told),
    "structure": lambda *_, **__: Structure(),
}
"""What stands in the place of a function, by what `rent.toml` calls it; `never`: of a pattern."""


class Group(NamedTuple):
    """A group of rules and what stands in the place of each of its functions."""

    name: str
    part: str
    what: str
    off: dict[str, str]
    """By `module:name` below `clew`."""


Read = tuple[str, Document, Split, Extraction]
Row = dict[str, float]
HEAD = """# What the rules for names, relations and structure bring

Made by `python -m benchmarks.rent FOLDER --write`: what changes in the figures of the first line
where a group of rules is left out. `P` and `R` are precision and recall in per cent, `right` and
`wrong` what is still given of the judged ones, `anchors` the names that answering passages share
with their questions, `ties` the names in two documents or more. An empty cell: no change. A group
without a row is not measured yet, and a row stays as it was until its group is measured again.
"""
GONE = """## Groups that went

Measured in the same way before they went. What stands beside names (`trade_before` to
`offices_of_pronouns`) are rows of `around.toml` now, but for `apposed`.
"""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names of groups, with commas between them")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    given = parser.parse_args()
    groups = [g for g in read_groups() if not given.only or g.name in given.only.split(",")]
    documents = list(_read(given.folder))
    read = [(path, parts) for path, _, parts, _ in documents]
    print(len(read), "documents,", sum(len(parts.chunks) for _, parts in read), "chunks")
    whole = _apart(partial(_measure, documents, None))
    definitions, uses = definitions_and_uses()
    print({name: round(value, 2) for name, value in whole.items()}, flush=True)
    lines = []
    for group in groups:
        row = _apart(partial(_measure, documents, group))
        lines.append(_line(group, cost(group, definitions, uses), whole, row))
        print(lines[-1], flush=True)
        if given.write:
            write(whole, lines)


def read_groups() -> list[Group]:
    """The groups of `rent.toml`, and each reader of structure as one."""
    listed = tomllib.loads(GROUPS.read_text("utf-8"))
    groups = [
        Group(
            name,
            part,
            row["what"],
            {at: what for what in row if what != "what" for at in row[what]},
        )
        for part, rows in listed.items()
        for name, row in rows.items()
    ]
    for read in structure.READERS:
        at = f"{read.__module__.removeprefix('clew.')}:{read.__name__}"
        what = (read.__doc__ or "").partition("\n")[0]
        groups.append(Group(read.__name__, "structure", what, {at: "reader"}))
    return groups


# Measuring.


def _read(folder: Path) -> Iterator[Read]:
    steps = steps_of()
    judged = _judged_texts()
    questions = [q for q in read_questions() if not q.held_out]
    for path, document in documents_of(folder):
        document = with_language(document)
        parts = split(document, steps.split_settings, steps.tokens)
        golds = [gold for q in questions for gold in q.gold if gold.text and gold.is_in(path)]
        kept: set[int] = set(range(OPENING))
        for i, chunk in enumerate(parts.chunks):
            text = " ".join(chunk.text.split())
            if any(g.holds(path, text) for g in golds) or any(one in text for one in judged):
                kept.update(range(i - AROUND, i + AROUND + 1))
        if len(kept) > OPENING:
            chunks = tuple(c for i, c in enumerate(parts.chunks) if i in kept)
            parts = replace(parts, chunks=chunks)
            yield path, document, parts, _extract(document, parts)


def _extract(document: Document, parts: Split) -> Extraction:
    return EXTRACTOR.extract(*as_prose(document, parts.chunks))


def _judged_texts() -> set[str]:
    """The sentences that labels are about."""
    listed = (judged_entities(), judged_relations(), marked_sentences(), stating_sentences())
    return {one.sentence for labels in listed for one in labels}


def _apart(measure: Callable[[], Row]) -> Row:
    """What a measurement gives in a process of its own, where nothing else was left out."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(measure, there))
    process.start()
    there.close()
    row: Row = here.recv()
    process.join()
    return row


def _send(measure: Callable[[], Row], there: Connection) -> None:
    there.send(measure())


def _measure(documents: Sequence[Read], group: Group | None) -> Row:
    for at, what in (group.off if group else {}).items():
        leave_out(at, what)
    everything: list[Sentence] = []
    named: dict[str, set[str]] = {}
    anchors = 0
    questions = [q for q in read_questions() if not q.held_out]
    for path, document, parts, found in documents:
        # Names and relations of sentences are the same whichever structures are read.
        if group and group.part != "structure":
            found = _extract(document, parts)
        extraction = add_structure(found, structure_of(document), parts.chunks)
        everything += sentences(path, Prepared(document, parts, extraction))
        named.setdefault(path, set()).update(
            entity_key(m.name) for chunk in extraction.chunks for m in chunk.mentions
        )
        answered = [q for q in questions if any(gold.is_in(path) for gold in q.gold)]
        for chunk, one in zip(parts.chunks, extraction.chunks, strict=True):
            keys = {entity_key(m.name) for m in one.mentions}
            anchors += sum(_anchors(q, path, chunk.text, keys) for q in answered)
    shared: dict[str, int] = defaultdict(int)
    for keys in named.values():
        for key in keys:
            shared[key] += 1
    return {
        **_judged(Found(everything)),
        "anchors": anchors,
        "ties": sum(n > 1 for n in shared.values()),
    }


def _anchors(question: Question, path: str, text: str, keys: set[str]) -> int:
    """How many names of a passage its question has; none where it does not answer."""
    asked = f" {entity_key(question.ask)} "
    if not any(gold.holds(path, text) for gold in question.gold):
        return 0
    return sum(f" {key} " in asked for key in keys)


def _judged(found: Found) -> Row:
    names, entities = names_in_sentences(found), entities_judged(found)
    relations, stated = relations_judged(found), relations_in_sentences(found)
    marked, stating = names["in marked sentences"], stated["in marked sentences"]
    return {
        "names P": marked["precision"],
        "names R": marked["recall"],
        "entities right": entities["judged"]["still given"],
        "entities wrong": entities["judged"]["junk still given"],
        "types P": entities["types"]["right of those typed"],
        "relations right": relations["judged"]["still given"],
        "relations wrong": relations["judged"]["junk still given"],
        "stated P": stating["precision"],
        "stated R": stating["recall"],
        "entities": entities["all"]["entities"],
        "relations": relations["all"]["relations"],
    }


def leave_out(at: str, what: str) -> None:
    """Put what finds nothing in the place of a function or a pattern, wherever it is imported."""
    module, _, name = at.partition(":")
    holder = import_module(f"clew.{module}")
    owner, _, attribute = name.rpartition(".")
    if owner:
        setattr(getattr(holder, owner), attribute, NOTHING[what])
        return
    found = getattr(holder, name)
    if what == "reader":
        structure.READERS = tuple(read for read in structure.READERS if read is not found)
        return
    for loaded in [m for n, m in sys.modules.items() if n.startswith("clew.")]:
        for known, value in list(vars(loaded).items()):
            if value is found:
                setattr(loaded, known, NEVER if what == "never" else NOTHING[what])
            for cell in getattr(value, "__closure__", None) or ():  # what it remembers is of before
                with suppress(ValueError):  # an empty cell
                    getattr(cell.cell_contents, "cache_clear", lambda: None)()


# What a group costs.


def cost(group: Group, definitions: dict[str, ast.AST], uses: dict[str, set[str]]) -> int:
    """Statements of the definitions that nothing but the group reaches."""
    own = {f"clew.{at}" for at in group.off}
    inner = {name for name in definitions if name not in own}
    roots = {name for name in inner if name in uses[""]}
    reached, left = set[str](), list(roots)
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += [used for used in uses[name] if used in inner]
    whole, todo = set[str](), list(uses[""])
    while todo:
        name = todo.pop()
        if name in definitions and name not in whole:
            whole.add(name)
            todo += uses[name]
    return sum(statements(definitions[name]) for name in whole - reached)


def definitions_and_uses() -> tuple[dict[str, ast.AST], dict[str, set[str]]]:
    """Top-level definitions of the four parts as `module:name`, and what each of them names.

    What other parts of the package name stands under the empty name.
    """
    definitions: dict[str, ast.AST] = {}
    uses: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        tree = ast.parse(path.read_text("utf-8"))
        names = {
            alias.asname or alias.name: f"{node.module}:{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        inside = module.startswith(PARTS) and not module.endswith("__init__")  # hooks are asked
        own = {name: f"{module}:{name}" for node in tree.body for name in _defined(node)}
        for node in tree.body:
            told = {
                {**names, **own}[one.id]
                for one in ast.walk(node)
                if isinstance(one, ast.Name) and one.id in {**names, **own}
            }
            # A plugin names by their places what the core calls.
            told |= {str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant)}
            defined = [own[name] for name in _defined(node)] if inside else []
            for one in defined:
                definitions[one] = node
                uses[one] |= told - {one}
            if not defined and not isinstance(node, ast.ImportFrom):
                uses[""] |= told
    return definitions, uses


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [one.id for one in targets if isinstance(one, ast.Name)]


# Telling.


def _line(group: Group, statements: int, whole: Row, row: Row) -> str:
    told = [f"{row[name] - whole[name]:+.3g}" if row[name] != whole[name] else "" for name in whole]
    return f"| {' | '.join([group.part, group.name, str(statements), *told, group.what])} |"


def write(whole: Row, lines: Sequence[str]) -> None:
    """Put the lines into the table, in the place of those of the same groups; others stay."""
    old = TABLE.read_text("utf-8").splitlines() if TABLE.exists() else []
    rows = {tuple(_cells(line)[:2]): line for line in [*old, *lines] if len(_cells(line)) > 2}
    names = ["part", "group", "statements", *whole, "what"]
    rows = {key: line for key, line in rows.items() if key[0] not in ("part", "---", "with all")}
    gone = {key for key in rows if key not in {(g.part, g.name) for g in read_groups()}}
    all_of_it = ["with all", "", "", *(f"{value:.4g}" for value in whole.values()), ""]
    top = [_row(names), _row(["---"] * len(names))]
    kept = [line for key, line in rows.items() if key not in gone]
    lost = [line for key, line in rows.items() if key in gone]
    parts = [HEAD, *top, _row(all_of_it), *kept, "", GONE, *top, *lost]
    TABLE.write_text("\n".join(parts) + "\n", "utf-8")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
