"""The errors that Clew raises, each saying what was given, what was expected, what to do next.

ClewError
├── InputError                what the caller gave cannot be used
│   ├── UnreadableError       a file or record that cannot be read (indexing goes on without it)
│   │   └── LimitError        reading it takes more than a limit of the settings allows
│   ├── FilterError           a filter that cannot be read; points at the character
│   ├── NotFoundError         no document, chunk or entity of that name
│   └── SettingsError         a setting or a combination of settings that cannot be
├── StoreError                the store cannot do what was asked
│   ├── StoreBusyError        another process kept the store locked for longer than the time limit
│   ├── StoreUnavailableError a server that holds the store, or its vectors, cannot be reached
│   ├── StoreMismatchError    the store has another embedder or another schema
│   └── StoreCorruptError     the database is damaged
├── ModelError                a model cannot be found, loaded or run
│   ├── ModelUnavailableError a language model cannot be reached, or is overloaded
│   ├── ReplyError            what a language model answered cannot be used
│   └── BudgetError           a request would go beyond what may be spent
├── WorkerError               the process that reads documents cannot be started
└── MissingExtraError         an optional dependency is not installed
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

EMPTY, BINARY = "empty", "binary"
"""Reasons of `UnreadableError` that callers tell from others: empty is no fault."""


_secrets: set[str] = set()
"""Keys and passwords in use."""
_PIECE = 8
"""Characters of a secret, in a row, that are not shown."""
_FEW = 500
_LOGIN = re.compile(r"(?<=//)[^\s/@:]{0,256}:[^\s/@]{1,256}(?=@)")
_MARKS = re.compile(r"(?:[*\u2022]{2,}|\u2026|\.{3,})+")
_HEAD, _TAIL, _NEAR = re.compile(r"[\w.-]{0,64}\Z"), re.compile(r"[\w-]*"), 64
"""A secret as servers quote it: its beginning, marks, its end."""
_ENDS = re.compile(r"[^!-~•…]")
"""No key, mask or address has it: what follows stands for itself."""
HIDDEN = "[secret]"


def keep_secret(secret: str) -> None:
    """Show this text in no message; one that is too short for a secret is no secret."""
    if len(secret) >= _PIECE:
        _secrets.add(secret)


def redacted(text: str) -> str:
    """The text without secrets, without pieces of them, and without passwords of addresses.

    Servers quote what they refuse: a key whole, cut off, or with its middle masked.
    """
    text = _LOGIN.sub(HIDDEN, text)
    secrets = tuple(_secrets)
    pieces = {one[at : at + _PIECE] for one in secrets for at in range(len(one) - _PIECE + 1)}
    # To look for some pieces is faster than to look at each place; most texts have none.
    if len(pieces) < _FEW and not any(piece in text for piece in pieces):
        return _unmasked(text, secrets)
    shown: list[str] = []
    end = 0
    for start in range(len(text) - _PIECE + 1):
        if text[start : start + _PIECE] in pieces:
            if start > end or not shown:
                shown += [text[end:start], HIDDEN]
            end = start + _PIECE
    return _unmasked("".join(shown) + text[end:], secrets)


def redacted_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """What `redacted` makes of a text that comes in pieces.

    The end is held back as long as it may be the beginning of a secret: what is told ends with a
    word and lies further back than the longest secret reaches.
    """
    held = ""
    for piece in pieces:
        held += piece
        least = max(map(len, _secrets), default=0)
        ends = [match.end() for match in _ENDS.finditer(held, 0, max(0, len(held) - least))]
        whole = redacted(held) if ends else ""
        for end in ends[::-1]:
            if (told := redacted(held[:end])) + redacted(held[end:]) == whole:
                yield told
                held = held[end:]
                break
    if held:
        yield redacted(held)


def _unmasked(text: str, secrets: Sequence[str]) -> str:
    """The text without secrets whose middle is masked."""
    shown: list[str] = []
    end = 0
    for marks in _MARKS.finditer(text) if secrets else ():
        head = _HEAD.search(text[max(end, marks.start() - _NEAR) : marks.start()])
        tail = _TAIL.match(text, marks.end(), marks.end() + _NEAR)
        begins, ends = (found[0] if found else "" for found in (head, tail))
        if any(
            (len(begins) > 2 and one.startswith(begins)) or (len(ends) > 2 and one.endswith(ends))
            for one in secrets
        ):
            shown += [text[end : marks.start() - len(begins)], HIDDEN]
            end = marks.end() + len(ends)
    return "".join(shown) + text[end:]


class ClewError(Exception):
    """Root of every error that Clew raises on purpose; what it says holds no secret.

    Messages reach terminals, callers, logs and the store; many quote what came from elsewhere.

    Example:
        >>> try:
        ...     store.get("nowhere")
        ... except clew.ClewError as error:
        ...     print(error.line)
        no document 'nowhere'; `clew documents` or list_documents shows what there is
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(one) if isinstance(one, str) else one for one in args))

    @property
    def line(self) -> str:
        """The message in one line."""
        return " ".join(str(self).splitlines())


class InputError(ClewError):
    """What the caller gave cannot be used."""


class UnreadableError(InputError):
    """A file or record that cannot be read.

    `reason` is short enough for a table: "encrypted", "empty", "binary".
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"cannot read {source!r}: {reason}")
        self.source = source
        self.reason = reason


class LimitError(UnreadableError):
    """Reading a document takes more than a limit of the settings allows.

    It is not read again by itself before the document or a limit changes.
    """


class FilterError(InputError):
    """A filter that cannot be read; points at the character where it cannot."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        start, end = max(0, at - 50), at + 30
        shown = "".join(c if c.isprintable() else " " for c in text[start:end])
        shown = ("…" if start else "") + shown + ("…" if text[end:] else "")
        caret = " " * (at - start + bool(start)) + "^"
        self.position = at
        self._line = f"cannot read the filter {shown!r} at character {at + 1}: {problem}"
        super().__init__(f"{self._line}\n  {shown}\n  {caret}")

    @property
    def line(self) -> str:
        """The message without the line that points; it names the character."""
        return self._line


class NotFoundError(InputError):
    """No document, chunk or entity of that name."""


class SettingsError(InputError):
    """A setting, or a combination of settings, that cannot be."""


class NoLanguageModelError(SettingsError):
    """No language model is configured, and nothing can be done without one."""

    def __init__(self) -> None:
        super().__init__(
            "no language model is configured: set llm.provider and llm.model, in clew.toml or as"
            " CLEW_LLM__PROVIDER and CLEW_LLM__MODEL"
        )


class StoreError(ClewError):
    """The store cannot do what was asked."""


class StoreBusyError(StoreError):
    """Another process kept the store locked for longer than the time limit."""


class StoreUnavailableError(StoreError):
    """A server that holds the store, or its vectors, cannot be reached."""


class StoreMismatchError(StoreError):
    """The store was built with another embedder, or its tables are those of another Clew."""


class StoreCorruptError(StoreError):
    """The database is damaged."""


class ModelError(ClewError):
    """A model cannot be found, loaded or run."""


class ModelUnavailableError(ModelError):
    """A language model cannot be reached, or is overloaded.

    `retry_after` are the seconds that it asks to wait. `reached` says whether it answered at all.
    """

    def __init__(
        self, message: str, *, reached: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reached = reached
        self.retry_after = retry_after


class ReplyError(ModelError):
    """What a language model answered cannot be used.

    `reason` is short enough for a table: "malformed", "empty", "truncated", "refused".
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class BudgetError(ModelError):
    """A request would go beyond what may be spent."""


class WorkerError(ClewError):
    """The process that reads documents cannot be started."""


EXTRAS = {
    "code": ("source code by its grammar", ("tree_sitter", "tree_sitter_python")),
    "documents": ("PDF and Word", ("pypdf", "docx")),
    "office": ("PowerPoint, Excel, EPUB and Outlook", ("markitdown",)),
    "papers": ("bibliographies", ("bibtexparser", "pylatexenc")),
    "personal": ("calendars and contacts", ("icalendar",)),
    "watch": ("watching folders", ("watchfiles",)),
    "large": ("faster indexes of large stores", ("tantivy", "turbovec")),
    "hub": (
        "models from the Hugging Face hub, and their tokenizers",
        ("huggingface_hub", "tokenizers"),
    ),
    "llm": ("hosted language models", ("pydantic_ai",)),
    "eval": ("clew eval", ("ir_measures",)),
    "neo4j": ("stores on Neo4j", ("neo4j",)),
    "qdrant": ("vectors in Qdrant", ("qdrant_client",)),
    "chroma": ("vectors in Chroma", ("chromadb",)),
    "sentence-transformers": ("rerankers that are no ONNX file", ("sentence_transformers",)),
    "langchain": ("the adapter to LangChain", ("langchain_core",)),
    "langgraph": ("the adapter to LangGraph", ("langgraph",)),
    "llama-index": ("the adapter to LlamaIndex", ("llama_index",)),
    "haystack": ("the adapter to Haystack", ("haystack",)),
    "openai-agents": ("the adapter to OpenAI Agents", ("agents",)),
    "pydantic-ai": ("the adapter to Pydantic AI", ("pydantic_ai",)),
}
"""By extra, what it is for, and the modules that it brings."""


def has_extra(extra: str) -> bool:
    """Whether an extra is installed; nothing is loaded."""
    return all(find_spec(module) for module in EXTRAS[extra][1])


@contextmanager
def needing_extras(source: str) -> Iterator[None]:
    """Say that a source cannot be read where what reads it is an extra that is not installed.

    Raises:
        UnreadableError: in place of the `ModuleNotFoundError`; the source is read by the next run
            that has the extra.
    """
    try:
        with extra_for(source):
            yield
    except MissingExtraError as error:
        raise UnreadableError(source, f"needs pip install 'clew[{error.extra}]'") from error


@contextmanager
def extra_for(feature: str) -> Iterator[None]:
    """Around what imports an optional dependency.

    Raises:
        MissingExtraError: in place of the `ModuleNotFoundError`, where an extra has the module.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        for extra, (_, modules) in EXTRAS.items():
            if package in modules:
                raise MissingExtraError(feature, extra) from error
        raise


class MissingExtraError(ClewError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional dependency. Install it with: pip install 'clew[{extra}]'"
        )
        self.feature = feature
        self.extra = extra


def check_options(given: Mapping[str, object], known: type) -> None:
    """Raise `InputError` for an option that a TypedDict does not have."""
    names = known.__required_keys__ | known.__optional_keys__  # type: ignore[attr-defined]
    for name in given.keys() - names:
        raise InputError(f"there is no option {name!r}; expected one of {', '.join(sorted(names))}")


def check_several(**given: object) -> None:
    """Raise `InputError` where one text or path stands for several: it would be taken apart."""
    for name, value in given.items():
        if isinstance(value, str | bytes | os.PathLike):
            raise InputError(f"{name} is {value!r}; expected a list, such as [{value!r}]")


DID_YOU_MEAN = "did you mean {}? Names are taken whole here"
"""What `not_one` says of what is near, where a name shorter than that is never taken for it."""


def not_one(
    kind: str, name: str, found: Sequence[str], listing: str, offer: str = "near it: {}"
) -> str:
    """The message where a name fits none, or several: what is near, or what shows all.

    `found` are names as they are to be shown.
    """
    if not found:
        return f"no {kind} {name!r}; {listing} shows what there is"
    return f"no single {kind} {name!r}; {offer.format(', '.join(found[:5]))}"
