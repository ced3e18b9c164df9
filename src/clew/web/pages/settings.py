"""The settings in force and where each comes from; never a secret.

Whoever runs the server sees all of them. Tenants, administrators among them, see those that decide
how their documents are read and found: paths, addresses and other callers are the server's.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, SecretStr

from clew.settings import SETTINGS_FILE, Settings
from clew.tools.spec import Caller
from clew.web.render import render_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.responses import Response

    from clew.web.request import PageRequest

_TENANTS = frozenset(
    "read limits split link relations versions search rerank usage boost quota".split()
)
"""Groups whose settings hold no path, no address and no name of anybody."""
_USER = re.compile(r"//[^/@]{0,500}@")
_HIDDEN = re.compile(r"sha256|secret|password|api_key|token(?!s_|izer)")


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting."""

    name: str
    value: str
    origin: str
    """`default`, `environment`, the settings file, or `given` by whoever started the server."""


def settings(page: PageRequest) -> Response:
    """All settings by group."""
    found = list(_flat(page.engine.settings, Settings.model_construct(), _from_file()))
    if not _runs_the_server(page):
        found = [shown for shown in found if shown.name.partition(".")[0] in _TENANTS]
    groups: dict[str, list[Shown]] = {}
    for shown in found:
        group = shown.name.rpartition(".")[0] or "store"
        groups.setdefault(group, []).append(shown)
    changed = sum(shown.origin != "default" for shown in found)
    return render_page(page, "settings.html", groups=groups, changed=changed)


def _runs_the_server(page: PageRequest) -> bool:
    """Whether the caller sits at this machine; an issuer of tokens names anybody so."""
    return page.scope.caller.name == Caller().name and not page.engine.settings.serve.oauth.issuer


def _flat(
    group: BaseModel, defaults: BaseModel, file: Mapping[str, Any], prefix: str = ""
) -> Iterator[Shown]:
    for name in type(group).model_fields:
        value, default = getattr(group, name), getattr(defaults, name, None)
        path, said = f"{prefix}{name}", file.get(name)
        if isinstance(value, BaseModel) and isinstance(default, BaseModel):
            yield from _flat(value, default, said if isinstance(said, dict) else {}, f"{path}.")
        else:
            yield Shown(path, _value(path, value), _origin(path, value == default, name in file))


def _origin(path: str, is_default: bool, in_file: bool) -> str:
    variable = f"CLEW_{path.replace('.', '__')}".upper()
    if variable in {name.upper() for name in os.environ}:
        return "environment"
    if in_file:
        return SETTINGS_FILE
    return "default" if is_default else "given"


def _value(path: str, value: object) -> str:
    """The value as text, without what lets anybody in."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else "not set"
    if path == "serve.tokens":
        return ", ".join(token.name for token in value) if isinstance(value, tuple) else ""
    if _HIDDEN.search(path.rpartition(".")[2]) and isinstance(value, str):
        return "set" if value else "not set"
    if isinstance(value, tuple):
        return ", ".join(_USER.sub("//…@", str(item)) for item in value)
    return _USER.sub("//…@", str(value))


def _from_file() -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(SETTINGS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
