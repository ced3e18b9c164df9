"""Show what `evaluate_answers` answers: as a table, or as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.table import Table

_BAR, _WIDTH, _LABEL = 22, 640, 220
"""Pixels: height of a bar, width of a plot, and of the labels beside it."""
_BINS = 12
_LONGEST = 300
"""Characters of a question and of an answer that the page shows."""
_STYLE = """\
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #8886 }
svg { max-width: 100%; height: auto } svg text { fill: currentColor; font-size: 13px }
rect { fill: #2f6f9f }
"""


def to_answers_table(report: Mapping[str, Any]) -> Table:
    """One data set's report as a table for a terminal; shares in per cent."""
    from rich.table import Table

    table = Table(title=_title(report), title_justify="left", caption=_caption(report))
    table.add_column("measure")
    table.add_column("value", justify="right")
    for name, value in _figures(report):
        table.add_row(name, value)
    return table


def to_page(reports: Sequence[Mapping[str, Any]]) -> str:
    """Reports of several data sets as one HTML page with plots; it holds no script and no link."""
    body = "\n".join(_section(report) for report in reports)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Answers</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n"
        "</html>\n"
    )


def _title(report: Mapping[str, Any]) -> str:
    return (
        f"{report['dataset']}: {report['questions']:,} questions, {report['mode']} by"
        f" {report['strategy']}, {report['model'] or 'no language model'}"
    )


def _caption(report: Mapping[str, Any]) -> str:
    judged = report["answers"].get("judge")
    if judged is None:
        return ""
    return f"judged by {judged['model']}, prompt {judged['prompt']}, {judged['judged']:,} answers"


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each measure in words, and its value."""
    shares = dict(_shares(report))
    yield from ((name, f"{100 * value:.1f}") for name, value in shares.items())
    spent, latency = report["spent"], report["latency_ms"]
    yield "tokens", f"{spent['tokens']:,}"
    yield "cost", "unknown" if spent["cost"] is None else f"${spent['cost']:.4f}"
    yield "requests, known before", f"{spent['calls']:,}, {spent['cache_hits']:,}"
    yield "milliseconds p50, p95", f"{latency['p50']:.0f}, {latency['p95']:.0f}"
    hops = report["retrieval"]["hops"]
    yield "hops to what answers", ", ".join(f"{hop}: {count}" for hop, count in hops.items())


def _shares(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Measures from 0 to 1 that there are; `judge` with its model in the caption."""
    answers, retrieval = report["answers"], report["retrieval"]
    judged = answers.get("judge", {}).get("right")
    named = {
        "exact match": answers["exact_match"],
        "F1": answers["f1"],
        "right answer contained": answers["contains"],
        "judged right": judged,
        "answered": answers["answered"],
        "answered by the model": answers["by_model"],
        "citation precision": answers["citation_precision"],
        "citation recall": answers["citation_recall"],
        "statements without support": answers["unsupported"],
        f"precision@{report['k']}": retrieval["precision"],
        "traversal efficiency": retrieval["traversal_efficiency"],
        "questions reached through the graph": retrieval["questions_in_graph"],
        "passages with entities": retrieval["passages_with_entities"],
        "entities with edges": retrieval["entities_with_edges"],
        "community cohesion": retrieval["community_cohesion"],
    }
    return ((name, value) for name, value in named.items() if value is not None)


# --- the page


def _section(report: Mapping[str, Any]) -> str:
    percent = [(name, 100 * value) for name, value in _shares(report)]
    hops = [(f"{hop} hops", float(n)) for hop, n in report["retrieval"]["hops"].items()]
    times = [row["ms"] for row in report["rows"]]
    caption = f"<p>{escape(_caption(report))}</p>" if _caption(report) else ""
    return "\n".join(
        [
            f"<h1>{escape(_title(report))}</h1>{caption}",
            _table(("measure", "value"), _figures(report)),
            f"<h2>Shares, in per cent</h2>{_bars(percent, 100)}",
            f"<h2>Passages that answer, by the hops to them</h2>{_bars(hops)}",
            f"<h2>Questions, by milliseconds</h2>{_bars(_histogram(times))}",
            "<h2>Questions</h2>",
            _questions(report["rows"]),
        ]
    )


def _questions(rows: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        (
            row["question"][:_LONGEST],
            row["answer"][:_LONGEST],
            "; ".join(row["gold"])[:_LONGEST],
            "" if row.get("f1") is None else f"{100 * row['f1']:.0f}",
            f"{row['ms']:.0f}",
        )
        for row in rows
    ]
    return _table(("question", "answer", "right answer", "F1", "ms"), shown)


def _table(header: Sequence[str], rows: Iterator[Any] | Sequence[Any]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _bars(values: Sequence[tuple[str, float]], most: float | None = None) -> str:
    """A plot of bars; its values stand beside them."""
    if not values:
        return "<p>None.</p>"
    most = most or max(value for _, value in values) or 1.0
    room = _WIDTH - _LABEL - 60
    lines = []
    for place, (name, value) in enumerate(values):
        top, width = place * _BAR, room * max(0.0, value) / most
        lines.append(
            f'<text x="0" y="{top + 15}">{escape(name)}</text>'
            f'<rect x="{_LABEL}" y="{top + 3}" width="{width:.1f}" height="{_BAR - 6}"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{top + 15}">{value:.4g}</text>'
        )
    height = len(values) * _BAR
    return (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">\n'
        + "\n".join(lines)
        + "\n</svg>"
    )


def _histogram(values: Sequence[float]) -> list[tuple[str, float]]:
    if not values:
        return []
    counts, edges = np.histogram(values, bins=min(_BINS, len(values)))
    return [
        (f"{low:.0f} to {high:.0f}", float(count))
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
