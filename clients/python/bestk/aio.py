"""The client for asyncio: the same methods, each run in a thread, so that none blocks the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Type, TypeVar

from . import models
from .client import Candidates, Client, OnEvent, OnStanding

T = TypeVar("T")
_END = object()
#: Calls at once. Each waits in a thread of its own, a reward for as long as its run takes; the event loop's own pool, which
#: also looks up host names, is left alone.
_AT_ONCE = 256


class AsyncClient:
    """Client for asyncio; `on_event` and `on_standing` are called in another thread. Methods that list return lists, not iterators."""

    def __init__(
        self, url: Optional[str] = None, api_key: Optional[str] = None, patience_s: float = 60
    ) -> None:
        self.sync = Client(url, api_key, patience_s)
        self._threads = ThreadPoolExecutor(_AT_ONCE, "bestk")

    @classmethod
    async def local(cls, **settings: str) -> "AsyncClient":
        client = cls()
        client.sync = await client.call(lambda: Client.local(**settings))
        return client

    @property
    def url(self) -> str:
        return self.sync.url

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.call(self.sync.close)
        self._threads.shutdown(wait=False)

    async def call(self, method: Callable[..., T], *args: Any, **named: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: method(*args, **named))

    async def submit(self, issue: models.Issue, key: Optional[str] = None, **request: Any) -> str:
        return await self.call(self.sync.submit, issue, key, **request)

    async def select(
        self,
        issue: models.Issue,
        candidates: Candidates,
        *,
        on_event: Optional[OnEvent] = None,
        timeout_s: Optional[float] = None,
        **request: Any,
    ) -> models.Run:
        waiting = {"on_event": on_event, "timeout_s": timeout_s}
        return await self.call(self.sync.select, issue, candidates, **waiting, **request)

    async def solve(
        self,
        issue: models.Issue,
        k: int = 8,
        *,
        on_event: Optional[OnEvent] = None,
        timeout_s: Optional[float] = None,
        **request: Any,
    ) -> models.Run:
        return await self.call(self.sync.solve, issue, k, on_event=on_event, timeout_s=timeout_s, **request)

    async def estimate(self, issue: models.Issue, **request: Any) -> models.Estimate:
        return await self.call(self.sync.estimate, issue, **request)

    async def run(self, run_id: str) -> models.Run:
        return await self.call(self.sync.run, run_id)

    async def runs(self, **listing: str) -> List[models.RunSummary]:
        return await self.call(lambda: list(self.sync.runs(**listing)))

    async def wait(
        self, run_id: str, on_event: Optional[OnEvent] = None, timeout_s: Optional[float] = None
    ) -> models.Run:
        return await self.call(self.sync.wait, run_id, on_event, timeout_s)

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[models.RunEvent]:
        journal = self.sync.events(run_id, after)
        while True:
            event: Any = await self.call(next, journal, _END)
            if event is _END:
                return
            yield event

    async def patch(self, run_id: str) -> Optional[str]:
        return await self.call(self.sync.patch, run_id)

    async def candidate(self, run_id: str, candidate_id: str) -> models.Candidate:
        return await self.call(self.sync.candidate, run_id, candidate_id)

    async def evidence(self, run_id: str) -> models.Evidence:
        return await self.call(self.sync.evidence, run_id)

    async def labels(self, run_id: str) -> models.RunLabels:
        return await self.call(self.sync.labels, run_id)

    async def cancel(self, run_id: str) -> None:
        await self.call(self.sync.cancel, run_id)

    async def delete(self, run_id: str) -> None:
        await self.call(self.sync.delete, run_id)

    async def bench(
        self,
        bench: Mapping[str, Any],
        rows: Iterable[Mapping[str, Any]],
        *,
        key: Optional[str] = None,
        on_standing: Optional[OnStanding] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]:
        waiting = {"on_standing": on_standing, "timeout_s": timeout_s}
        return await self.call(self.sync.bench, bench, rows, key=key, **waiting)

    async def submit_bench(
        self, bench: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], key: Optional[str] = None
    ) -> models.BenchmarkAccepted:
        return await self.call(self.sync.submit_bench, bench, rows, key)

    async def wait_bench(
        self, benchmark_id: str, on_standing: Optional[OnStanding] = None, timeout_s: Optional[float] = None
    ) -> models.Benchmark:
        return await self.call(self.sync.wait_bench, benchmark_id, on_standing, timeout_s)

    async def benchmark(self, benchmark_id: str) -> models.Benchmark:
        return await self.call(self.sync.benchmark, benchmark_id)

    async def benchmarks(self) -> List[models.BenchmarkSummary]:
        return await self.call(lambda: list(self.sync.benchmarks()))

    async def bench_report(self, benchmark_id: str) -> Dict[str, Any]:
        return await self.call(self.sync.bench_report, benchmark_id)

    async def bench_runs(self, benchmark_id: str, **listing: str) -> Any:
        return await self.call(self.sync.bench_runs, benchmark_id, **listing)

    async def pause_bench(self, benchmark_id: str) -> None:
        await self.call(self.sync.pause_bench, benchmark_id)

    async def resume_bench(self, benchmark_id: str) -> None:
        await self.call(self.sync.resume_bench, benchmark_id)

    async def cancel_bench(self, benchmark_id: str) -> None:
        await self.call(self.sync.cancel_bench, benchmark_id)

    async def reward(
        self, issue: models.Issue, candidates: Candidates, *, timeout_s: float = 3600, **request: Any
    ) -> List[models.Outcome]:
        return await self.call(self.sync.reward, issue, candidates, timeout_s=timeout_s, **request)

    async def rescore(self, lines: bytes, **query: Any) -> models.RescoreAccepted:
        return await self.call(self.sync.rescore, lines, **query)

    async def report(self, lines: bytes, title: str = "Benchmark report") -> models.Report:
        return await self.call(self.sync.report, lines, title)

    async def scores(self, run_id: str) -> Any:
        return await self.call(self.sync.scores, run_id)

    async def matrix(self, run_id: str) -> Any:
        return await self.call(self.sync.matrix, run_id)
