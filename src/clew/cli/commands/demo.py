"""`clew demo`: a question whose answer shares no word with it, on a corpus that ships."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from importlib.resources import as_file, files
from tempfile import TemporaryDirectory

from clew.cli.common import Common
from clew.cli.output import write_json, write_line
from clew.cli.progress import reporting
from clew.cli.searching import print_result

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


def demo(common: Common) -> None:
    """Index a small corpus that ships with Clew, ask it a two-hop question, show the path."""
    with (
        # For going on with the questions, the store may be named.
        nullcontext(common.store) if common.store else TemporaryDirectory() as store,
        replace(common, store=store).open(make=True) as engine,
        as_file(files("clew.cli") / "demo") as folder,
        reporting(bars=not common.json) as progress,
    ):
        report = engine.index([folder], progress=progress)
        results = {
            strategy: engine.search(QUESTION, strategy=strategy)
            for strategy in ("keyword", "vector", "graph")
        }
    places: dict[str, int | None] = {}
    for strategy, result in results.items():
        titles = [hit.chunk.title for hit in result.hits]
        places[strategy] = titles.index(ANSWER) + 1 if ANSWER in titles else None
    if common.json:
        told = {"index": report, "places": places, "result": results["graph"].to_dict()}
        write_json(told)
        return
    documents = report.added + report.changed + report.unchanged
    write_line(f"{documents} documents indexed in {report.seconds:.1f} s.\n\n{QUESTION}\n")
    print_result(results["graph"], limit=max(SHOWN, places["graph"] or 0))
    found = ", ".join(f"{name} {place or 'not found'}" for name, place in places.items())
    write_line(
        f"The answer stands in “{ANSWER}”, which shares no word with the question.\n"
        f"Its place by strategy: {found}.\n\n{NEXT}"
    )
