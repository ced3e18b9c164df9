"""What an assistant may ask of a calendar, contacts and tasks, under the names it knows."""

from __future__ import annotations

from clew.indexing.reading.formats.pim.tasks import STATUSES
from clew.packs.personal.tools.events import calendar_query
from clew.packs.personal.tools.nodes import NODE_TYPES, graph_search_nodes
from clew.packs.personal.tools.people import contacts_search
from clew.packs.personal.tools.todo import OVERDUE, tasks_query
from clew.packs.personal.tools.update import tasks_update
from clew.times.calendar_ranges import KNOWN
from clew.tools.parameters import array, integer, text
from clew.tools.schema import shape
from clew.tools.spec import FULL, Tool

_RANGES = f"{', '.join(KNOWN)}, or one or two dates such as 2024, 2024-03-01..2024-03-31."
_STATUSES = ", ".join(STATUSES)

TOOLS: tuple[Tool, ...] = (
    Tool(
        name="graph_search_nodes",
        title="Search nodes",
        description="Events, contacts, concepts and other entities that answer a question.",
        parameters=(
            text("query", "What is looked for.", max_length=10_000, required=True, blank=False),
            integer("limit", "Nodes", 10, 1, 100),
            array(
                "node_types",
                "strings",
                f"Among {', '.join(NODE_TYPES)}. Default: all.",
                max_items=4,
                choices=tuple(NODE_TYPES),
            ),
        ),
        result=shape(query="string", count="integer", nodes="array"),
        run=graph_search_nodes,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="calendar_query",
        title="Calendar",
        description="Events within a range of time, with people, place, notes and how long ago.",
        parameters=(
            text("time_range", _RANGES, required=True, blank=False),
            text("event_type", "A category, meeting, recurring, all day, or words of the title."),
            text("attendee", "Name or address of somebody who comes."),
        ),
        result=shape(time_range="object", event_count="integer", events="array"),
        run=calendar_query,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="contacts_search",
        title="Contacts",
        description="People with addresses, organisation, last and next meeting.",
        parameters=(
            text("query", "A name, nickname, address or organisation.", required=True, blank=False),
            text("organisation", "Only people of this organisation."),
            integer("limit", "People", 10, 1, 100),
        ),
        result=shape(count="integer", people="array"),
        run=contacts_search,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="tasks_query",
        title="Tasks",
        description="Tasks of todo.txt, calendars and notes, the most urgent first.",
        parameters=(
            text("status", f"{_STATUSES}. Default: any.", choices=STATUSES),
            text("due", f"When due: {OVERDUE}, {_RANGES}"),
            text("project", "Only of this project."),
            integer("limit", "Tasks", 20, 1, 200),
            text("person", "Only those of somebody, by name or address."),
        ),
        result=shape(count="integer", tasks="array"),
        run=tasks_query,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="tasks_update",
        title="Change a task",
        description="Change a task in its file, where the setting access.write allows it.",
        parameters=(
            text("id", "From tasks_query.", required=True, max_length=100),
            text("status", f"{_STATUSES}. Default: as it is.", choices=STATUSES),
            text("due", "A day such as 2024-05-01; empty for none. Default: as it is."),
            text("priority", "A (highest) to Z; empty for none. Default: as it is.", max_length=1),
        ),
        result=shape(id="string", title="string", changed="array", file="string"),
        run=tasks_update,
        scope="write",
        profiles=FULL,
        idempotent=True,
        open_world=True,
    ),
)
