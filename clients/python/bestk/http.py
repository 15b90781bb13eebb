"""Calls of the service's HTTP interface with the standard library."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union
from urllib.parse import unquote, urlencode, urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AGAIN = (429, 503)


class BestkError(Exception):
    """A request to bestk failed. `next` says what to do."""

    def __init__(self, message: str, code: str, next: str) -> None:
        super().__init__(f"{message} {next}".strip())
        self.code = code
        self.next = next


class ProblemError(BestkError):
    """The service rejected the request: an RFC 9457 problem."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        errors: List[Dict[str, str]] = list(problem.get("errors", []))
        wrong = "; ".join(f"{error['path']}: {error['message']}" for error in errors)
        super().__init__(
            f"{status}: {problem.get('detail', 'The service refused.')}",
            str(problem.get("code", status)),
            str(problem.get("next") or (f"Correct the request: {wrong}." if wrong else "")),
        )
        self.status = status
        self.errors = errors


class UnreachableError(BestkError):
    """The service does not respond."""

    def __init__(self, url: str, why: object) -> None:
        super().__init__(f"No bestk service answers at {url}: {why}.", "unreachable", "Start one with `bestk serve`.")


class Http:
    """One service. Until `patience_s` is over, calls rejected for the moment (429, or 503 with Retry-After) are retried,
    and so are reading calls to a service that answered before and is now away."""

    def __init__(self, url: str, api_key: Optional[str], patience_s: float) -> None:
        parts = urlsplit(url.rstrip("/"))
        # urllib takes a user and password for a part of the host's name.
        self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        if api_key is None and parts.password:
            api_key = unquote(parts.password)
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._patience_s = patience_s
        self._has_answered = False
        is_here = parts.hostname in _LOOPBACK
        self._opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if is_here else []))

    def json(self, method: str, path: str, body: Any = None, **call: Any) -> Any:
        text = self.text(method, path, None if body is None else json.dumps(body).encode(), **call)
        return None if text == "" else json.loads(text)

    def text(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        *,
        query: Mapping[str, Any] = {},
        headers: Mapping[str, str] = {},
        type: str = "application/json",
        read_timeout_s: float = 300,
        patience_s: Optional[float] = None,
    ) -> str:
        deadline = time.monotonic() + (self._patience_s if patience_s is None else patience_s)
        sent = headers if body is None else {"Content-Type": type, **headers}
        while True:
            try:
                with self._open(method, path, body, query, sent, read_timeout_s) as response:
                    return str(self._read(response).decode())
            except (_Refused, UnreachableError) as error:
                self._await_next(error, method, deadline)

    def events(self, path: str, after: int, timeout_s: Optional[float] = None) -> Iterator[Dict[str, Any]]:
        """Server-sent events after the given one; resumes after a broken connection.

        Ends with the stream, or after `timeout_s`: a stream in which nothing happens, up to one heartbeat later.
        """
        last = after
        end = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        lost = time.monotonic()
        while (left := end - time.monotonic()) > 0:
            try:
                with self._open("GET", path, None, {}, {"Last-Event-ID": str(last)}, min(60, left)) as response:
                    if response.status == 204:
                        return
                    for event in _events_in(response):
                        if event is not None:
                            last = event["seq"]
                            yield event
                        if time.monotonic() > end:
                            return
            except (_Refused, UnreachableError) as error:
                if time.monotonic() < end:
                    self._await_next(error, "GET", lost + self._patience_s)
            except (OSError, HTTPException):
                lost = time.monotonic()
                time.sleep(1)

    def _open(
        self,
        method: str,
        path: str,
        body: Optional[bytes],
        query: Mapping[str, Any],
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> Any:
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        url = f"{self.url}{path}{'?' + asked if asked else ''}"
        request = urllib.request.Request(url, body, {**self._headers, **headers}, method=method)
        try:
            response = self._opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                raise _Refused(error, self._read(error)) from None
        except (OSError, HTTPException) as error:
            raise UnreachableError(self.url, getattr(error, "reason", error)) from error
        self._has_answered = True
        return response

    def _read(self, response: Any) -> bytes:
        try:
            return bytes(response.read())
        except (OSError, HTTPException) as error:
            raise UnreachableError(self.url, error) from error

    def _await_next(self, error: Union[_Refused, UnreachableError], method: str, deadline: float) -> None:
        """Waits before the next attempt, or raises the error if there is none."""
        told: BestkError
        if isinstance(error, _Refused):
            wait, told = error.retry_after_s, error.problem
        else:
            # What changes something may have been done although its answer was lost.
            wait, told = (1.0 if self._has_answered and method == "GET" else None), error
        if wait is None or time.monotonic() + wait > deadline:
            raise told from None
        time.sleep(wait)


class _Refused(Exception):
    def __init__(self, error: urllib.error.HTTPError, body: bytes) -> None:
        try:
            problem = json.loads(body)
        except ValueError:
            problem = {"detail": body[:500].decode(errors="replace")}
        self.problem = ProblemError(error.code, problem)
        after = error.headers.get("Retry-After", "")
        self.retry_after_s = float(after) if error.code in _AGAIN and after.isdigit() else None


def _events_in(lines: Iterator[bytes]) -> Iterator[Optional[Dict[str, Any]]]:
    """Events, and None for a comment, which is a heartbeat."""
    data: List[str] = []
    for line in lines:
        text = line.decode().rstrip("\r\n")
        if text.startswith("data: "):
            data.append(text[6:])
        elif text.startswith(":"):
            yield None
        elif text == "" and data:
            yield json.loads("\n".join(data))
            data = []
