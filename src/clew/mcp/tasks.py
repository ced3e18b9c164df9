"""The tasks extension (SEP-2663) over the store's durable jobs: a task is a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from clew.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams

    from clew.mcp.request_context import RequestContexts, RequestScope
    from clew.ports import Job

    Request = ServerRequestContext[Any, Any]

TASKS = "io.modelcontextprotocol/tasks"
POLL_MS = 1000
"""How long a client may wait before it asks again."""
DAY_MS = 24 * 60 * 60 * 1000
STATUS_TOOL, CANCEL_TOOL = "query_job_status", "cancel_job"
"""Whoever may not call these may not ask for tasks, either."""


class TaskParams(RequestParams):
    """Which task."""

    task_id: str


class Tasks(Extension):
    """Answers with a task where a tool leaves a job behind, to clients that declare the extension.

    Tools never wait for an answer in the middle, so that there is nothing to update in a task.
    """

    identifier = TASKS

    def __init__(self, requests: RequestContexts) -> None:
        self._requests = requests

    def methods(self) -> Sequence[MethodBinding]:
        """`tasks/get`, `tasks/update` and `tasks/cancel`."""
        versions = frozenset(MODERN_PROTOCOL_VERSIONS)
        return [
            MethodBinding(f"tasks/{verb}", TaskParams, handler, versions)
            for verb, handler in (
                ("get", self._get),
                ("update", self._update),
                ("cancel", self._cancel),
            )
        ]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Request, call_next: CallNext
    ) -> HandlerResult:
        """Put a task in place of the result that names an unfinished job."""
        result = await call_next(ctx)
        content = result.structured_content if isinstance(result, CallToolResult) else None
        if not content or params.name in {STATUS_TOOL, CANCEL_TOOL} or not _declared(ctx):
            return result
        if content.get("status") not in {"queued", "running"}:
            return result
        job = await self._job(str(content.get("job_id")), STATUS_TOOL)
        return {"resultType": "task", **_task(job, self._requests.scope)}

    async def _get(self, ctx: Request, params: TaskParams) -> HandlerResult:
        require_client_extension(ctx, TASKS)
        job = await self._job(params.task_id, STATUS_TOOL)
        scope = self._requests.scope
        told = {"resultType": "complete", **_task(job, scope)}
        if told["status"] == "completed":
            result = await anyio.to_thread.run_sync(_result, scope, job)
            told["result"] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return told

    async def _update(self, ctx: Request, params: TaskParams) -> HandlerResult:
        require_client_extension(ctx, TASKS)
        await self._job(params.task_id, STATUS_TOOL)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Request, params: TaskParams) -> HandlerResult:
        require_client_extension(ctx, TASKS)
        await self._job(params.task_id, CANCEL_TOOL, cancel=True)
        return {"resultType": "complete"}

    async def _job(self, task_id: str, tool: str, *, cancel: bool = False) -> Job:
        """A job of the caller's namespace; one of another is as unknown as one that never was."""
        scope = self._requests.scope
        needed = "write" if cancel else "read"
        tools = scope.caller.tools
        if needed in scope.caller.scopes and (tools is None or tool in tools):
            try:
                return await anyio.to_thread.run_sync(_look_up, scope, task_id, cancel)
            except NotFoundError:
                pass
        raise MCPError(code=INVALID_PARAMS, message=f"no task {task_id!r}")


def _look_up(scope: RequestScope, task_id: str, cancel: bool) -> Job:
    with scope.acquire() as opened:
        return opened.jobs.cancel(task_id) if cancel else opened.jobs.job(task_id)


def _declared(ctx: Request) -> bool:
    capabilities = ctx.session.client_capabilities
    declared = None if capabilities is None else capabilities.extensions
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and declared is not None and TASKS in declared


def _task(job: Job, scope: RequestScope) -> dict[str, Any]:
    """A job as a task; one that failed is a tool's failure, which completes a task."""
    statuses = {"queued": "working", "running": "working", "cancelled": "cancelled"}
    kept_ms = scope.engines.settings.jobs.retention_days * DAY_MS
    return {
        "taskId": job.id,
        "status": statuses.get(job.status, "completed"),
        "statusMessage": job.description,
        "createdAt": job.created_at.isoformat(),
        "lastUpdatedAt": job.updated_at.isoformat(),
        "ttlMs": int(kept_ms),
        "pollIntervalMs": POLL_MS,
    }


def _result(scope: RequestScope, job: Job) -> CallToolResult:
    """What the tool would have answered, had it waited."""
    from clew.mcp.calls import to_result
    from clew.tools.documents.writing import status_of
    from clew.tools.toolbox import Outcome

    with scope.acquire() as opened:
        content = {"success": job.status == "completed", **status_of(opened.jobs, job)}
    return to_result(Outcome(content=content, is_error=job.status == "failed"))
