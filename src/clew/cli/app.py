"""The command line, put together; each command lives in `clew.cli.commands`."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from clew.cli.commands import (
    attach,
    copies,
    demo,
    entities,
    explorer,
    graph,
    indexing,
    inspect,
    install,
    maintenance,
    packs,
    search,
    serving,
    tools,
    watching,
)
from clew.cli.commands.domains import papers
from clew.cli.commands.llm import ask, chat, enrich
from clew.cli.commands.llm import check as llm_check
from clew.cli.common import (
    Common,
    JsonOption,
    NamespaceOption,
    StoreOption,
    VerboseOption,
    command,
)
from clew.cli.output import write_line

EXIT_STATUSES = (
    "Exit status: 0 done; 1 done, but something was left out or found wrong; "
    "2 wrong use, or the command failed; 130 interrupted."
)

# rich is slow to load: help is plain text, and only commands that draw import it.
app = typer.Typer(
    name="clew",
    help="Find the passages that answer a question, and the path that leads to them.",
    epilog=EXIT_STATUSES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from clew import __version__

        write_line(f"clew {__version__}")
        raise typer.Exit


@app.callback()
def _common_options(
    context: typer.Context,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    # The driver would print that it tries again, as it is asked to; its errors come as ours.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    context.obj = Common(store=store, namespace=namespace, json=json, verbose=verbose)


app.command("demo")(command(demo.demo))
app.command("index")(command(indexing.index))
app.command("watch")(command(watching.watch))
app.command("search")(command(search.search))
app.command("query", hidden=True)(command(search.search))
app.command("ask")(command(ask.ask))
app.command("chat")(command(chat.chat))
app.command("enrich")(command(enrich.enrich))
app.command("documents")(command(inspect.documents))
app.command("show")(command(inspect.show))
app.command("delete")(command(indexing.delete))

entity = typer.Typer(
    help="Look at the entities of the graph, and put right what was taken for one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entity.command("show")(command(entities.show))
entity.command("merge")(command(entities.merge))
entity.command("split")(command(entities.split))
entity.command("suggest")(command(entities.suggest))
entity.command("refuse")(command(entities.refuse))
entity.command("rename")(command(entities.rename))
entity.command("retract")(command(entities.retract))
entity.command("pruned")(command(entities.pruned))
entity.command("restore")(command(entities.restore))
entity.command("neighbors")(command(entities.neighbors))
app.add_typer(entity, name="entity")

llm = typer.Typer(help="The language model.", no_args_is_help=True, rich_markup_mode=None)
llm.command("check")(command(llm_check.check))
app.add_typer(llm, name="llm")

relation = typer.Typer(
    help="Put right what the graph states.", no_args_is_help=True, rich_markup_mode=None
)
relation.command("delete")(command(entities.delete_relation))
app.add_typer(relation, name="relation")
app.command("prune")(command(entities.prune))

pack = typer.Typer(
    help="What a domain adds to a store: types, formats, tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
pack.command("list")(command(packs.list_packs))
pack.command("show")(command(packs.show))
pack.command("enable")(command(packs.enable))
pack.command("disable")(command(packs.disable))
pack.command("test")(command(packs.test))
app.add_typer(pack, name="pack")
app.command("papers")(command(papers.papers))

app.command("path")(command(graph.path))
app.command("timeline")(command(graph.timeline))
app.command("communities")(command(graph.communities))
app.command("topics")(command(graph.topics))
app.command("subgraph")(command(graph.subgraph))
app.command("stats")(command(inspect.stats))
app.command("check")(command(maintenance.check))
app.command("audit")(command(maintenance.audit))
app.command("reindex")(command(copies.reindex))
app.command("backup")(command(copies.backup))
app.command("restore")(command(copies.restore))
app.command("copy")(command(copies.copy))
app.command("schema")(command(attach.schema))
app.command("attach")(command(attach.attach))
app.command("eval")(command(maintenance.evaluate))
app.command("export")(command(inspect.export))
app.command("import")(command(copies.import_memory))
app.command("tools")(command(tools.tools))
app.command("call")(command(tools.call))
app.command("install")(command(install.install))
app.command("mcp")(command(serving.mcp))
app.command("serve")(command(serving.serve))
app.command("ui")(command(explorer.ui))
app.command("token")(command(serving.token))
