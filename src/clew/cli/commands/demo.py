"""`clew demo`: a question whose answer shares no word with it, on a corpus that ships."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.common import Common
from clew.cli.output import write_json, write_line
from clew.cli.progress import reporting
from clew.cli.searching import print_result

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.types import IndexReport, SearchResult

QUESTION = "Who taught the builder of the Skerrow Rock light?"
ANSWER = "Ilse Marrable"
"""Title of the passage that answers; it shares no word with the question."""

SHOWN = 3
"""Passages printed, at least."""

NEXT = """\
Now your own documents (with uv, put `uv run` in front):

  clew index FOLDER         read them into ./.clew
  clew search "QUESTION"    ask them
  clew --help               see what else there is"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Demonstration:
    report: IndexReport
    result: SearchResult
    places: dict[str, int | None]
    """Place of the answering passage by strategy; None where it is not found."""


def demo(common: Common) -> None:
    """Index a small corpus that ships with Clew, ask it a two-hop question, show the path."""
    with _store(common) as engine:
        shown = _demonstrate(engine, bars=not common.json)
    if common.json:
        write_json(
            {
                "index": shown.report,
                "places": shown.places,
                "result": shown.result.to_dict(),
            }
        )
    else:
        _print(shown)


@contextmanager
def _store(common: Common) -> Iterator[Engine]:
    """A temporary store, or the one that `--store` names, for going on with the questions."""
    if common.store is not None:
        with common.open(make=True) as engine:
            yield engine
        return
    import clew

    with (
        tempfile.TemporaryDirectory(prefix="clew-demo-") as folder,
        clew.open(Path(folder), namespace=common.namespace) as engine,
    ):
        yield engine


def _demonstrate(engine: Engine, *, bars: bool) -> _Demonstration:
    with as_file(files("clew.cli") / "demo") as folder, reporting(bars=bars) as progress:
        report = engine.index([folder], progress=progress)
    results = {
        strategy: engine.search(QUESTION, strategy=strategy)
        for strategy in ("keyword", "vector", "graph")
    }
    places = {strategy: _place(result) for strategy, result in results.items()}
    return _Demonstration(report=report, result=results["graph"], places=places)


def _place(result: SearchResult) -> int | None:
    titles = [hit.chunk.title for hit in result.hits]
    return titles.index(ANSWER) + 1 if ANSWER in titles else None


def _print(shown: _Demonstration) -> None:
    documents = shown.report.added + shown.report.changed + shown.report.unchanged
    write_line(f"{documents} documents indexed in {shown.report.seconds:.1f} s.")
    write_line(f"\n{QUESTION}\n")
    print_result(shown.result, limit=max(SHOWN, shown.places["graph"] or 0))
    places = ", ".join(f"{name} {place or 'not found'}" for name, place in shown.places.items())
    write_line(
        f"The answer stands in “{ANSWER}”, which shares no word with the question.\n"
        f"Its place by strategy: {places}.\n\n{NEXT}"
    )
