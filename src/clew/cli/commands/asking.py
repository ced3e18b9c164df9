"""`clew search`, `ask` and `demo`: what asks a store."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from importlib.resources import as_file, files
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clew.cli.common import INCOMPLETE, Common, note, reporting
from clew.cli.operations import takes
from clew.cli.options import (
    FastOption,
    MaxCostOption,
    MaxTokensOption,
    MaxTokensSpentOption,
    TemporalOption,
    comma_separated,
)
from clew.cli.output import shown_source, stdout_page, write_json, write_line, write_piece
from clew.cli.searching import print_result, run_search
from clew.errors import NoLanguageModelError
from clew.operations import document_queries
from clew.text import counted

if TYPE_CHECKING:
    from clew.ports import Estimate
    from clew.types import Answer


@takes(document_queries.query_documents, "rag_type")
def search(
    common: Common,
    rag_type: Annotated[
        str | None,
        typer.Option(
            "--rag-type",
            metavar="NAME",
            help="In place of a strategy: traditional, contextual or graph.",
            show_default=False,
        ),
    ] = None,
    temporal: TemporalOption = None,
    fast: FastOption = False,
    max_tokens: MaxTokensOption = None,
    fusion: Annotated[
        Literal["rrf", "weighted"] | None,
        typer.Option(metavar="NAME", help="hybrid: rrf or weighted.", show_default=False),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="weighted fusion: of words.", show_default=False
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hierarchical: document, section, passage, or a type of the hierarchy.",
            show_default=False,
        ),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="CHAIN",
            help="hierarchical: 'person -works_at-> organisation'.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="global: level of reports.", show_default=False),
    ] = None,
    context: Annotated[
        bool,
        typer.Option("--context", help="Print the assembled context alone, for a language model."),
    ] = False,
    citations: Annotated[
        bool, typer.Option("--citations", help="With --context: end with numbered sources.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print where each passage and relation comes from, and why."
        ),
    ] = False,
    **given: Any,  # noqa: ANN401 - the operation's
) -> None:
    """Find the passages that answer a question, and show the path that leads to each.

    Exit status 1 where the best passage is less sure than --min-confidence.
    """
    if citations and not context:
        raise typer.BadParameter("--citations goes with --context: clew search --context …")
    run_search(
        common,
        context=context,
        citations=citations,
        explain=explain,
        rag_type=rag_type,
        temporal=temporal,
        fast=fast,
        max_tokens=max_tokens,
        fusion=fusion,
        alpha=alpha,
        layer=layer,
        hierarchy=hierarchy,
        level=level,
        **_asked(given),
    )


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """What an operation is given as the library takes it."""
    named = {"query": "question", "top_k": "limit"}
    asked = {named.get(name, name): value for name, value in given.items()}
    if "namespaces" in asked:
        names = asked["namespaces"] = comma_separated(",".join(asked["namespaces"]))
        if not names:
            raise typer.BadParameter(
                "--namespaces names none; expected names with commas between them"
            )
    return asked


@takes(document_queries.ask, "max_tokens_spent")
def ask(
    common: Common,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How passages are found, as in clew search; else the setting search.strategy.",
            show_default=False,
        ),
    ] = None,
    temporal: TemporalOption = None,
    fast: FastOption = False,
    max_hops: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=5, help="Steps from entity to entity.", show_default=False
        ),
    ] = None,
    max_tokens_spent: MaxTokensSpentOption = None,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take at most; ask no model.")
    ] = False,
    **given: Any,  # noqa: ANN401 - the operation's
) -> None:
    """Answer a question, with the words of the documents that each statement rests on.

    Without a language model, or where it fails, the answer is quoted from the documents. Exit
    status 1 where the documents do not say it as surely as --min-confidence.
    """
    chosen = {"strategy": strategy, "temporal": temporal, "fast": fast, "max_hops": max_hops}
    options = {**chosen, **_asked(given)}
    with common.first_of(options.get("namespaces", ())).open() as engine:
        if strategy != "keyword":
            engine.state.warm()
        if dry_run:
            print_estimate(common, engine.asking.estimate(**options))
            return
        engine.asking.warm(options.get("limit"))
        found = engine.ask(
            tell=None if common.json else write_piece,
            max_tokens_spent=max_tokens_spent,
            max_cost=max_cost,
            **options,
        )
    if common.json:
        write_json(found.to_dict())
    else:
        write_line("")
        _print_sources(found)
        for also in found.questions[1:]:
            note(f"Also searched for: {also}")
        for remark in found.notes:
            note(f"Note: {remark}")
        _print_spent(found)
    if "min_confidence" in options and not found.answered:
        raise typer.Exit(INCOMPLETE)


def print_estimate(common: Common, found: Estimate) -> None:
    """What work would take; nothing was asked."""
    common.tell(found, estimated(found))
    if not common.json:
        note("Nothing was asked.")


def estimated(found: Estimate) -> str:
    """An estimate in words."""
    cost = "price unknown" if found.cost is None else f"about ${found.cost:.4f}"
    of = f"{found.documents:,} documents, " if found.documents else ""
    return (
        f"{of}{found.calls:,} calls ({found.cached:,} known or not"
        f" needed), about {found.input_tokens:,} tokens to read and {found.output_tokens:,} to"
        f" write, {cost}"
    )


def _print_sources(found: Answer) -> None:
    """The sources with what was quoted of them, and the path to each."""
    quotations = [q for statement in found.statements for q in statement.quotations]
    for source in found.sources:
        heading = f"[{source.number}] {' '.join(source.title.split())}"
        if source.id:  # else stated by hand
            of_text = f"characters {source.start}–{source.end}"
            place = of_text if source.page is None else f"page {source.page}"
            of = [f"namespace {source.namespace}"] if source.namespace else []
            of += [shown_source(source.source)] if source.title != source.source else []
            heading = ", ".join([heading, place, *of])
        write_line(f"\n{heading}")
        if found.model:
            texts = (q.text for q in quotations if q.source == source.number)
            for text in dict.fromkeys(texts):
                write_line(f"    “{' '.join(text.split())}”")
        elif source.text:
            write_line(f"    {' '.join(source.text.split())}")
        if source.path:
            from clew.cli.render import print_thread

            print_thread(stdout_page(), source.path, f"[{source.number}] {source.title}")


def _print_spent(found: Answer) -> None:
    """Who answered, and what it took."""
    seconds = sum(found.timings_ms.values()) / 1000
    if not found.model and not found.calls:
        note(f"Without a language model; {seconds:.1f} s.")
        return
    known = f", {found.cached_calls} known" if found.cached_calls else ""
    cost = "" if found.cost is None else f", ${found.cost:.4f}"
    note(
        f"{found.model or 'Sentences of the documents'}: {counted(found.calls, 'request')}{known},"
        f" {found.usage.input_tokens:,} tokens read, {found.usage.output_tokens:,} written{cost},"
        f" {seconds:.1f} s."
    )


def try_model(common: Common) -> None:
    """`clew check --llm`: exit status 1 where the model fails at a task."""
    from clew.settings import load_settings
    from clew.wiring import make_language_model, make_language_provider

    settings = load_settings(store=common.store, namespace=common.namespace)
    with ExitStack() as closing:
        provider = make_language_provider(settings, closing.callback)
        if provider is None:
            raise NoLanguageModelError
        found = list(make_language_model(settings, provider).trials())
    common.table(
        {"context_tokens": settings.llm.context_tokens, "trials": found},
        ("task", "model", "", "seconds", "tokens/s", "found"),
        [
            (t.what, t.model, "ok" if t.ok else "FAILED", t.seconds, t.tokens_per_second, t.found)
            for t in found
        ],
    )
    if not all(trial.ok for trial in found):
        raise typer.Exit(INCOMPLETE)


# `clew demo`: a question whose answer shares no word with it, on a corpus that ships.


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
            strategy: engine.search(QUESTION, strategy=strategy, fast=True)
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
