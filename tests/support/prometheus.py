"""Prometheus and its promtool, as Debian packages them: where they are, and what to do when they are not."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.api_client import ApiClient
from tests.support.control_plane import free_ports
from tests.support.daemons import Daemon
from tests.support.resources import Object


def require_program(name: str) -> Path:
    """Where it is; without it the test fails in CI and is skipped elsewhere, and says how to get it."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    message = f"needs {name} (on Debian: apt-get install --no-install-recommends prometheus; its service is not needed)"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def promtool(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What promtool says and with which code it ends."""
    command = [require_program("promtool"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=150)


@dataclass(frozen=True)
class Target:
    """What is scraped under a job label, over HTTPS, with a token, trusting ``ca_file``."""

    job: str
    address: str
    token: str
    ca_file: Path


class PrometheusError(Exception):
    """It refused a question, or did not see in time what was waited for."""


class Prometheus:
    """A running Prometheus on loopback, with rule files; use it in a `with`. Targets may come later."""

    def __init__(self, folder: Path, rule_files: Iterable[Path], jobs: Sequence[Target]) -> None:
        """`jobs` are all that will be scraped, once `scrape` names their job."""
        self._folder = Path(tempfile.mkdtemp(prefix="prometheus-", dir=folder))
        self._rule_files = [str(path) for path in rule_files]
        self._jobs = {target.job: target for target in jobs}
        self.daemon: Daemon
        self._client: ApiClient

    def __enter__(self) -> Self:
        program = require_program("prometheus")
        configuration = self._folder / "prometheus.json"  # JSON is YAML
        configuration.write_text(json.dumps(self._configuration()))
        [port] = free_ports(1)
        command: list[str | Path] = [
            program,
            f"--config.file={configuration}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        self.daemon = Daemon("prometheus", command, folder=self._folder)
        self._client = ApiClient(f"http://127.0.0.1:{port}")
        try:
            self.daemon.wait_ready(self._is_ready, seconds=30.0)
        except BaseException:
            self.daemon.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self.daemon.stop()

    def scrape(self, *jobs: str) -> None:
        """Scrape these jobs from now on."""
        for job in jobs:
            groups = [{"targets": [self._jobs[job].address]}]
            part = self._folder / f"{job}.part"
            part.write_text(json.dumps(groups))
            part.replace(self._folder / f"{job}.json")

    def ask(self, query: str, *, at: float | None = None) -> list[Object]:
        """The series of an instant query, each with ``metric`` and ``value``.

        Raises:
            PrometheusError: it is not well formed, or cannot be answered.
        """
        result: list[Object] = self._get("query", query=query, **({} if at is None else {"time": f"{at:.3f}"}))[
            "result"
        ]
        return result

    def ask_range(self, query: str, start: float, end: float, *, step_seconds: float) -> list[Object]:
        """The series of a query over time, each with ``metric`` and ``values``."""
        result: list[Object] = self._get(
            "query_range", query=query, start=f"{start:.3f}", end=f"{end:.3f}", step=f"{step_seconds:g}"
        )["result"]
        return result

    def label_values(self, label: str, selector: str) -> list[str]:
        """The values of a label among the series of a selector, in order."""
        values: list[str] = self._get(f"label/{label}/values", **{"match[]": selector})
        return values

    def rules(self) -> list[Object]:
        """Its rules, with ``health`` and ``lastError``."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def wait_until(self, condition: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Ask until the condition holds.

        Raises:
            PrometheusError: time ran out.
        """
        deadline = time.monotonic() + seconds
        pause = threading.Event()  # never set: a poll needs an interval
        while not condition():
            if time.monotonic() > deadline:
                raise PrometheusError(f"not seen in {seconds:g} s: {what}\n{self.daemon.tail()}")
            pause.wait(0.2)

    def _get(self, path: str, **query: str) -> Any:
        answer = self._client.send("GET", f"/api/v1/{path}", query=query)
        body = json.loads(answer.body)
        if body["status"] != "success":
            raise PrometheusError(f"{query or path}: {body['error']}")
        return body["data"]

    def _is_ready(self) -> bool:
        try:
            return self._client.send("GET", "/-/ready", accept="*/*").status == 200
        except OSError:
            return False

    def _configuration(self) -> Object:
        return {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "5s"},
            "rule_files": self._rule_files,
            "scrape_configs": [
                {
                    "job_name": target.job,
                    "file_sd_configs": [
                        {"files": [str(self._folder / f"{target.job}.json")], "refresh_interval": "1s"}
                    ],
                    "scheme": "https",
                    "authorization": {"credentials": target.token},
                    "tls_config": {"ca_file": str(target.ca_file)},
                }
                for target in self._jobs.values()
            ],
        }
