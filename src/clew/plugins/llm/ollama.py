"""Ollama by its own `/api/chat`.

Its `/v1` drops the length of the context and whether to think, and cuts long prompts from the
front without a word. Here the context is made as long as the request needs, and what Ollama counted
is compared with what was sent.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import TimeoutError as NotInTimeError
from multiprocessing.pool import ThreadPool
from typing import Any
from urllib.parse import urlsplit

import httpx2

from clew.errors import ModelError, ModelUnavailableError, ReplyError
from clew.plugins.llm.budget import fewest_tokens, most_tokens
from clew.plugins.llm.client import AWAY_SECONDS
from clew.ports import FinishReason, Parameters, Reply, Request, ToolCall, ToolDefinition
from clew.settings import LlmSettings
from clew.text import one_line
from clew.types import Usage

ADDRESS = "http://localhost:11434"
MOST_BYTES = 16_000_000
"""Of a reply; more is no reply: a server that sends without an end is cut off."""
_SHORTEST = 2048
"""Tokens of a context, at least."""
_QUOTED = 200
"""Characters of what a server says that are told."""


class Ollama:
    """`ports.LanguageModel` on an Ollama server; requests bear their parameters."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._address = settings.base_url or ADDRESS
        key = settings.api_key.get_secret_value()
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(60, connect=settings.connect_seconds),
        )
        self._contact = FirstContact(self._address, settings.connect_seconds)
        self._lengths: dict[str, int] = {}
        """The longest context of each model that was asked for it."""
        self._loaded: dict[str, int] = {}
        """Tokens that each model is loaded for: it is loaded again for each other length."""
        self.slots = threading.BoundedSemaphore(settings.concurrency)
        """Bound the requests at a time, whoever makes them."""

    @property
    def name(self) -> str:
        """The provider and its address."""
        return f"ollama {self._address}"

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def reply(self, request: Request) -> Reply:
        """See `LanguageModel`."""
        *_, reply = self.stream(request)
        assert isinstance(reply, Reply)
        return reply

    def warm(self, parameters: Parameters, tokens: int) -> None:
        """Have a model loaded in the background, for prompts of so many tokens and their replies.

        Requests meanwhile ask for the same context and wait for it. Where it fails nothing is
        said: they will.
        """
        self._loaded[parameters.model] = tokens + parameters.max_output_tokens
        loading = threading.Thread(
            target=self._load, args=(parameters,), name="clew-llm-load", daemon=True
        )
        loading.start()

    def _load(self, parameters: Parameters) -> None:
        try:
            body = {
                "model": parameters.model,
                "messages": [],
                "keep_alive": self._settings.keep_alive,
                "options": {"num_ctx": self._num_ctx(parameters, 0)},
            }
            with self._lines("/api/chat", body, parameters) as lines:
                for line in filter(bytes.strip, lines):
                    self._event(line)
        except Exception:  # noqa: BLE001 - of any kind where the client is closed meanwhile
            self._loaded.pop(parameters.model, None)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`."""
        parameters = request.parameters
        assert parameters is not None
        sent = time.monotonic()
        body = self._body(request, parameters)
        text: list[str] = []
        calls: list[ToolCall] = []
        with self._lines("/api/chat", body, parameters) as lines:
            for line in filter(bytes.strip, lines):
                event = self._event(line)
                message = object_of(event, "message")
                if piece := str(message.get("content") or ""):
                    text.append(piece)
                    yield piece
                calls += calls_of(message.get("tool_calls") or (), len(calls))
                if event.get("done"):
                    break
            else:
                raise _broken(self.name, "no end")
        whole: FinishReason = "tool_calls" if calls else "stop"
        usage = Usage(
            input_tokens=count_of(event, "prompt_eval_count"),
            output_tokens=count_of(event, "eval_count"),
        )
        read, least, context = (
            usage.input_tokens,
            fewest_tokens(request),
            body["options"]["num_ctx"],
        )
        if 0 < read < least or read >= context:
            raise ReplyError(
                f"{self.name} read {read:,} tokens of a prompt of {least:,} at least (context"
                f" {context:,}): it cut the prompt",
                "truncated",
            )
        longest = max(context, self._loaded.get(parameters.model, 0))
        self._loaded[parameters.model] = longest
        yield Reply(
            text="".join(text),
            finish="length" if event.get("done_reason") == "length" else whole,
            model=str(event.get("model") or parameters.model),
            usage=usage,
            seconds=time.monotonic() - sent,
            calls=tuple(calls),
        )

    # --- the request

    def _body(self, request: Request, parameters: Parameters) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": parameters.model,
            "messages": messages_of(request),
            "stream": True,
            "think": self._settings.think,
            "keep_alive": self._settings.keep_alive,
            "options": {
                "num_ctx": self._context(request, parameters),
                "num_predict": parameters.max_output_tokens,
                "temperature": parameters.temperature,
            },
        }
        if request.schema is not None:
            body["format"] = request.schema.model_json_schema()
        if request.tools:
            body["tools"] = [tool_of(tool) for tool in request.tools]
        return body

    def _context(self, request: Request, parameters: Parameters) -> int:
        """The length of context that prompt and reply take, in tokens."""
        context = self._num_ctx(parameters, most_tokens(request) + parameters.max_output_tokens)
        least = fewest_tokens(request) + parameters.max_output_tokens
        if least > context:
            raise ReplyError(
                f"the request takes {least:,} tokens at least, {parameters.model} reads"
                f" {context:,}: raise llm.context_tokens, or choose a model that reads more",
                "truncated",
            )
        return context

    def _num_ctx(self, parameters: Parameters, needed: int) -> int:
        """A context of as many tokens as are needed, or of those that the model is loaded for."""
        limit = min(self._settings.context_tokens, self._length(parameters))
        return min(limit, context_length(max(needed, self._loaded.get(parameters.model, 0))))

    def _length(self, parameters: Parameters) -> int:
        """The longest context that the model was made for; asked until it is known."""
        model = parameters.model
        if model not in self._lengths:
            # No lock is held meanwhile: each request waits for no longer than it may.
            with self._lines("/api/show", {"model": model}, parameters) as lines:
                info = object_of(self._event(b"".join(lines)), "model_info")
            lengths = [v for name, v in info.items() if name.endswith(".context_length")]
            known = [length for length in lengths if isinstance(length, int) and length > 0]
            self._lengths[model] = min(known, default=self._settings.context_tokens)
        return self._lengths[model]

    # --- the wire

    @contextmanager
    def _lines(
        self, path: str, body: Mapping[str, Any], parameters: Parameters
    ) -> Iterator[Iterator[bytes]]:
        """The lines that come back; errors as ours."""
        timeout = httpx2.Timeout(parameters.seconds, connect=self._settings.connect_seconds)
        try:
            self._contact.check()
            with self._client.stream(
                "POST", f"{self._address}{path}", json=body, timeout=timeout
            ) as response:
                lines = bounded(response, self.name, parameters.seconds)
                if response.status_code != httpx2.codes.OK:
                    raise refusal(self.name, parameters.model, response, b"\n".join(lines))
                yield lines
        except (httpx2.ConnectError, httpx2.ConnectTimeout, OSError) as error:
            raise ModelUnavailableError(
                f"{self.name} cannot be reached ({error}); start it with `ollama serve`, or set"
                " llm.base_url"
            ) from error
        except httpx2.TimeoutException as error:
            raise _too_slow(self.name, parameters.seconds) from error
        except httpx2.HTTPError as error:
            raise _broken(self.name, error) from error

    def _event(self, line: bytes) -> dict[str, Any]:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise ReplyError(
                f"{self.name} answers with something else than JSON: is it an Ollama server?",
                "malformed",
            )
        if "error" in event:
            raise ModelUnavailableError(
                f"{self.name}: {one_line(str(event['error']))[:_QUOTED]}", reached=True
            )
        return event


def bounded(response: httpx2.Response, name: str, seconds: float) -> Iterator[bytes]:
    """The lines that come, as long as they keep to the time and the size of a reply."""
    size, deadline, held = 0, time.monotonic() + seconds, list[bytes]()
    for piece in response.iter_bytes():
        size += len(piece)
        if time.monotonic() > deadline:
            raise _too_slow(name, seconds)
        if size > MOST_BYTES:
            raise too_long(name)
        first, *more = piece.split(b"\n")
        held.append(first)
        for last in more:
            yield b"".join(held)
            held = [last]
    yield b"".join(held)


def refusal(name: str, model: str, response: httpx2.Response, said: bytes) -> ModelError:
    """The error of a server that answers with another status than 200, and says why."""
    body, status = said.decode("utf-8", "replace"), response.status_code
    if status == httpx2.codes.NOT_FOUND and "not found" in body[:2000]:
        return ModelError(f"{name} has no model {model!r}; get it with: ollama pull {model}")
    told = f"{name} answered {status}: {one_line(body)[:_QUOTED]}"
    if status in (408, 425, 429, 500, 502, 503, 504):
        after = response.headers.get("retry-after", "")
        wait = float(after) if after.isdecimal() else None
        return ModelUnavailableError(told, reached=True, retry_after=wait)
    return ModelError(told)


def too_long(name: str) -> ReplyError:
    """The error of a server that sends without an end."""
    return ReplyError(f"{name} answers with more than {MOST_BYTES:,} bytes", "malformed")


def context_length(tokens: int) -> int:
    """The context to load a model with for so many tokens: 2,048, 3,072, 4,096, 6,144 and so on.

    Few lengths, since whatever serves models loads one again for each other length.
    """
    power = max(_SHORTEST, 1 << (tokens - 1).bit_length())
    shorter = power // 4 * 3
    return shorter if _SHORTEST < shorter >= tokens else power


def _broken(name: str, error: object) -> ModelUnavailableError:
    return ModelUnavailableError(f"{name} broke off its reply ({error})", reached=True)


def _too_slow(name: str, seconds: float) -> ModelUnavailableError:
    return ModelUnavailableError(f"{name} did not answer within {seconds:g} s", reached=True)


# What Ollama is sent and what it sends, in the form of its own interface.


def messages_of(request: Request) -> list[dict[str, Any]]:
    """What is said so far, Clew's own words first."""
    found: list[dict[str, Any]] = [{"role": "system", "content": request.instructions}]
    for message in request.messages:
        sent: dict[str, Any] = {"role": message.role}
        if message.text:
            sent["content"] = message.text
        if message.calls:
            sent["tool_calls"] = [
                {"function": {"name": call.name, "arguments": _arguments(call)}}
                for call in message.calls
            ]
        found.append(sent)
    return found


def object_of(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What an event has of that name; nothing where that is no object."""
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def count_of(event: Mapping[str, Any], name: str) -> int:
    """A number of tokens; 0 where the event has none."""
    value = event.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def calls_of(found: object, before: int) -> Iterator[ToolCall]:
    """The calls of a message, numbered on from `before`: Ollama gives them no ids."""
    for number, call in enumerate(found if isinstance(found, list) else (), start=before):
        function = object_of(call, "function") if isinstance(call, dict) else {}
        arguments = json.dumps(function.get("arguments") or {})
        yield ToolCall(id=f"call-{number}", name=str(function.get("name")), arguments=arguments)


def _arguments(call: ToolCall) -> object:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return {}


def tool_of(tool: ToolDefinition) -> dict[str, Any]:
    """A tool as the model is told of it."""
    told = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": {**told, "parameters": dict(tool.parameters)}}


# Whether anybody answers at a provider's address, told in time.


_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


class FirstContact:
    """Tries an address once, however many threads begin with it at the same time."""

    def __init__(self, address: str, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._lock = threading.Lock()
        self._reached = False
        self._error, self._until = "", 0.0

    def check(self) -> None:
        """Raise `OSError` where nobody answers, or did not a moment ago."""
        with self._lock:
            if self._reached:
                return
            if time.monotonic() < self._until:
                raise OSError(self._error)
            try:
                check_reachable(self._address, self._seconds)
            except OSError as error:
                self._error, self._until = str(error), time.monotonic() + AWAY_SECONDS
                raise
            self._reached = True


def check_reachable(address: str, seconds: float) -> None:
    """Raise `OSError` where nobody answers at an address itself, within `seconds` in all.

    Looking its name up counts, too, and so does each address of that name: the time limits of
    clients hold for a single address alone.
    """
    if any(os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXIES):
        return  # only the proxy can be reached from here
    parts = urlsplit(address)
    place = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    pool = ThreadPool(1)  # whose thread nobody waits for
    try:
        pool.apply_async(socket.create_connection, (place, seconds)).get(seconds).close()
    except NotInTimeError:
        raise TimeoutError(f"nothing answered within {seconds:g} s") from None
    except UnicodeError as error:
        raise OSError(str(error)) from error
    finally:
        pool.terminate()
