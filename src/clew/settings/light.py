"""Settings for what must start quickly: read without pydantic where nothing unusual is set.

A light value holds the defaults, which `scripts/docs.py` writes down from the settings themselves
(`defaults.json`), the store and the namespace. Whatever else is asked of it, it asks of the
settings proper, which it reads then.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clew.settings.place import NAMESPACE, PREFIX, SETTINGS_FILE, StorePlace

if TYPE_CHECKING:
    from clew.settings.load import Settings

DEFAULTS = Path(__file__).with_name("defaults.json")


def light_settings(*, store: str | None, namespace: str | None) -> Settings:
    """What `load_settings` returns for these arguments, or what stands in for it.

    Raises `SettingsError` as that does.
    """

    @cache
    def whole() -> Settings:
        from clew.settings.load import load_settings

        return load_settings(store=store, namespace=namespace)

    arguments = {"store": store, "namespace": namespace}
    # The variables of the environment that may name settings, by the setting's name.
    values = {
        name[len(PREFIX) :].lower(): value
        for name, value in os.environ.items()
        if name.upper().startswith(PREFIX)
    } | {name: given for name, given in arguments.items() if given is not None}
    if Path(SETTINGS_FILE).exists() or not _usual(values):
        return whole()

    def frozen(found: dict[str, Any]) -> dict[str, Any]:
        """Lists are tuples, as in the settings proper."""
        return {n: tuple(v) if isinstance(v, list) else v for n, v in found.items()}

    read: dict[str, Any] = json.loads(DEFAULTS.read_bytes(), object_hook=frozen) | values
    for name, value in read.items():
        if isinstance(value, dict):
            read[name] = _Light(value, partial(_group, whole, name))
    return cast("Settings", _LightSettings({**read, "store": Path(read["store"])}, whole))


def _group(whole: Callable[[], Settings], name: str) -> object:
    return getattr(whole(), name)


def _usual(values: Mapping[str, str]) -> bool:
    """Whether a folder and a namespace are all that is set, and both can be."""
    store, namespace = values.get("store", "."), values.get("namespace", "default")
    known = values.keys() <= {"store", "namespace"}
    return known and store != "" and "://" not in store and bool(re.fullmatch(NAMESPACE, namespace))


class _Light:
    """A group of settings; what it does not hold is asked of the settings proper."""

    def __init__(self, values: Mapping[str, Any], whole: Callable[[], object]) -> None:
        vars(self).update(values)
        self._whole = whole

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a setting is
        return getattr(self._whole(), name)

    def __eq__(self, other: object) -> bool:
        return self._whole() == (other._whole() if isinstance(other, _Light) else other)

    def __hash__(self) -> int:
        return hash(self._whole())

    def __reduce__(self) -> tuple[Callable[[object], object], tuple[object]]:
        """Another process is given the settings proper."""
        return _itself, (self._whole(),)


def _itself(settings: object) -> object:
    return settings


class _LightSettings(StorePlace, _Light):
    """All settings."""
