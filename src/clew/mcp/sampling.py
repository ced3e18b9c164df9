"""Reading by the client's own model (sampling): passages go out, `graph_upsert` takes the answer.

Nothing depends on it. Where the client does not offer it, `graph_upsert` itself says what to do
instead; where it refuses or its model answers nonsense, nothing changes and the caller gets an
error.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from clew.errors import InputError
from clew.mcp.calls import failure
from clew.tools.extraction.parameters import FOUND
from clew.tools.extraction.reading import READING
from clew.tools.extraction.table import UPSERT
from clew.tools.schema import input_schema
from clew.tools.validate import complete

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server.mcpserver import Context

    Run = Callable[[str, dict[str, Any]], Awaitable[CallToolResult]]
    """Calls a tool by name, with the rights of whoever asks."""

SAMPLE = "sample"
"""The argument that asks for it, and the name of the request to the client."""
ANSWER_TOKENS = 4000
"""The longest answer that the client's model may give."""
_INSTEAD = "nothing changed. Take passages from extraction_next and read them yourself"


def wanted(name: str, arguments: Mapping[str, Any], context: Context[Any, Any]) -> bool:
    """Whether a call asks for sampling, of a client that declares it."""
    capabilities = context.client_capabilities
    offered = capabilities is not None and capabilities.sampling is not None
    return name == UPSERT.name and bool(arguments.get(SAMPLE)) and offered


async def upsert(
    arguments: Mapping[str, Any], context: Context[Any, Any], run: Run
) -> CallToolResult | InputRequiredResult:
    """`graph_upsert` of what the client's model finds in passages that no assistant has read yet.

    The request to the model is returned where the client takes it as a result and calls again with
    the answer; the ids of what it was shown go with it, sealed by the SDK.
    """
    try:
        limit = _count(arguments)
    except InputError as error:
        return failure(str(error))
    if context.request_state is not None:
        answer = (context.input_responses or {}).get(SAMPLE)
        return await _record(answer, json.loads(context.request_state), run)
    handed = await run("extraction_next", {"limit": limit})
    if handed.is_error or handed.structured_content is None:
        return handed
    passages = handed.structured_content["passages"]
    if not passages:
        return await run(UPSERT.name, {})
    request, ids = reading_request(passages), [passage["id"] for passage in passages]
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return InputRequiredResult(input_requests={SAMPLE: request}, request_state=json.dumps(ids))
    related = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        told = await context.session.send_request(request, CreateMessageResult, metadata=related)
    except MCPError as error:
        return failure(f"the client did not let its model read: {error.message}; {_INSTEAD}")
    except ValidationError:
        return await _record(None, ids, run)
    return await _record(told, ids, run)


def _count(arguments: Mapping[str, Any]) -> int:
    """How many passages are to be read."""
    read = complete(UPSERT.name, UPSERT.parameters, arguments)
    others = [name for name in read if name != SAMPLE and read[name]]
    if others:
        raise InputError(
            f"graph_upsert takes {others[0]} or sample, not both; call it again with one of them"
        )
    return int(read[SAMPLE])


def reading_request(passages: list[dict[str, Any]]) -> CreateMessageRequest:
    """What the model is asked: instructions apart from the texts, which are data, as JSON."""
    schema = json.dumps(input_schema(FOUND), ensure_ascii=False)
    shown = TextContent(text=json.dumps({"passages": passages}, ensure_ascii=False))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            system_prompt=f"{READING} Answer with one JSON object alone, of this schema: {schema}",
            messages=[SamplingMessage(role="user", content=shown)],
            max_tokens=ANSWER_TOKENS,
        )
    )


async def _record(answer: object, ids: list[str], run: Run) -> CallToolResult:
    """Add what a model found, checked as if an assistant had called `graph_upsert` with it."""
    found = _found(answer)
    if found is None:
        return failure(
            f"the client's model answered without a JSON object of entities and relations;"
            f" {_INSTEAD}, or ask for fewer passages at a time"
        )
    return await run(UPSERT.name, {**found, "passage_ids": ids})


def _found(answer: object) -> dict[str, Any] | None:
    """Entities and relations of an answer, which may have prose or a fence around its JSON."""
    content = getattr(answer, "content", None)
    text = content.text if isinstance(content, TextContent) else ""
    try:
        told = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    found = {parameter.name: told[parameter.name] for parameter in FOUND if parameter.name in told}
    return found or None
