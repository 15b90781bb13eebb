"""A local service, started and stopped by the client."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import Dict, List, Mapping, Optional

from .http import BestkError


class LocalService:
    """`bestk serve` on a free port of loopback. The program is `BESTK_CLI` (a command line) or `bestk` on the PATH."""

    def __init__(self, settings: Mapping[str, str], start_timeout_s: float = 60) -> None:
        self._folder: Optional[str] = None
        environment: Dict[str, str] = {**os.environ, "BESTK_LOG_LEVEL": "info", **settings}
        if "DATABASE_URL" not in environment:
            self._folder = tempfile.mkdtemp(prefix="bestk-")
            environment["DATABASE_URL"] = f"file:{os.path.join(self._folder, 'store.sqlite')}"
        self._said: List[str] = []
        self._listens = threading.Event()
        self.url = ""
        try:
            self._process = subprocess.Popen(
                [*_program(environment), "serve", "--port", "0"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            self._remove()
            raise BestkError(
                f"bestk cannot be started: {error}.", "no-program", "Install it, or say in BESTK_CLI how it is started."
            ) from error
        threading.Thread(target=self._read, daemon=True).start()
        if not self._listens.wait(start_timeout_s) or self.url == "":
            self.stop()
            raise BestkError(
                f"bestk serve did not start: {' '.join(self._said[-3:])}", "not-started", "Run `bestk serve` to see why."
            )

    def stop(self) -> None:
        """Waits until its containers are removed. Idempotent."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._remove()

    def _read(self) -> None:
        """Reads the log to its end: a full pipe would stop the service."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if not self._listens.is_set():
                self._said.append(line.strip())
                try:
                    told = json.loads(line)
                except ValueError:
                    continue
                if told.get("msg") == "listening":
                    self.url = told["url"]
                    self._listens.set()
        self._listens.set()

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _program(environment: Mapping[str, str]) -> List[str]:
    return shlex.split(environment.get("BESTK_CLI", "bestk"))
