"""Packs of a store: which there are, which are enabled, and enabling them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.wiring import declare_functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.engine.state import EngineState
    from clew.hookspecs import Pack
    from clew.types import IndexReport


class Packs:
    """What a domain adds to a store; see docs/packs.md."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def available(self) -> list[str]:
        """Names of all packs that can be enabled, sorted."""
        from clew.packs import available

        return available(self._state.settings.packs.folders)

    def enabled(self) -> list[str]:
        """Names of those that are enabled, in the order in which they were."""
        return list(self._state.store.packs())

    def get(self, name: str) -> Pack:
        """A pack by its name. Raises `NotFoundError`, `InputError`."""
        from clew.packs import load

        return load(name, self._state.settings.packs.folders)

    def enable(self, name: str) -> None:
        """Enable a pack for the store, in every process.

        What was indexed before is read again by the next run of `index`, and by `reindex`. Raises
        `NotFoundError`, `InputError` for a pack whose declaration cannot have an effect.
        """
        _check(self.get(name))
        names = self.enabled()
        if name not in names:
            self._set([*names, name])

    def disable(self, name: str) -> None:
        """Take a pack back. Raises `NotFoundError` where it is not enabled."""
        names = self.enabled()
        if name not in names:
            known = ", ".join(names) or "none"
            raise NotFoundError(f"the pack {name!r} is not enabled; enabled: {known}")
        self._set([one for one in names if one != name])

    def _set(self, names: list[str]) -> None:
        state = self._state
        with state.writing:
            state.store.set_packs(names)
        declare_functional(state.settings, state.store)


def with_unread_formats(
    report: IndexReport, names: Sequence[str], state: EngineState
) -> IndexReport:
    """A report, of a run that changed something, with the packs that would read its files."""
    if not report.added + report.changed:
        return report
    from clew.packs import unread_formats

    return replace(report, for_packs=unread_formats(map(str.lower, names), state.store.packs()))


def _check(pack: Pack) -> None:
    """Raise `InputError` for a pack that declares what the engine does not know."""
    from clew.search.analysis.route import RULES
    from clew.search.options import parse_hierarchy
    from clew.search.strategies import known_strategies

    kinds = (*(rule.name for rule in RULES), "fact")
    for what, given, known in (
        ("kind of question", pack.strategies, kinds),
        ("strategy", pack.strategies.values(), known_strategies()),
        ("task of a prompt", pack.prompts, ("extract",)),
    ):
        for one in given:
            if one not in known:
                raise InputError(
                    f"the pack {pack.name!r} declares the unknown {what} {one!r}; expected one of"
                    f" {', '.join(known)}"
                )
    for hierarchy in pack.hierarchies:
        parse_hierarchy(hierarchy)
