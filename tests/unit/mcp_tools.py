"""Small tools and clients for the tests of the server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew import Clew
from clew.errors import InputError
from clew.request_end import finishing, has_ended
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import Arguments, Call, Parameter, Result, Run, Tool
from clew.types import Right, ToolProfile

NAME = Parameter(name="name", kind="string", description="A name.", required=True)
CONFIRM = Parameter(name="confirm", kind="boolean", description="Default false.", default=False)
PROFILES: frozenset[ToolProfile] = frozenset({"core", "full"})


def greet(call: Call, arguments: Arguments) -> Result:
    if arguments["name"] == "nobody":
        raise InputError("greet cannot greet 'nobody'; give another name")
    return {"greeting": f"Hello {arguments['name']}", "namespace": call.engine.settings.namespace}


def keep(call: Call, arguments: Arguments) -> Result:
    return {"id": call.engine.add(f"{arguments['name']} was here.", source=arguments["name"])}


def count(call: Call, _: Arguments) -> Result:
    for done in range(3):
        call.progress.report(done + 1, 3, f"step {done + 1}")
        time.sleep(0.11)
    return {"documents": len(call.engine.documents.list())}


def wait(call: Call, _: Arguments) -> Result:
    ended = time.monotonic() + 20
    while not has_ended() and time.monotonic() < ended:
        time.sleep(0.01)
    with finishing():  # nothing else is read or written once nobody waits
        call.engine.add("The wait was over.", source="cancelled")
    return {}


def drop(call: Call, arguments: Arguments) -> Result:
    if not arguments["confirm"]:
        raise InputError("drop deletes; call it again with confirm=true")
    return {"deleted": call.engine.delete([arguments["name"]])}


def fail(_: Call, __: Arguments) -> Result:
    raise ZeroDivisionError("secret detail")


def _tool(
    run: Run,
    scope: Right = "read",
    parameters: tuple[Parameter, ...] = (),
    *,
    confirm: bool = False,
    **result: str,
) -> Tool:
    name = getattr(run, "__name__", "")
    properties = {key: {"type": kind} for key, kind in result.items()}
    return Tool(
        name=name,
        title=name.title(),
        description=f"{name.title()}.",
        parameters=parameters,
        result={"type": "object", "properties": properties},
        run=run,
        scope=scope,
        profiles=PROFILES,
        destructive=confirm,
        confirm=confirm,
    )


TOOLS = (
    _tool(greet, parameters=(NAME,), greeting="string"),
    _tool(keep, "write", (NAME,), id="string"),
    _tool(count, documents="integer"),
    _tool(wait),
    _tool(drop, "admin", (NAME, CONFIRM), confirm=True, deleted="integer"),
    _tool(fail),
)


def settings_for(folder: Path, **serve: object) -> Settings:
    return load_settings(store=folder, serve=serve)


@contextmanager
def engine_in(folder: Path, namespace: str = "default") -> Iterator[Clew]:
    settings = load_settings(store=folder, namespace=namespace)
    with Clew(settings, embedder=HashEmbedder()) as engine:
        yield engine
