"""Where an engine's store and what belongs to it are, and its zone of time, as settings say."""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SETTINGS_FILE = "clew.toml"
"""In the working directory."""
PREFIX = "CLEW_"
"""Of variables; `__` stands between a group and what is in it."""
NAMESPACE = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""What a namespace's name looks like."""


class StorePlace:
    """What follows from the settings `store`, `namespace` and `neo4j`."""

    if TYPE_CHECKING:
        store: Path | str
        namespace: str
        neo4j: Any

    @property
    def on_server(self) -> bool:
        """Whether the store is on a server; `store` is its address then."""
        return isinstance(self.store, str)

    @property
    def folder(self) -> Path:
        """The namespace's folder on this machine.

        It is the store itself; of one on a server it holds jobs and what is derived.
        """
        return self.stores_folder / self.namespace

    @property
    def stores_folder(self) -> Path:
        """The folder that holds those of all namespaces."""
        if isinstance(self.store, Path):
            return self.store.expanduser()
        from platformdirs import user_cache_path

        # Told apart by the server and by the database on it, readably.
        name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.store.partition('://')[2]}/").strip("-")
        place = f"{name}-{self.neo4j.database}-{zlib.crc32(self.store.encode()):08x}"
        return (self.neo4j.local or user_cache_path("clew") / "servers").expanduser() / place


def zone_of(name: str) -> ZoneInfo:
    """The zone of that name; for an empty one the machine's, or UTC where it says none."""
    here = os.environ.get("TZ", ""), os.path.realpath("/etc/localtime").rpartition("zoneinfo/")[2]
    for one in (name,) if name else (*here, "UTC"):
        with suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(one.lstrip(":"))
    raise ValueError("expected a zone of the IANA database, such as Europe/Paris")
