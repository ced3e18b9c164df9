"""A library of research: papers that cite each other, build on each other and improve on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.hookspecs import EntityType, Field, Pack, RelationType
from clew.plugins.papers.reading import (
    PAPER,
    paper_structure,
    read_bib,
    read_json,
    read_lines,
    read_paper,
    read_ris_file,
)


def tools() -> Sequence[object]:
    """The tools, imported when the first is asked for."""
    from clew.plugins.papers.asking import TOOLS

    return TOOLS


PACK = Pack(
    name="papers",
    title="Papers",
    description="Bibliographies and papers: who wrote what, what cites and builds on what, when.",
    version=2,
    entity_types=(
        EntityType(
            name=PAPER,
            fields=(
                Field(name="author", description="Names, with semicolons between them."),
                Field(name="year", kind="number"),
                Field(name="venue"),
                Field(name="citations", kind="number", minimum=0),
                Field(name="doi"),
                Field(name="arxiv"),
                Field(name="key", description="Its own name in the file that it came from."),
                Field(name="type", description="The source's word: article, inproceedings, …"),
            ),
        ),
        *(EntityType(name=n) for n in ("venue", "method", "dataset", "task", "topic")),
    ),
    relation_types=(
        RelationType(name="cites", inverse="cited_by"),
        RelationType(name="builds_on", inverse="basis_of"),
        RelationType(
            name="precedes", inverse="follows", description="Cited, and of a year before."
        ),
        RelationType(name="written_by", inverse="wrote", synonyms=("authored_by",)),
        RelationType(name="published_in"),
        RelationType(name="about"),
        RelationType(name="introduces", inverse="introduced_by"),
        RelationType(name="uses", inverse="used_by"),
        RelationType(name="evaluated_on"),
        RelationType(name="improves", inverse="improved_by"),
        RelationType(name="addresses"),
    ),
    readers={
        ".bib": read_bib,
        ".bibtex": read_bib,
        ".ris": read_ris_file,
        ".json": read_json,
        ".jsonl": read_lines,
        ".pdf": read_paper,
    },
    structures=(paper_structure,),
    tools=tools,
    strategies=dict.fromkeys(("fact", "look-up", "period", "newest", "documents on"), "papers"),
    questions=Path(__file__).parent / "questions.jsonl",
)
