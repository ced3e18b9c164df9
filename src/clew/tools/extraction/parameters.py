"""What an assistant finds in passages, as parameters: also the schema that it is shown."""

from __future__ import annotations

from clew.indexing.manual_graph import LONGEST_NAME
from clew.tools.parameters import array, share, text

_ENTITY = (
    text("name", "As the passage has it.", required=True, max_length=LONGEST_NAME),
    text("entity_type", "Such as person. Default: unknown.", default="", max_length=LONGEST_NAME),
    text("description", "One sentence. Default: none.", default=""),
)
_RELATION = (
    text("source", "Name.", required=True, max_length=LONGEST_NAME),
    text("target", "Name.", required=True, max_length=LONGEST_NAME),
    text(
        "relation_type",
        "snake_case, such as works_at.",
        required=True,
        max_length=LONGEST_NAME,
    ),
    share("confidence", "", 0.8),
)
FOUND = (
    array("entities", "objects", "Up to 200. Default: none.", fields=_ENTITY, max_items=200),
    array("relations", "objects", "Up to 200. Default: none.", fields=_RELATION, max_items=200),
)
"""What reading comes to."""
ANSWER = (
    *FOUND,
    array(
        "passage_ids",
        "strings",
        "Ids of passages read, up to 50. Default: none.",
        max_items=50,
        max_length=100,
    ),
)
"""The same, and what was read."""
