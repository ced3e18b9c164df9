"""Show what `evaluate` answers: side by side on a terminal, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

# Keys of a row that are not measures.
_OTHER = frozenset({"strategy", "questions", "query_ms", "by_type"})


def to_table(report: Mapping[str, Any]) -> Table:
    """One folder's report as a table for a terminal; measures in per cent."""
    from rich.table import Table

    header, *rows = _cells(report)
    table = Table(title=_title(report), caption=" ".join(notes(report)), title_justify="left")
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def to_markdown(reports: Sequence[Mapping[str, Any]]) -> str:
    """Reports of several folders as Markdown, a heading and a table each; measures in per cent."""
    return "\n\n".join(_markdown_section(report) for report in reports) + "\n"


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader should know before comparing the figures, as sentences."""
    found: list[str] = []
    if report.get("trained_on"):
        found.append("The ranker of `graph` was trained on this set: its row shows the fit.")
    if report.get("skipped"):
        found.append(f"{report['skipped']} documents could not be indexed.")
    unknown = report.get("unknown_judgements", {})
    if unknown.get("questions"):
        found.append(f"{unknown['questions']} judgements name unknown questions (left out).")
    if unknown.get("passages"):
        found.append(f"{unknown['passages']} judgements name unknown passages (never found).")
    return found


def _markdown_section(report: Mapping[str, Any]) -> str:
    header, *rows = _cells(report)
    alignment = ["---"] + ["---:"] * (len(header) - 1)
    table = "\n".join(f"| {' | '.join(_escape(row))} |" for row in (header, alignment, *rows))
    return "\n\n".join([f"### {_title(report)}", table, *notes(report)])


def _escape(row: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in row]


def _title(report: Mapping[str, Any]) -> str:
    seconds = report["index_seconds"]
    return (
        f"{report['dataset']}: {report['passages']:,} passages, {report['questions']:,} questions, "
        f"indexed in {seconds['total']:.1f} s ({seconds['embedding']:.1f} s of it embedding)"
    )


def _cells(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """The heading, then each strategy and under it its question types."""
    names = [name for name in report["rows"][0] if name not in _OTHER]
    yield ["strategy", *names, "p50 ms", "p95 ms"]
    for row in report["rows"]:
        times = row["query_ms"]
        yield [row["strategy"], *_percent(row, names), f"{times['p50']:.1f}", f"{times['p95']:.1f}"]
        for kind, means in row["by_type"].items():
            yield [f"- {kind} ({means['questions']})", *_percent(means, names), "", ""]


def _percent(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [
        f"{row[name]:,.0f}" if name == "context_tokens" else f"{100 * row[name]:.1f}"
        for name in names
    ]
