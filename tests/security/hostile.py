"""An extractor that a document has taken over: it does what the text says."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.types import Chunk, Document, Extraction

LOOP, MEMORY, NAMES, FLOOD, ABORT, OBJECT, FAULT, ONCE = (
    *("loopforever", "eatmemory", "namewithoutend", "floodanswer"),
    *("abortprocess", "sendobject", "raisefault", "diewhenkilled"),
)
"""What a text says."""


class Forbidden:
    """Unpickled, it would have changed the file system."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("taken-over",)


@dataclass
class Hostile:
    """Implements `clew.ports.Extractor`; writes down the process and the text of each attempt."""

    log: Path
    name: str = "hostile"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{os.getpid()} {document.source}\n")
        found = PatternExtractor().extract(document, chunks)
        text = document.text
        if LOOP in text:
            # Inside the expression engine, which holds the interpreter's lock.
            re.match(r"(a|a)+$", "a" * 60 + "b")
        if ONCE in text and self.attempts(document.source) == 1:
            re.match(r"(a|a)+$", "a" * 60 + "b")
        if MEMORY in text:
            eaten = []
            while True:
                eaten.append(bytes(10_000_000))
        if NAMES in text:
            (first,) = found.chunks
            return replace(found, chunks=(replace(first, sentences=((0, 1),) * 5000),))
        if FLOOD in text:
            return replace(found, about=(("x" * 3_000_000, "name"),))
        if ABORT in text:
            os.abort()
        if OBJECT in text:
            return replace(found, about=(("A name", Forbidden()),))  # type: ignore[arg-type]
        if FAULT in text:
            raise ZeroDivisionError("a fault of the extractor")
        return found

    def attempts(self, source: str = "") -> int:
        """How often a document was extracted; all of them without a name."""
        return len(self.processes(source))

    def processes(self, source: str = "") -> list[int]:
        """In which processes."""
        if not self.log.exists():
            return []
        lines = [line.split(" ", 1) for line in self.log.read_text("utf-8").splitlines()]
        return [int(process) for process, name in lines if name.endswith(source)]
