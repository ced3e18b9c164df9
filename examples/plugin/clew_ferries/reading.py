"""Files of ferries: how they are read, where they are cut, and what they state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.hookspecs import DocumentKind
from clew.indexing.outline import Break, Cut, Outline, Unit, Weigh, divide
from clew.indexing.reading.common import RawFile, ReadResult, decode, record
from clew.types import (
    Chunk,
    ChunkExtraction,
    DeclaredEntity,
    Document,
    Extraction,
    Skipped,
    Statement,
    Structure,
)

MEDIA_TYPE = "text/x-ferries"


def read_ferries(raw: RawFile) -> ReadResult:
    """One document a ferry; one without ports is named by its line, and loses no other."""
    documents, skipped, line = [], [], 1
    for block in decode(raw).strip().split("\n\n"):
        name, *rest = block.splitlines()
        fields = dict(part.split(": ", 1) for part in rest if ": " in part)
        if "calls at" in fields:
            known = {"captain": fields.get("captain", ""), "ports": fields["calls at"]}
            documents.append(
                record(
                    raw,
                    name,
                    block,
                    title=name,
                    media_type=MEDIA_TYPE,
                    entity_type="ferry",
                    fields=known,
                    date=fields.get("since"),
                )
            )
        else:
            reason = f"line {line}: {name} calls at no port"
            skipped.append(Skipped(source=raw.record(name), reason=reason))
        line += block.count("\n") + 2
    return ReadResult(documents=tuple(documents), skipped=tuple(skipped))


def cut_ferry(document: Document, weigh: Weigh, limit: int) -> Cut:
    """Each line is a passage; one that is too long is cut between its words."""
    units: list[Unit] = []
    start = 0
    for line in document.text.splitlines(keepends=True):
        end = start + len(line.rstrip())
        units += divide(document.text, start, end, weigh, limit, Break.LINE)
        start += len(line)
    return Cut(Outline((0,), ((),)), units, always=Break.LINE)


def ferry_names(document: Document, chunks: Sequence[Chunk]) -> Extraction:
    """None: all that a ferry names is in its fields, which `ferry_structure` reads."""
    whole = (ChunkExtraction(sentences=((0, len(chunk.text)),)) for chunk in chunks)
    return Extraction(chunks=tuple(whole))


FERRIES = DocumentKind(name="ferries", has=MEDIA_TYPE.__eq__, cut=cut_ferry, names=ferry_names)


def ferry_structure(document: Document) -> Structure:
    """The captain and the ports of a ferry; nothing for any other document."""
    if document.media_type != MEDIA_TYPE:
        return Structure()
    ferry = DeclaredEntity(name=document.title, entity_type="ferry")
    return Structure(statements=tuple(_stated(document)), entities=(ferry,))


def _stated(document: Document) -> Iterator[Statement]:
    ports = [(port, "calls_at", "place") for port in document.metadata["ports"].split(", ")]
    captain = document.metadata.get("captain")
    people = [(captain, "commanded_by", "person")] if captain else []
    for tail, relation, kind in (*ports, *people):
        start = document.text.index(tail)
        yield Statement(
            head=document.title,
            head_type="ferry",
            relation_type=relation,
            tail=tail,
            tail_type=kind,
            start=start,
            end=start + len(tail),
            valid_from=document.created_at,
        )
