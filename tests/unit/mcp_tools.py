"""Small tools and clients for the tests of the server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn
from starlette.testclient import TestClient

from clew import Clew
from clew.errors import InputError
from clew.mcp.calls import Engines
from clew.mcp.http import Extend, http_app, http_config, http_server
from clew.operations.spec import CORE, Arguments, Call, Parameter, Result, Run, Tool
from clew.operations.toolbox import OPERATIONS
from clew.request_end import has_ended
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Right
from clew.web.app import mount
from clew.web.request import Sessions

NAME = Parameter(name="name", kind="string", description="A name.", required=True)
CONFIRM = Parameter(name="confirm", kind="boolean", description="Default false.", default=False)


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


def wait(_: Call, __: Arguments) -> Result:
    ended = time.monotonic() + 20
    while not has_ended() and time.monotonic() < ended:
        time.sleep(0.01)
    return {}


def drop(call: Call, arguments: Arguments) -> Result:
    if not arguments["confirm"]:
        raise InputError("drop deletes; call it again with confirm=true")
    return {"deleted": call.engine.delete([arguments["name"]])}


def fail(_: Call, __: Arguments) -> Result:
    raise ZeroDivisionError("secret detail")


def tool(
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
        profiles=CORE,
        destructive=confirm,
        confirm=confirm,
    )


TOOLS = (
    tool(greet, parameters=(NAME,), greeting="string"),
    tool(keep, "write", (NAME,), id="string"),
    tool(count, documents="integer"),
    tool(wait),
    tool(drop, "admin", (NAME, CONFIRM), confirm=True, deleted="integer"),
    tool(fail),
)


def settings_for(folder: Path, **serve: object) -> Settings:
    return load_settings(store=folder, serve=serve)


@contextmanager
def engine_in(folder: Path, namespace: str = "default") -> Iterator[Clew]:
    settings = load_settings(store=folder, namespace=namespace)
    with Clew(settings, embedder=HashEmbedder()) as engine:
        yield engine


@contextmanager
def address_of(
    engines: Engines,
    *,
    insecure: bool = False,
    file: Path | None = None,
    extend: Extend | None = None,
) -> Iterator[str]:
    """The address of a server in a thread."""
    mcp = http_server(engines, insecure=insecure, file=file)
    server = uvicorn.Server(http_config(mcp, engines.settings.serve, extend))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
            engines.close()


PAGES = "http://127.0.0.1:8766"


@contextmanager
def pages_of(
    settings: Settings, engine: Clew, sessions: Sessions | None = None
) -> Iterator[TestClient]:
    """The explorer over an engine, without a network."""
    engines = Engines(settings, OPERATIONS, engine)
    app = http_app(http_server(engines), settings.serve, partial(mount, sessions=sessions))
    with TestClient(app, base_url=PAGES, follow_redirects=False) as client:
        yield client
    engines.close()


def token_of(
    name: str, made: tuple[str, str], *namespaces: str, **more: object
) -> dict[str, object]:
    """What the settings say of a caller."""
    return {"name": name, "sha256": made[1], "namespaces": namespaces, **more}
