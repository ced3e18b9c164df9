"""The options that every command takes, before its name or after it."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Concatenate, ParamSpec

import typer

from clew.cli.errors import note, reported_errors
from clew.errors import NotFoundError

if TYPE_CHECKING:
    from clew import Clew
    from clew.settings import Settings
    from clew.types import Entity

P = ParamSpec("P")

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Folder that holds the stores, or neo4j://HOST:7687; else CLEW_STORE, else ./.clew.",
        show_default=False,
    ),
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        help="Store within that folder: a tenant, a user or a project.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.", show_default=False)]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Log to standard error.", show_default=False)
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """The values of the options that every command takes."""

    store: str | None = None
    namespace: str | None = None
    json: bool = False
    verbose: bool = False

    def open(self, *, make: bool = False, packs: Sequence[str] = ()) -> Clew:
        """The engine on the store that the options name, with packs enabled; a context manager.

        Raises `NotFoundError` where there is no store, unless one may be made.
        """
        import clew

        settings = clew.load_settings(store=self.store, namespace=self.namespace)
        if not make:
            _check_exists(settings)
        return clew.open(settings=settings, packs=packs)

    def over(self, before: Common) -> Common:
        """These values, and for those not given the ones given before the command's name."""
        return Common(
            store=before.store if self.store is None else self.store,
            namespace=before.namespace if self.namespace is None else self.namespace,
            json=self.json or before.json,
            verbose=self.verbose or before.verbose,
        )


def _check_exists(settings: Settings) -> None:
    """Raise `NotFoundError` where there is no store; what is left of a damaged one is a store."""
    from clew.wiring import store_exists

    folder = settings.folder
    if store_exists(settings) or (
        not settings.on_server and folder.is_dir() and any(folder.iterdir())
    ):
        return
    place = settings.store if settings.on_server else folder
    raise NotFoundError(
        f"there is no store {str(place)!r}{_others(settings)}; make one with clew index PATH, or"
        " name the one that you mean with --store and --namespace"
    )


def _others(settings: Settings) -> str:
    """The namespaces that there are, where the one asked for is none of them."""
    if settings.on_server or not settings.stores_folder.is_dir():
        return ""
    found = sorted(place.parent.name for place in settings.stores_folder.glob("*/clew.db"))
    return f" (namespaces there: {', '.join(found[:10])})" if found else ""


def matched(engine: Clew, name: str) -> Entity:
    """The entity that is meant, for commands that only look; a guess is said."""
    entity, remark = engine.entities.match(name)
    if remark:
        note(f"Note: {remark}")
    return entity


COMMON_OPTIONS = {
    "store": (StoreOption, None),
    "namespace": (NamespaceOption, None),
    "json": (JsonOption, False),
    "verbose": (VerboseOption, False),
}
"""Annotation and default by the field of `Common` that the option fills."""


def command(function: Callable[Concatenate[Common, P], None]) -> Callable[..., None]:
    """A command from a function whose first parameter is `Common`.

    typer reads a command's options off its signature: here the first parameter gives way to the
    context and to the common options. Errors are reported as `reported_errors` says.
    """

    @wraps(function)
    def run(invocation: typer.Context, *args: P.args, **kwargs: P.kwargs) -> None:
        given = Common(**{name: kwargs.pop(name) for name in COMMON_OPTIONS})  # type: ignore[arg-type]
        common = given.over(invocation.obj or Common())
        if common.verbose:
            _log_to_stderr()
        with reported_errors():
            function(common, *args, **kwargs)

    signature = _command_signature(function)
    vars(run)["__signature__"] = signature
    run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return run


def _command_signature(function: Callable[..., None]) -> inspect.Signature:
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in COMMON_OPTIONS.items()
    ]
    invocation = inspect.Parameter("invocation", keyword, annotation=typer.Context)
    return inspect.Signature(
        [invocation, *(p.replace(kind=keyword) for p in own), *shared], return_annotation=None
    )


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("clew").setLevel(logging.DEBUG)
