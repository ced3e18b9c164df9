"""What a worker process answers with, and how much of it is believed.

A worker may have been taken over by the document that it read. What it sends is taken for data: an
answer is at most so many bytes, and unpickling it makes no object but those listed here, which are
values without behaviour. What they say (texts, ranges, names) is believed as far as any text of a
document is. What goes to a worker comes from this process and is unpickled there as it is.
"""

from __future__ import annotations

import io
import pickle
from typing import Literal

from clew import errors, types
from clew.errors import ClewError, MissingExtraError, UnreadableError

Kind = Literal["ready", "item", "end", "error", "memory", "crash", "unusable", "embed"]
"""`ready` or `unusable` once; then for each request items and one of `end`, `error`, `memory` and
`crash`, with details and whether the worker ends, too. `embed` asks for the vectors of texts."""

_VALUES = frozenset({
    *((value.__module__, value.__name__) for value in (
        *(types.Document, types.Piece, types.Section, types.Chunk, types.Split, types.Skipped),
        *(types.Extraction, types.ChunkExtraction, types.Mention, types.ExtractedRelation),
        types.AliasEvidence,
    )),
    ("clew.indexing.isolation.steps", "Prepared"),
    ("clew.indexing.isolation.requests", "Contents"),
    *(("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")),
})  # fmt: skip


class _Values(pickle.Unpickler):
    """Makes the values listed, and nothing else."""

    def find_class(self, module: str, name: str) -> object:
        """A class by name. Raises `UnpicklingError` for one that no answer holds."""
        if (module, name) not in _VALUES:
            raise pickle.UnpicklingError(f"{module}.{name} is no value that a worker may send")
        return super().find_class(module, name)


def pack(kind: Kind, value: object = None) -> bytes:
    """One message."""
    return pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes, source: str) -> tuple[Kind, object]:
    """The message of a worker that reads a source.

    Raises `UnreadableError` where it holds anything but values.
    """
    try:
        kind, value = _Values(io.BytesIO(data)).load()
    except Exception as error:
        raise UnreadableError(
            source,
            f"what was found is no plain value ({error}); extractors give texts, numbers, times,"
            " lists and objects of these",
        ) from error
    return kind, value


def describe_error(error: ClewError) -> tuple[str, tuple[str, ...]]:
    """An error as the name of its class and what that is made of."""
    if isinstance(error, UnreadableError):
        return type(error).__name__, (error.source, error.reason)
    if isinstance(error, MissingExtraError):
        return type(error).__name__, (error.feature, error.extra)
    return type(error).__name__, (str(error),)


def described_error(value: object) -> ClewError:
    """The error that `describe_error` described; one that is not known is the root of them."""
    assert isinstance(value, tuple)
    name, arguments = value
    kind = getattr(errors, str(name), None)
    if not (isinstance(kind, type) and issubclass(kind, ClewError)):
        return ClewError(*map(str, arguments))
    return kind(*map(str, arguments))
