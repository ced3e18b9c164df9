"""Arguments and options that several commands take."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Concatenate, ParamSpec, TypeAlias

import typer

from clew.cli.common import Common, reported_errors

StoreOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Folder that holds the stores, or neo4j://HOST:7687; else CLEW_STORE, else ./.clew.",
        show_default=False,
    ),
]
NamespaceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        help="Store within that folder: a tenant, a user or a project.",
        show_default=False,
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON.", show_default=False)
]
VerboseOption: TypeAlias = Annotated[
    bool, typer.Option("--verbose", help="Log to standard error.", show_default=False)
]
QuestionArgument: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="QUESTION", help="Words of the question; `-` reads it.")
]
WhereOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only documents that meet it, such as 'year >= 2020 and (author = Brontë or type in"
        " (pdf, md))'; repeatable, then all must be met. docs/filters.md describes it.",
        show_default=False,
    ),
]
TemporalOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--temporal/--no-temporal",
        help="Keep to the period that the question names, or ignore it; else it goes first.",
        show_default=False,
    ),
]
FastOption: TypeAlias = Annotated[
    bool,
    typer.Option("--fast", help="Leave the best passages unread: quicker, and less often right."),
]
MaxTokensOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Tokens of the assembled context, at most.", show_default=False
    ),
]
MaxTokensSpentOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Tokens that the model may read and write; else the setting llm.max_tokens_spent.",
        show_default=False,
    ),
]
MaxCostOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="DOLLARS",
        min=0,
        max=1_000_000,
        help="What the model may cost, where prices are known; else the setting llm.max_cost.",
        show_default=False,
    ),
]
OutputOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        parser=lambda given: None if str(given) == "-" else Path(given),
        help="File to write; `-` or none: standard output.",
    ),
]


def read_question(words: list[str]) -> str:
    """The question's words joined, or what standard input holds where `-` is all that is given."""
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def comma_separated(text: str) -> list[str]:
    """The parts of an option's value between its commas, without blanks; empty ones left out."""
    return [part.strip() for part in text.split(",") if part.strip()]


# A command from a function, with the options that every command takes.


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
            form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
            logging.basicConfig(stream=sys.stderr, format=form)
            logging.getLogger("clew").setLevel(logging.DEBUG)
        with reported_errors():
            function(common, *args, **kwargs)

    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in COMMON_OPTIONS.items()
    ]
    invocation = inspect.Parameter("invocation", keyword, annotation=typer.Context)
    taken = [invocation, *(p.replace(kind=keyword) for p in own), *shared]
    vars(run)["__signature__"] = inspect.Signature(taken, return_annotation=None)
    run.__annotations__ = {p.name: p.annotation for p in taken}
    return run
