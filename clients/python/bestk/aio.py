"""The client for asyncio: the same calls, each in a thread, so that none holds up the loop."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, AsyncIterator, Callable, List, Optional, Type, TypeVar

from . import models
from .client import Candidates, Client, OnEvent

T = TypeVar("T")
_END = object()


class AsyncClient:
    """Client for asyncio. What it does not name is in `sync`, for `await client.call(client.sync.evidence, run_id)`."""

    def __init__(
        self, url: Optional[str] = None, api_key: Optional[str] = None, patience_s: float = 60
    ) -> None:
        self.sync = Client(url, api_key, patience_s)

    @classmethod
    async def local(cls, **settings: str) -> "AsyncClient":
        client = cls()
        client.sync = await asyncio.to_thread(lambda: Client.local(**settings))
        return client

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.call(self.sync.close)

    async def call(self, method: Callable[..., T], *args: Any, **named: Any) -> T:
        return await asyncio.to_thread(lambda: method(*args, **named))

    async def submit(self, issue: models.Issue, key: Optional[str] = None, **request: Any) -> str:
        return await self.call(self.sync.submit, issue, key, **request)

    async def select(
        self, issue: models.Issue, candidates: Candidates, on_event: Optional[OnEvent] = None, **request: Any
    ) -> models.Run:
        """As Client.select; `on_event` is called in another thread."""
        return await self.call(self.sync.select, issue, candidates, on_event=on_event, **request)

    async def solve(
        self, issue: models.Issue, k: int = 8, on_event: Optional[OnEvent] = None, **request: Any
    ) -> models.Run:
        return await self.call(self.sync.solve, issue, k, on_event=on_event, **request)

    async def wait(
        self, run_id: str, on_event: Optional[OnEvent] = None, timeout_s: Optional[float] = None
    ) -> models.Run:
        return await self.call(self.sync.wait, run_id, on_event, timeout_s)

    async def run(self, run_id: str) -> models.Run:
        return await self.call(self.sync.run, run_id)

    async def runs(self, **listing: str) -> List[models.RunSummary]:
        return await self.call(lambda: list(self.sync.runs(**listing)))

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[models.RunEvent]:
        journal = self.sync.events(run_id, after)
        while True:
            event: Any = await self.call(next, journal, _END)
            if event is _END:
                return
            yield event

    async def patch(self, run_id: str) -> Optional[str]:
        return await self.call(self.sync.patch, run_id)

    async def cancel(self, run_id: str) -> None:
        await self.call(self.sync.cancel, run_id)

    async def reward(
        self, issue: models.Issue, candidates: Candidates, *, timeout_s: float = 3600, **request: Any
    ) -> List[models.Outcome]:
        return await self.call(self.sync.reward, issue, candidates, timeout_s=timeout_s, **request)

    async def rescore(self, lines: bytes, **query: Any) -> models.RescoreAccepted:
        return await self.call(self.sync.rescore, lines, **query)
