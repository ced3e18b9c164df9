"""OpenAI by its Responses API, Anthropic, and any server of OpenAI's interface: by pydantic-ai.

Its requests are asynchronous: while there are any, one thread with an event loop does them all.
What it takes seconds to import is imported with the first request, after the address was found to
answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from clew.errors import MissingExtraError, ModelError, ModelUnavailableError, ReplyError
from clew.plugins.llm.ollama import FirstContact
from clew.ports import FinishReason, Reply, Request, ToolCall
from clew.text import one_line
from clew.types import Usage

if TYPE_CHECKING:
    from clew.plugins.llm.pydantic_messages import Sent
    from clew.settings import LlmSettings

VENDORS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_FINISHED: dict[str | None, FinishReason] = {
    "length": "length",
    "content_filter": "refused",
    "tool_call": "tool_calls",
}


class Hosted:
    """`ports.LanguageModel` by pydantic-ai; requests bear their parameters."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._address = settings.base_url or VENDORS[settings.provider]
        self._contact = FirstContact(self._address, settings.connect_seconds)
        self._portal = BlockingPortalProvider()
        self.slots = threading.BoundedSemaphore(settings.concurrency)
        """Bound the requests at a time, whoever makes them."""

    @property
    def name(self) -> str:
        """The provider, and its address where that is not its own."""
        return f"{self._settings.provider} {self._settings.base_url}".strip()

    def close(self) -> None:
        """End what is under way."""
        with self._portal as portal:
            portal.call(portal.stop, True)

    def reply(self, request: Request) -> Reply:
        """See `LanguageModel`."""
        with self._asking(request) as (portal, sent):
            from clew.plugins.llm.pydantic_messages import send

            began = time.monotonic()
            done = portal.start_task_soon(send, sent)
            try:
                response = done.result()
            finally:
                done.cancel()
        return self._reply(response, time.monotonic() - began)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`."""
        with self._asking(request) as (portal, sent):
            from clew.plugins.llm.pydantic_messages import read_stream

            began = time.monotonic()
            arrived: SimpleQueue[object] = SimpleQueue()
            done = portal.start_task_soon(read_stream, sent, arrived.put)
            done.add_done_callback(lambda _: arrived.put(None))
            try:
                while (piece := arrived.get()) is not None:
                    yield str(piece)
                response = done.result()
            finally:
                done.cancel()
        yield self._reply(response, time.monotonic() - began)

    @contextmanager
    def _asking(self, request: Request) -> Iterator[tuple[BlockingPortal, Sent]]:
        """The thread's way in, and what is sent; raises at once where nothing answers there."""
        if not self._settings.api_key.get_secret_value() and self._settings.provider in VENDORS:
            raise ModelError(
                f"{self.name} needs a key: set {self._settings.key_variable} in the environment"
            )
        if find_spec("pydantic_ai") is None:
            raise MissingExtraError("a hosted language model", "llm")
        try:
            self._contact.check()
        except OSError as error:
            raise self._away(error) from error
        from clew.plugins.llm.pydantic_messages import prepare

        with self._errors(request), self._portal as portal:
            yield portal, prepare(self._settings, self._address, request)

    def _away(self, error: object) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"{self._settings.provider} cannot be reached at {self._address} ({error}); check"
            " llm.base_url and the network"
        )

    @contextmanager
    def _errors(self, request: Request) -> Iterator[None]:
        """Errors of pydantic-ai as ours; its own texts may quote headers, so few words are kept."""
        from pydantic_ai import exceptions as theirs

        assert request.parameters is not None
        try:
            yield
        except theirs.ModelRequestTimeout as error:
            raise ModelUnavailableError(
                f"{self.name} did not answer within {request.parameters.seconds:g} s", reached=True
            ) from error
        except theirs.ModelConnectionError as error:
            raise self._broken_off(error) from error
        except theirs.ContentFilterError as error:
            raise ReplyError(f"{self.name} would not answer", "refused") from error
        except theirs.ModelContextWindowExceededError as error:
            raise ReplyError(f"{self.name}: the prompt is too long", "truncated") from error
        except (
            theirs.ModelRateLimitError,
            theirs.ModelUnavailableError,
            theirs.ModelServerError,
        ) as error:
            raise ModelUnavailableError(
                f"{self.name} is overloaded: {one_line(str(error))[:200]}",
                reached=True,
                retry_after=error.retry_after,
            ) from error
        except theirs.ModelAPIError as error:
            raise ModelError(
                f"{self.name} refused the request: {one_line(str(error))[:200]}"
            ) from error
        # What is JSON of another shape fails wherever it is looked into.
        except (theirs.AgentRunError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ReplyError(f"{self.name} answered in another form", "malformed") from error

    def _reply(self, response: Any, seconds: float) -> Reply:  # noqa: ANN401 - imported late
        usage, cost = response.usage, None
        if not self._settings.base_url:
            with suppress(LookupError, ValueError, AssertionError):  # where no price is known
                cost = float(response.cost().total_price)
        return Reply(
            text=response.text or "",
            finish=_FINISHED.get(response.finish_reason, "stop"),
            model=response.model_name or "",
            usage=Usage(
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cache_read_tokens,
                output_tokens=usage.output_tokens,
            ),
            cost=cost,
            seconds=seconds,
            calls=tuple(
                ToolCall(
                    id=call.tool_call_id, name=call.tool_name, arguments=call.args_as_json_str()
                )
                for call in response.tool_calls
            ),
        )

    def _broken_off(self, error: Any) -> ModelError:  # noqa: ANN401 - imported late
        if (passed := _bound_passed(error)) is not None:
            return passed
        if error.phase in (None, "connect", "pool") and not error.in_stream:
            return self._away(one_line(str(error))[:200])
        return ModelUnavailableError(f"{self.name} broke off its reply", reached=True)


def _bound_passed(error: BaseException) -> ReplyError | None:
    """Our own error, where a reply was cut off since it was too much."""
    cause = error.__cause__
    return cause if cause is None or isinstance(cause, ReplyError) else _bound_passed(cause)
