"""The client of a bestk service."""

from __future__ import annotations

import json
import os
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Type, TypeVar, Union, cast
from urllib.parse import quote

from . import models
from .http import BestkError, Http
from .local import LocalService

#: A patch alone, or a candidate of the service: `{"candidate_id", "patch", "trajectory"?}`.
Candidates = Union[Mapping[str, str], Iterable[Union[str, Mapping[str, Any]]]]
T = TypeVar("T")
OnEvent = Callable[[models.RunEvent], None]
OnStanding = Callable[[models.Benchmark], None]
_ENDED = ("done", "failed", "cancelled")


class RunFailedError(BestkError):
    """A run failed or was cancelled; it says nothing about any patch."""

    def __init__(self, run: models.Run) -> None:
        failure = run["failure"] or {"message": "It was cancelled.", "code": "cancelled", "next": "Start it again."}
        super().__init__(f"Run {run['id']}: {failure['message']}", failure["code"], failure["next"])
        self.run = run


class BenchmarkFailedError(BestkError):
    """A benchmark stopped before it was complete; its report covers the finished part."""

    def __init__(self, benchmark: models.Benchmark) -> None:
        super().__init__(
            f"Benchmark {benchmark['id']}: {benchmark['note'] or 'it was cancelled.'}",
            benchmark["status"],
            "Go on with resume_bench(id).",
        )
        self.benchmark = benchmark


class Client:
    """Client of one service. Every method may raise BestkError, whose `next` says what to do.

    `url` and `api_key` default to the environment variables BESTK_URL (else `http://127.0.0.1:8080`) and BESTK_API_KEY; without
    a key, the password in the URL is used.
    Temporarily rejected calls are retried for `patience_s`.
    """

    def __init__(
        self, url: Optional[str] = None, api_key: Optional[str] = None, patience_s: float = 60
    ) -> None:
        self._http = Http(
            url or os.environ.get("BESTK_URL") or "http://127.0.0.1:8080",
            api_key or os.environ.get("BESTK_API_KEY"),
            patience_s,
        )
        self._service: Optional[LocalService] = None

    @classmethod
    def local(cls, **settings: str) -> "Client":
        """A client with its own service, which stops at the end of the `with` block. `settings` are environment variables."""
        service = LocalService(settings)
        client = cls(service.url)
        client._service = service
        return client

    @property
    def url(self) -> str:
        return self._http.url

    def close(self) -> None:
        if self._service is not None:
            self._service.stop()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    # Runs

    def submit(self, issue: models.Issue, key: Optional[str] = None, **request: Any) -> str:
        """Starts a run and returns its id. `request` are further fields of RunRequest; the same `key` returns the same run."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return str(self._http.json("POST", "/v1/runs", {"issue": issue, **request}, headers=headers)["id"])

    def select(
        self,
        issue: models.Issue,
        candidates: Candidates,
        *,
        on_event: Optional[OnEvent] = None,
        timeout_s: Optional[float] = None,
        **request: Any,
    ) -> models.Run:
        """Verifies candidates and selects one: `run["selection"]` has the choice and the reasons.

        `request` are further fields of RunRequest: `tests`, `verifiers`, `preset`, `min_confidence`, `budget`, …
        """
        return self.wait(self.submit(issue, candidates=candidates_of(candidates), **request), on_event, timeout_s)

    def solve(
        self,
        issue: models.Issue,
        k: int = 8,
        *,
        on_event: Optional[OnEvent] = None,
        timeout_s: Optional[float] = None,
        **request: Any,
    ) -> models.Run:
        """Samples `k` trajectories with the service's agent, verifies and selects."""
        return self.wait(self.submit(issue, k=k, **request), on_event, timeout_s)

    def estimate(self, issue: models.Issue, **request: Any) -> models.Estimate:
        """Estimates the cost of such a run without starting it."""
        return cast(models.Estimate, self._http.json("POST", "/v1/runs/estimate", {"issue": issue, **request}))

    def run(self, run_id: str) -> models.Run:
        return cast(models.Run, self._http.json("GET", _run(run_id)))

    def runs(self, **listing: str) -> Iterator[models.RunSummary]:
        """All runs, newest first; `listing` may have `status`, `instance`, `q` and `sort`."""
        return self._pages("/v1/runs", "runs", listing)

    def wait(
        self, run_id: str, on_event: Optional[OnEvent] = None, timeout_s: Optional[float] = None
    ) -> models.Run:
        """Waits until a run ends, passing on its events. Raises RunFailedError, or TimeoutError if the run is still running."""
        check = _limit(f"Run {run_id}", timeout_s)
        if on_event is not None:
            for event in self._http.events(f"{_run(run_id)}/events", 0, timeout_s):
                on_event(cast(models.RunEvent, event))
        run = _until_ended(lambda: self.run(run_id), check)
        if run["status"] != "done":
            raise RunFailedError(run)
        return run

    def events(self, run_id: str, after: int = 0) -> Iterator[models.RunEvent]:
        """Events of a run after the event `after`, until the run ends."""
        return cast(Iterator[models.RunEvent], self._http.events(f"{_run(run_id)}/events", after))

    def patch(self, run_id: str) -> Optional[str]:
        """The selected patch; None if no patch is returned."""
        if cast(Mapping[str, Any], self.wait(run_id)["selection"])["candidate_id"] is None:
            return None
        return self._http.text("GET", f"{_run(run_id)}/patch")

    def candidate(self, run_id: str, candidate_id: str) -> models.Candidate:
        """Patch, trajectory, verdicts and row of the matrix."""
        return cast(models.Candidate, self._http.json("GET", f"{_run(run_id)}/candidates/{quote(candidate_id, safe='')}"))

    def evidence(self, run_id: str) -> models.Evidence:
        """The evidence behind the selection, for every candidate and test."""
        return cast(models.Evidence, self._http.json("GET", f"{_run(run_id)}/evidence"))

    def labels(self, run_id: str) -> models.RunLabels:
        """Labels of the candidates of a benchmark's run, available once every run of its issue has ended."""
        return cast(models.RunLabels, self._http.json("GET", f"{_run(run_id)}/labels"))

    def cancel(self, run_id: str) -> None:
        self._http.json("POST", f"{_run(run_id)}/cancel")

    def delete(self, run_id: str) -> None:
        self._http.json("DELETE", _run(run_id))

    # Benchmarks

    def bench(
        self,
        bench: Mapping[str, Any],
        rows: Iterable[Mapping[str, Any]],
        *,
        key: Optional[str] = None,
        on_standing: Optional[OnStanding] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Runs a benchmark over a data set and returns its report. See submit_bench and wait_bench."""
        benchmark_id = self.submit_bench(bench, rows, key)["id"]
        self.wait_bench(benchmark_id, on_standing, timeout_s)
        return self.bench_report(benchmark_id)

    def submit_bench(
        self, bench: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], key: Optional[str] = None
    ) -> models.BenchmarkAccepted:
        """Starts a benchmark: `bench` is the bench file, `rows` are rows of any known data set.

        Candidates and tests of an arm are rows too: `{"arms": ["saved"], "candidate": {…}}`, `{"arms": ["mine"], "test": {…}}`.
        """
        lines = b"".join(json.dumps(line).encode() + b"\n" for line in (bench, *rows))
        return cast(
            models.BenchmarkAccepted,
            self._upload("/v1/benchmarks", lines, headers={"Idempotency-Key": key or uuid.uuid4().hex}),
        )

    def wait_bench(
        self, benchmark_id: str, on_standing: Optional[OnStanding] = None, timeout_s: Optional[float] = None
    ) -> models.Benchmark:
        """Waits until it ends, passing on its state after every change. Raises BenchmarkFailedError or TimeoutError."""
        check = _limit(f"Benchmark {benchmark_id}", timeout_s)
        told: List[models.Benchmark] = []

        def look() -> models.Benchmark:
            benchmark = self.benchmark(benchmark_id)
            if on_standing is not None and [benchmark] != told:
                on_standing(benchmark)
                told[:] = [benchmark]
            return benchmark

        benchmark = _until_ended(look, check)
        if benchmark["status"] != "done":
            raise BenchmarkFailedError(benchmark)
        return benchmark

    def benchmark(self, benchmark_id: str) -> models.Benchmark:
        """Its state: counts by arm, tokens, cost, seconds left."""
        return cast(models.Benchmark, self._http.json("GET", _bench(benchmark_id)))

    def benchmarks(self) -> Iterator[models.BenchmarkSummary]:
        """All benchmarks, newest first."""
        return self._pages("/v1/benchmarks", "benchmarks", {})

    def bench_report(self, benchmark_id: str) -> Dict[str, Any]:
        """Its report so far: arms, comparisons, and a row for each issue and arm."""
        return cast(Dict[str, Any], self._http.json("GET", f"{_bench(benchmark_id)}/report"))

    def bench_runs(self, benchmark_id: str, **listing: str) -> Any:
        """A row for each run, right or wrong once graded; `listing` may have `arm` and `status`. A DataFrame or a list."""
        return _frame(list(self._pages(f"{_bench(benchmark_id)}/runs", "runs", listing)))

    def pause_bench(self, benchmark_id: str) -> None:
        """Starts no more runs; runs in progress finish."""
        self._http.json("POST", f"{_bench(benchmark_id)}/pause")

    def resume_bench(self, benchmark_id: str) -> None:
        """Continues, and retries runs that failed or were cancelled."""
        self._http.json("POST", f"{_bench(benchmark_id)}/resume")

    def cancel_bench(self, benchmark_id: str) -> None:
        self._http.json("POST", f"{_bench(benchmark_id)}/cancel")

    # Rewards

    def reward(
        self, issue: models.Issue, candidates: Candidates, *, timeout_s: float = 3600, **request: Any
    ) -> List[models.Outcome]:
        """P(right) of each candidate, in their order, with its basis. Raises an error, never returns 0, if one could not be judged."""
        body = {"issue": issue, "candidates": candidates_of(candidates), **request}
        answer = self._http.json("POST", "/v1/reward", body, query={"timeout_s": 60}, patience_s=timeout_s)
        return cast(List[models.Outcome], answer["outcomes"])

    # Saved runs and reports

    def rescore(self, lines: bytes, **query: Any) -> models.RescoreAccepted:
        """Scores saved runs in any known format, as JSON lines; `query` may have `verifiers`, `preset`, `min_confidence`, `image`."""
        return cast(models.RescoreAccepted, self._upload("/v1/rescores", lines, query=query))

    def report(self, lines: bytes, title: str = "Benchmark report") -> models.Report:
        """Makes a benchmark report of runs; `lines` are JSON lines with runs (`{"run_id"}`) and labels."""
        made = self._upload("/v1/reports", lines, query={"title": title})
        return cast(models.Report, self._http.json("GET", f"/v1/reports/{quote(made['id'])}"))

    def _upload(self, path: str, lines: bytes, **call: Any) -> Any:
        return json.loads(self._http.text("POST", path, lines, type="application/x-ndjson", **call))

    def _pages(self, path: str, name: str, listing: Mapping[str, str]) -> Iterator[Any]:
        cursor: Optional[str] = None
        while True:
            page = self._http.json("GET", path, query={**listing, "limit": 100, "cursor": cursor})
            yield from page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    # Tables

    def scores(self, run_id: str) -> Any:
        """A row for each candidate: rank, P(right) and every score. A pandas DataFrame if pandas is installed, else a list."""
        selection = cast(models.Selection, self.wait(run_id)["selection"])
        return _frame(
            [
                {"candidate_id": of["candidate_id"], "rank": of["rank"], "p_right": of["p_right"], **of["scores"]}
                for of in selection["ranking"]
            ]
        )

    def matrix(self, run_id: str) -> Any:
        """A row for each candidate and test (a DataFrame or a list): outcome, exit code, duration."""
        return _frame(cast(List[Dict[str, Any]], self.evidence(run_id)["cells"]))


def candidates_of(given: Candidates) -> List[Dict[str, Any]]:
    """Candidates as the service takes them: from patches by id, a list of patches (c1, c2, …) or candidates as they are."""
    if isinstance(given, Mapping):
        return [{"candidate_id": name, "patch": patch} for name, patch in given.items()]
    return [
        {"candidate_id": f"c{index}", "patch": each} if isinstance(each, str) else dict(each)
        for index, each in enumerate(given, 1)
    ]


def _run(run_id: str) -> str:
    return f"/v1/runs/{quote(run_id, safe='')}"


def _bench(benchmark_id: str) -> str:
    return f"/v1/benchmarks/{quote(benchmark_id, safe='')}"


def _limit(what: str, timeout_s: Optional[float]) -> Callable[[], None]:
    deadline = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)

    def check() -> None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} has not ended after {timeout_s} s; wait for it again, or cancel it.")

    return check


def _until_ended(look: Callable[[], T], check: Callable[[], None]) -> T:
    """Polls often at first, then every 2 s."""
    pause = 0.05
    while cast(Mapping[str, Any], found := look())["status"] not in _ENDED:
        check()
        time.sleep(pause)
        pause = min(2.0, pause * 1.5)
    return found


def _frame(rows: List[Dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)
