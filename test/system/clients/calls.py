"""Every call of one of the two clients, and what came of it as JSON: calls.py URL sync|async PATCH."""

import asyncio
import inspect
import json
import socket
import sys
import threading
from types import SimpleNamespace

# Tables are lists, whether or not pandas is installed here.
sys.modules["pandas"] = None

from bestk import AsyncClient, BestkError, Client

url, which, patch = sys.argv[1:]
client = (Client if which == "sync" else AsyncClient)(url, patience_s=5)


async def call(name, *args, of=client, **named):
    answer = getattr(of, name)(*args, **named)
    if inspect.isawaitable(answer):
        return await answer
    if hasattr(answer, "__aiter__"):
        return [each async for each in answer]
    return list(answer) if inspect.isgenerator(answer) else answer


async def error(name, *args, **named):
    try:
        await call(name, *args, **named)
    except BestkError as refused:
        return [type(refused).__name__, refused.code, refused.next != ""]
    except TimeoutError as late:
        return [type(late).__name__, str(late)[-41:]]
    return "none"


def issue(name):
    return {"instance_id": name, "problem_statement": "x is wrong", "environment": {"image": "demo:1"}}


async def runs(said):
    events = []
    run = await call("select", issue("demo-1"), {"a": "", "b": patch}, on_event=events.append, verifiers=["eb"])
    said["selected"] = [run["status"], run["selection"]["ranking"][1]["p_right"]]
    said["told"] = [event["type"] for event in events]
    said["events after the first"] = len(await call("events", run["id"], after=1)) - len(events)
    said["patch"] = await call("patch", run["id"]) == patch
    said["candidate"] = (await call("candidate", run["id"], "b"))["patch"] == patch
    said["evidence"] = sorted(await call("evidence", run["id"]))
    said["scores"] = [[row["candidate_id"], row["rank"], row["p_right"]] for row in await call("scores", run["id"])]
    said["matrix"] = len(await call("matrix", run["id"]))
    sys.modules["pandas"] = SimpleNamespace(DataFrame=lambda rows: ("frame", len(rows)))
    said["frame"] = await call("scores", run["id"])
    sys.modules["pandas"] = None
    said["solved"] = (await call("solve", issue(f"demo-{which}"), k=2))["status"]
    given = [{"candidate_id": "b", "patch": patch}]
    said["estimated"] = sorted(await call("estimate", issue("demo-1"), candidates=given, verifiers=["eb"]))
    named = [await call("submit", issue(f"demo-{which}"), key=which, k=1) for _ in range(2)]
    said["same key"] = named[0] == named[1]
    said["listed"] = [each["instance_id"] for each in await call("runs", instance=f"demo-{which}")]
    said["failed"] = await error("select", issue("demo-broken"), [patch])
    said["refused"] = await error("select", {"instance_id": "a"}, [patch])
    said["reward"] = [each["reward"] for each in await call("reward", issue("demo-3"), ["", patch])]


async def ends(said):
    run_id = await call("submit", issue("demo-endless"), k=1)
    said["late"] = await error("wait", run_id, timeout_s=0.1)
    said["late and quiet"] = await error("wait", run_id, on_event=lambda event: None, timeout_s=0.5)
    await call("cancel", run_id)
    said["cancelled"] = await error("wait", run_id)
    await call("delete", run_id)
    said["deleted"] = await error("run", run_id)
    nobody = type(client)("http://127.0.0.1:1")
    said["nobody"] = await error("run", "a", of=nobody)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def service(answers):
    """Answers each connection with the next of these bytes, and hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        with listening:
            for answer in answers:
                with listening.accept()[0] as connection:
                    connection.recv(65536)
                    connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return type(client)(f"http://127.0.0.1:{listening.getsockname()[1]}", patience_s=60)


async def away(said):
    flaky = service([b"", OK, b"", OK[:-1], OK, b""])
    said["away from the first"] = await error("run", "a", of=flaky)
    said["back"] = [await call("run", "a", of=flaky), await call("run", "a", of=flaky)]
    said["away at a change"] = await error("cancel", "a", of=flaky)


async def uploads(said):
    row = {
        "trajectory_steps": [], "exit_reason": "agent", "exp_name": "a", "docker_image": "demo:1",
        "problem_statement": "x is wrong", "ds": {"instance_id": "demo-4"}, "output_patch": patch,
    }  # fmt: skip
    taken = await call("rescore", json.dumps(row).encode() + b"\n", preset="ef-only", verifiers="ef")
    said["rescored"] = [len(taken["runs"]), taken["rejected"]["count"]]
    run = await call("wait", taken["runs"][0]["id"])
    line = json.dumps({"run_id": run["id"]}).encode() + b"\n"
    said["report"] = (await call("report", line, title="Two"))["title"]


async def benchmarks(said):
    rows = [issue(f"o__r-{number}") for number in (1, 2)]
    bench, told = {"title": "Nightly", "arms": [{"name": "mine", "k": 2}], "concurrency": 1}, []
    report = await call("bench", bench, rows, on_standing=told.append)
    said["bench"] = [report["kind"], [[arm["arm"], arm["selected"]] for arm in report["arms"]]]
    said["standings"] = [told[-1]["status"], told[-1] not in told[:-1]]
    (found,) = [each for each in await call("benchmarks") if each["id"] == told[0]["id"]]
    said["found"] = [found["title"], (await call("benchmark", found["id"]))["issues"]]
    said["lines"] = [row["instance_id"] for row in await call("bench_runs", found["id"], arm="mine")]
    said["over"] = await error("pause_bench", found["id"])
    endless = await call("submit_bench", bench, [issue("demo-endless")])
    await call("pause_bench", endless["id"])
    said["paused"] = (await call("benchmark", endless["id"]))["status"]
    await call("resume_bench", endless["id"])
    said["bench late"] = await error("wait_bench", endless["id"], timeout_s=0.1)
    await call("cancel_bench", endless["id"])
    said["bench cancelled"] = await error("wait_bench", endless["id"])
    said["no bench"] = await error("submit_bench", bench, [])


async def main():
    said = {"url": client.url == url}
    for part in (runs, ends, away, uploads, benchmarks):
        await part(said)
    await call("close")
    print(json.dumps(said))


asyncio.run(main())
