"""Options of `clew search` alone: what single strategies take, and how a result is printed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class FusionName(StrEnum):
    """How `hybrid` fuses its channels."""

    rrf = "rrf"
    weighted = "weighted"


StrategyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto, vector, keyword, hybrid, graph, parent_child, topic, multi_hop,"
        " hierarchical, temporal, global, local, weighted or drift; else the setting"
        " search.strategy.",
        show_default=False,
    ),
]
TopOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--limit", "--top-k", metavar="N", min=1, help="Passages, at most.", show_default=False
    ),
]
RagTypeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rag-type",
        metavar="NAME",
        help="In place of a strategy: traditional, contextual or graph.",
        show_default=False,
    ),
]
FusionOption: TypeAlias = Annotated[
    FusionName | None,
    typer.Option(metavar="NAME", help="hybrid: rrf or weighted.", show_default=False),
]
AlphaOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0, max=1, help="weighted fusion: of words.", show_default=False
    ),
]
LayerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="hierarchical: document, section, passage, or a type of the hierarchy.",
        show_default=False,
    ),
]
HierarchyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="CHAIN",
        help="hierarchical: 'person -works_at-> organisation'.",
        show_default=False,
    ),
]
LevelOption: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="global: level of reports.", show_default=False),
]
ExpandOption: TypeAlias = Annotated[
    bool, typer.Option("--expand", help="Search for the entities' other names, too.")
]
SubQuestionsOption: TypeAlias = Annotated[
    bool, typer.Option("--sub-questions", help="Ask each part of the question by itself, too.")
]
ContextOption: TypeAlias = Annotated[
    bool,
    typer.Option("--context", help="Print the assembled context alone, for a language model."),
]
CitationsOption: TypeAlias = Annotated[
    bool, typer.Option("--citations", help="With --context: end with numbered sources.")
]
ExplainOption: TypeAlias = Annotated[
    bool,
    typer.Option("--explain", help="Print where each passage and relation comes from, and why."),
]
