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
│   ├── StoreMismatchError    the store was built with another embedder, or by a newer Clew
│   └── StoreCorruptError     the database is damaged
├── ModelError                a model cannot be found, loaded or run
│   ├── ModelUnavailableError a language model cannot be reached, or is overloaded
│   ├── ReplyError            what a language model answered cannot be used
│   └── BudgetError           a request would go beyond what may be spent
├── WorkerError               the process that reads documents cannot be started
└── MissingExtraError         an optional dependency is not installed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY, BINARY = "empty", "binary"
"""Reasons of `UnreadableError` that callers tell from others: empty is no fault."""


class ClewError(Exception):
    """Root of every error that Clew raises on purpose."""

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
    """The store was built with another embedder, or by a newer version of Clew."""


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


class MissingExtraError(ClewError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional dependency. Install it with: pip install 'clew[{extra}]'"
        )
        self.feature = feature
        self.extra = extra


def not_one(kind: str, name: str, found: Sequence[str], command: str) -> str:
    """The message where a name fits none, or several: what is near, or what shows all."""
    if not found:
        return f"no {kind} {name!r}; `{command}` shows what there is"
    shown = ", ".join(repr(item) for item in found[:5])
    return f"no single {kind} {name!r}; near it: {shown}"
