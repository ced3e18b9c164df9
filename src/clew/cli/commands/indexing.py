"""`clew index`, with --watch until Ctrl-C, and `clew delete`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import clew
from clew.cli.common import FAILED, INCOMPLETE, Common, note, reporting
from clew.cli.options import WhereOption
from clew.cli.output import print_table, shown_source, write_json, write_line
from clew.engine import Engine
from clew.errors import EMPTY, EXTRAS, InputError, NotFoundError, extra_for
from clew.hookspecs import Pack
from clew.packs import available, load
from clew.settings import ReadSettings, Settings
from clew.text import counted, one_line, whole_number
from clew.types import DocumentInfo, IndexPreview, IndexReport, Skipped, source_path

WAIT_MS = 500
"""Milliseconds between two looks at whether Ctrl-C was pressed."""
SHOWN = 10
"""Files that are named of those with one reason, and records of one file."""


def index(
    common: Common,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files and folders; `-` reads standard input."),
    ],
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Only these files; repeatable.", show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Not these files; repeatable.", show_default=False),
    ] = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Drop documents whose files have vanished; else they are named."
        ),
    ] = False,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Read again what took more than a limit of the settings."),
    ] = False,
    follow_links: Annotated[
        bool,
        typer.Option("--follow-links", help="Follow links that lead out of PATH, too."),
    ] = False,
    pack: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Enable this pack first; repeatable.", show_default=False
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Only the I-th of N parts of the files, for one of several workers.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read; change nothing.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(help="Name of the text on standard input.", show_default=False),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the text on standard input.")] = "",
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Then index whatever changes, and drop what vanishes for more than a moment, until"
            " Ctrl-C. Where a PATH itself vanishes (it is moved, or its disk is no longer mounted),"
            " nothing is dropped, until it is back.",
        ),
    ] = False,
) -> None:
    """Read files and folders into the store; what has not changed is left as it is."""
    if "-" in paths:
        _index_standard_input(common, paths, pack or (), source=source, title=title)
        return
    if source is not None or title:
        raise typer.BadParameter("--source and --title name standard input: clew index - …")
    chosen: dict[str, Any] = {
        "include": include or (),
        "exclude": exclude or (),
        "follow_links": follow_links,
        "shard": _parsed_shard(shard) if shard is not None else None,
    }
    if dry_run:
        with _opened_or_empty(common) as engine:
            _print_preview(common, engine.documents.preview(paths, **chosen))
        return
    # What reads is not loaded for the other commands of this module.
    from clew.indexing.inputs import roots_of
    from clew.indexing.reading.files import find_files

    # A path that is not there makes no store.
    find_files(
        roots_of(paths), include=include or (), exclude=exclude or (), settings=ReadSettings()
    )
    with common.open(make=True, packs=pack or ()) as engine:
        # The first of all files; then those that changed.
        runs = _changes(paths, engine.settings.stores_folder) if watch else iter([None])
        for number, only in enumerate(changed for changed in runs if changed is None or changed):
            with reporting(bars=not common.json and number == 0) as progress:
                report = engine.index(
                    paths, prune=prune or watch, retry=retry, only=only, progress=progress, **chosen
                )
            if common.json:
                write_json(report)
            elif number == 0 or report.added or report.changed or report.pruned or report.skipped:
                print_report(report)
            if watch and number == 0:
                note("Watching for changes; Ctrl-C ends it.")
    if any(item.reason != EMPTY for item in report.skipped):
        raise typer.Exit(INCOMPLETE)


def _parsed_shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    shard, shards = whole_number(number), whole_number(of)
    if not shard or not shards or shard > shards:
        raise typer.BadParameter(f"--shard {text!r}: expected I/N with I from 1 to N, such as 1/4")
    return shard, shards


@contextmanager
def _opened_or_empty(common: Common) -> Iterator[Engine]:
    """The store, or an empty one that is gone afterwards: nothing is made by looking."""
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(common.open())
        except NotFoundError:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="clew-empty-"))
            engine = stack.enter_context(replace(common, store=folder).open(make=True))
        yield engine


def _print_preview(common: Common, found: IndexPreview) -> None:
    if common.json:
        write_json(found)
        return
    for name in ("new", "changed", "gone"):
        for source in getattr(found, name):
            write_line(f"{name:8} {shown_source(source)}")
    gone = f", {len(found.gone):,} gone (--prune drops them)" if found.gone else ""
    note(
        f"{len(found.new):,} new, {len(found.changed):,} to read again, {len(found.unchanged):,}"
        f" unchanged{gone}; nothing was changed"
    )


def _index_standard_input(
    common: Common, paths: list[str], packs: Sequence[str], *, source: str | None, title: str
) -> None:
    if paths != ["-"]:
        raise typer.BadParameter("`-` reads standard input and stands alone: clew index -")
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"standard input is not UTF-8 text (byte {error.start} is {data[error.start]:#04x}); "
            "convert it first, or give the file's path"
        ) from error
    with common.open(make=True, packs=packs) as engine:
        document = engine.add(text, source=source, title=title)
    common.tell({"document": document}, document)


def print_report(report: IndexReport) -> None:
    """Print what an index run did, and a closing table of what it had to leave out."""
    parts = [
        f"{getattr(report, name):,} {name}" for name in ("added", "changed", "unchanged", "pruned")
    ]
    if report.skipped:
        parts.append(f"{len(report.skipped):,} skipped")
    embedding = [f"embedding {report.embedding_seconds:.1f} s"]
    if report.embedding_tokens:
        embedding.append(f"{report.embedding_tokens:,} tokens")
    if report.embedding_cost is not None:
        embedding.append(f"${report.embedding_cost:.4f}")
    write_line(
        f"{', '.join(parts)}; {counted(report.chunks, 'chunk')} in {report.seconds:.1f} s "
        f"({', '.join(embedding)})"
    )
    for pack, files in sorted(report.for_packs.items()):
        note(
            f"{counted(files, 'file is', 'files are')} of a format that the pack {pack} is for:"
            f" `clew index … --pack {pack}` enables it for this store, its tools included."
            f" {load(pack, ()).description}"
        )
    for extra in report.lacks:
        note(
            f"Some files were read by their words alone. For {EXTRAS[extra][0]}:"
            f" pip install 'clew[{extra}]', and index again"
        )
    for before, now in report.moved:
        note(f"{shown_source(now)} was {shown_source(before)}, which is gone; --prune drops that")
    held = Counter(map(_file_of, {*report.gone}.difference(former for former, _ in report.moved)))
    if lost := sorted(file for file in held if not source_path(file).exists()):
        more = f" and {len(lost) - SHOWN:,} more (--json lists all)" if lost[SHOWN:] else ""
        note(
            f"{counted(len(lost), 'indexed file is', 'indexed files are')} no longer there:"
            f" {', '.join(map(shown_source, lost[:SHOWN]))}{more}; --prune drops what is gone"
        )
    for file in sorted(held.keys() - lost):
        note(
            f"{shown_source(file)} no longer holds {held[file]:,} of its records;"
            " --prune drops them"
        )
    _print_skipped(report.skipped)


def _print_skipped(skipped: tuple[Skipped, ...]) -> None:
    """Name what was left out and why: the first of each reason, and of each file's records."""
    rows: list[tuple[str, str]] = []
    seen, left = Counter[str](), Counter[str]()
    for item in skipped:
        kinds = (_file_of(item.source), item.reason)
        seen.update(kinds)
        if full := [kind for kind in kinds if seen[kind] > SHOWN]:
            left[full[0]] += 1
        else:
            rows.append((shown_source(item.source), item.reason))
    print_table(
        ("skipped", "reason"),
        [
            *rows,
            *(
                (f"and {n:,} more; --json lists all", shown_source(kind))
                for kind, n in left.items()
            ),
        ],
    )


def _file_of(source: str) -> str:
    """The file that a source, or the record that it names behind `#`, is in."""
    file, _, record = source.rpartition("#")
    return source if not file or "/" in record else file


def _changes(paths: list[str], store: Path) -> Iterator[set[Path] | None]:
    """Sets of the files that changed, a burst of changes as one, and empty ones while none do.

    None says to look at all files: at first, when a path came, went or was replaced, and where a
    name that changed is no Unicode. What is changed from then on follows. What changes in the
    store's own folder is left out.
    """
    with extra_for("watching folders"):
        import watchfiles
        from watchfiles._rust_notify import WatchfilesRustInternalError
    roots = [Path(path).expanduser().absolute() for path in paths]
    for root in roots:
        if not root.exists():
            raise InputError(f"there is no {str(root)!r}; name files and folders that are there")
    own = store.resolve()
    while True:
        there = {root: _identity(root) for root in roots}
        found = watchfiles.watch(
            *(root for root, identity in there.items() if identity),
            watch_filter=lambda _, path: not Path(path).is_relative_to(own),
            rust_timeout=WAIT_MS,
            yield_on_timeout=True,
        )
        # A name that is no Unicode ends the watcher, and so does a path that has just gone.
        with suppress(FileNotFoundError, WatchfilesRustInternalError):
            next(found)
            yield None
            for changed in found:
                if {root: _identity(root) for root in roots} != there:
                    break
                yield {Path(path) for _, path in changed}


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file or folder from another at the same path; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def delete(
    common: Common,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Documents: id, whole source, or path."),
    ] = None,
    where: WhereOption = None,
    glob: Annotated[
        str | None,
        typer.Option(
            metavar="GLOB",
            help="Only where the path or source ends so, such as docs/*.md.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete documents with all that the store knows from them alone.

    By their names, which are taken whole; or all that meet every --where and --glob: these are
    listed, and deleted once you agree.
    """
    # As data, since a glob may hold words of the language.
    by_glob = [] if glob is None else [{"field": "path", "operator": "~", "value": glob}]
    conditions = [*(where or ()), *by_glob]
    if bool(names) == bool(conditions):
        raise typer.BadParameter(
            "say what to delete: documents by their names, or else all that meet --where CONDITION"
            " and --glob GLOB"
        )
    with common.open() as engine:
        if conditions:
            found = engine.documents.list(conditions)
            for remark in engine.documents.unknown_fields(conditions):
                note(f"Note: {remark}")
            if found and not yes:
                _confirm(found)
        else:
            found = [engine.documents.named(name) for name in names or ()]
        deleted = engine.delete([document.id for document in found])
    told = {"deleted": deleted, "documents": [document.id for document in found]}
    common.tell(told, f"{deleted:,} deleted")


def _confirm(found: list[DocumentInfo]) -> None:
    """Ask before a filter deletes documents; where nobody can be asked, refuse."""
    for document in found:
        note(f"  {shown_source(document.source)}  {one_line(document.title)}")
    if not sys.stdin.isatty():
        match = counted(len(found), "document matches", "documents match")
        note(f"Error: {match}; add --yes to delete {'it' if len(found) == 1 else 'them'}")
        raise typer.Exit(FAILED)
    if not typer.confirm(f"Delete {counted(len(found), 'document')}?", err=True):
        raise typer.Exit(INCOMPLETE)


# `clew pack`: what a domain adds to a store.


ENOUGH = 0.9
"""Of a pack's questions, met."""


def pack(
    common: Common,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Say what this one adds; else list all.")
    ] = None,
    enable: Annotated[
        bool,
        typer.Option("--enable", help="Enable it for the store; `clew index` reads its formats."),
    ] = False,
    disable: Annotated[
        bool,
        typer.Option(
            "--disable", help="Take it back; what was indexed stays until it is indexed again."
        ),
    ] = False,
    test: Annotated[
        bool,
        typer.Option(
            "--test",
            help="Ask its questions over its own corpus; exit status 1 where under nine in ten"
            " have a gold document among the first three. No store is needed.",
        ),
    ] = False,
) -> None:
    """List what domains add to a store (types, formats, tools), enable it, or take it back."""
    from clew.wiring import store_exists

    if enable + disable + test > (name is not None):
        raise typer.BadParameter("--enable, --disable and --test each take a NAME and stand alone")
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if test:
        _test(common, load(name or "", settings.packs.folders), settings)
        return
    enabled: list[str] = []
    if enable or disable or store_exists(settings):
        with common.open(make=enable) as engine:
            if enable:
                engine.packs.enable(name or "")
            if disable:
                engine.packs.disable(name or "")
            enabled = engine.packs.enabled()
    if enable or disable:
        common.tell({"enabled": enabled}, f"enabled: {', '.join(enabled) or 'none'}")
    elif name is not None:
        found = load(name, settings.packs.folders)
        common.facts(
            {
                "name": found.name,
                "title": found.title,
                "description": found.description,
                "version": found.version,
                "entity_types": [one.name for one in found.entity_types],
                "relation_types": [one.name for one in found.relation_types],
                "hierarchies": list(found.hierarchies),
                "formats": list(found.readers),
                "tools": [getattr(tool, "name", str(tool)) for tool in found.tools()],
                "questions": "" if found.questions is None else found.questions.name,
                "enabled": name in enabled,
            }
        )
    else:
        there = available(settings.packs.folders)
        rows = [
            {"name": one, "enabled": one in enabled, "found": one in there}
            for one in sorted({*there, *enabled})
        ]
        common.tell(
            rows,
            "\n".join(
                f"{row['name']:20} {'enabled' if row['enabled'] else ''}"
                f"{'' if row['found'] else ', not found here'}"
                for row in rows
            ),
        )


def _test(common: Common, asked: Pack, settings: Settings) -> None:
    found = ask_questions(asked, settings)
    met = sum(one.answered for one in found)
    lines = [
        f"not met: {one.question} ({one.strategy}: {'; '.join(one.found)})"
        for one in found
        if not one.answered
    ]
    lines.append(f"{met} of {len(found)} questions answered among the first {FIRST}")
    common.tell({"questions": len(found), "answered": met, "asked": found}, "\n".join(lines))
    if met < ENOUGH * len(found):
        raise typer.Exit(INCOMPLETE)


# The questions of a pack, asked over its own corpus.


FIRST = 3
"""Passages among which an answer counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question and what came back."""

    question: str
    gold: tuple[str, ...]
    """Titles, or ends of sources, of which any one answers."""
    found: tuple[str, ...]
    """Titles of the first passages, best first."""
    strategy: str
    answered: bool


def ask_questions(pack: Pack, settings: Settings) -> list[Asked]:
    """Index the folder `corpus` beside the pack's questions into a store of its own, and ask.

    Raises `InputError` where the pack has no questions, or the corpus cannot be read whole.
    """
    if pack.questions is None:
        raise InputError(f"the pack {pack.name!r} has no questions; name a file of them in it")
    questions = list(_questions(pack.questions))
    corpus = pack.questions.parent / "corpus"
    with tempfile.TemporaryDirectory(prefix="clew-pack-") as folder:
        there = {"store": folder, "namespace": "default"}
        own = clew.load_settings(**{**settings.model_dump(), **there})
        with clew.open(settings=own, packs=[pack.name]) as store:
            for skipped in store.index([corpus]).skipped:
                raise InputError(f"{skipped.source!r} cannot be read: {skipped.reason}")
            return [
                Asked(
                    question=question,
                    gold=gold,
                    found=tuple(hit.chunk.title for hit in result.hits),
                    strategy=result.strategy,
                    answered=any(
                        hit.chunk.title in gold or hit.chunk.source.endswith(gold)
                        for hit in result.hits
                    ),
                )
                for question, gold in questions
                for result in [store.search(question, limit=FIRST)]
            ]


def _questions(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    lines = path.read_text("utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            one = json.loads(line)
            found.append((str(one["question"]), tuple(map(str, one["gold"]))))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path.name}, line {number} cannot be used ({error!r}); expected an object such as"
                ' {"question": "…", "gold": ["title"]}'
            ) from error
    return found
