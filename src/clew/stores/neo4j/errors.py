"""The one place where errors of Neo4j's driver become Clew's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import StoreBusyError, StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from clew.settings import Neo4jSettings


class KeyTakenError(StoreError):
    """Somebody else has made a node with the same key meanwhile."""


class IdsUsedUpError(StoreError):
    """A worker has not as many ids left as what it saves takes."""


def translated(error: Exception, address: str, settings: Neo4jSettings) -> StoreError:
    """The error of Clew for one of the driver's."""
    from neo4j.exceptions import AuthError, ServiceUnavailable, SessionExpired, TransientError

    place = f"the store {address!r}"
    if isinstance(error, AuthError):
        return StoreError(
            f"{place} refuses the user {settings.user!r}; set CLEW_NEO4J__USER and"
            " CLEW_NEO4J__PASSWORD"
        )
    if isinstance(error, ServiceUnavailable | SessionExpired) or _is_connection(error):
        return StoreUnavailableError(
            f"{place} cannot be reached; start the server, or give another address with --store"
            " (setting store)"
        )
    if isinstance(error, TransientError):
        return StoreBusyError(
            f"{place} was busy for longer than {settings.retry_seconds:g} s"
            f" ({_shown(error)}); try again, or raise the setting neo4j.retry_seconds"
        )
    code = getattr(error, "code", "") or ""
    if code.endswith("ConstraintValidationFailed"):
        return KeyTakenError(f"{place} has what was to be made already ({_shown(error)})")
    if code.endswith("DatabaseNotFound"):
        return StoreError(f"{place} has no database {settings.database!r}; set neo4j.database")
    return StoreError(f"{place} failed ({_shown(error)})")


def _is_connection(error: Exception) -> bool:
    """Whether it stems from a connection that could not be made in time."""
    return type(error).__name__ in ("ConnectionAcquisitionTimeoutError", "ReadServiceUnavailable")


def _shown(error: Exception) -> str:
    """The error in one line, without what parameters held."""
    text = str(getattr(error, "message", "") or error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]
