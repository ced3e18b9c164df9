"""A command from a function, with the options that every command takes."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import typer

from clew.cli.common import Common
from clew.cli.errors import reported_errors
from clew.cli.options import JsonOption, NamespaceOption, StoreOption, VerboseOption

P = ParamSpec("P")

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
