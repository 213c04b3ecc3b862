"""`python -m bench compare`: every contestant binds the same pods on a real API server, and the last line says how it went."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.binaries import require_binaries

ROOT = Path(__file__).parents[2]
NAMES = {"reprise", "default", "tuned", "null"}


def test_a_small_comparison_ends_with_a_line_for_programs_and_a_file(tmp_path: Path) -> None:
    require_binaries("etcd", "kube-apiserver", "kube-scheduler")
    arguments = ["--nodes=20", "--pods=60", "--quick", "--output=json", f"--results={tmp_path}"]

    done = subprocess.run(
        [sys.executable, "-m", "bench", "compare", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )

    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    summary = json.loads(line)
    assert (summary["workload"], summary["nodes"], summary["pods"]) == ("SchedulingBasic", 20, 60)
    assert (summary["bound_twice"], summary["overcommitted_nodes"]) == (0, 0)
    assert summary["cpu_ms_per_pod"].keys() == summary["rss_mb"].keys() == NAMES
    assert all(10 < megabytes < 2000 for megabytes in summary["rss_mb"].values())
    assert summary["ratio_default"] > 0
    (file,) = tmp_path.iterdir()
    rounds = json.loads(file.read_text())["rounds"]
    assert [(one["contestant"], one["events"]) for one in rounds] == [
        (name, 60) for name in ("reprise", "default", "tuned", "null")
    ]
