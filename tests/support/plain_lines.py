"""Lines of ``reprise evaluate --jsonl``, and their answers, as plain JSON."""

from __future__ import annotations

import json
from typing import Any

from scheduler.app.evaluate_jsonl import answer_lines

Json = dict[str, Any]
SUCCESS = {"code": "Success"}


def node(name: str = "n1", uid: str = "", cpu: str = "4", **fields: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": uid or f"{name}-uid", **fields.pop("metadata", {})},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}, **fields.pop("status", {})},
        **fields,
    }


def pod(name: str = "web", uid: str | None = None, cpu: str = "1", node_name: str = "", **spec: Any) -> Json:
    found: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"{name}-uid" if uid is None else uid},
        "spec": {"containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }
    if node_name:
        found["spec"]["nodeName"] = node_name
    return found


def reference(kind: str, name: str, uid: str = "", namespace: str = "") -> Json:
    metadata = {"name": name, **({"uid": uid} if uid else {}), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def full(*objects: Json, subject: Json | None = None, config: Json | None = None) -> Json:
    return {"objects": list(objects), "pod": subject or pod(), "config": config}


def step(*apply: Json, delete: list[Json] | None = None, subject: Json | None = None) -> Json:
    return {"apply": list(apply), "delete": delete or [], "pod": subject or pod()}


def ask(*lines: Json | str | bytes) -> list[Json]:
    encoded = (
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    )
    return [json.loads(answer) for answer in answer_lines(encoded)]


def last(*lines: Json | str) -> Json:
    return ask(*lines)[-1]


def fits(answer: Json) -> list[str]:
    """Names of the nodes that the pod fits on."""
    assert "error" not in answer, answer
    return [name for name, status in answer["filter"].items() if status == SUCCESS]


def cpu_left(*lines: Json | str) -> int:
    """The most whole CPUs that a pod can still get on n1 after these lines."""
    fitting = [count for count in range(1, 5) if fits(last(*lines, step(subject=pod("probe", cpu=str(count)))))]
    return max(fitting, default=0)
