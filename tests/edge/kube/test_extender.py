"""Extenders are asked over HTTP: what they are sent, and what becomes of every kind of answer; against a server on loopback, in real time."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from scheduler.config.kube_document import Extender, ExtenderTLSConfig
from scheduler.core.instruction import AskExtender, ExtenderVerb, PodReference, Victims
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed, HostScore, Stimulus
from scheduler.kube import extender as module
from scheduler.kube.credentials import CredentialsError
from scheduler.kube.extender import ExtenderCaller
from scheduler.kube.fence import Fence, FenceClosed
from scheduler.kube.kept_objects import KeptObjects
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Response
from tests.edge.kube.local_server import authority, serving

NOW = 1000.0
POD = {"metadata": {"name": "web", "namespace": "default", "uid": "u1", "annotations": {"a": "b"}},
       "spec": {"schedulerName": "reprise", "containers": [{"name": "c", "env": [{"name": "X", "value": "1"}]}]}}  # fmt: skip
VICTIM = {"metadata": {"name": "old", "uid": "u9"}, "spec": {"nodeName": "n1", "schedulerName": "other"}}
VERBS: dict[str, Any] = {
    "filter_verb": "filter",
    "prioritize_verb": "rank",
    "preempt_verb": "evict",
    "bind_verb": "bind",
}
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class ApiServer:
    """The API server as far as it is asked for a pod."""

    def __init__(self, node_name: str = "") -> None:
        self.pod = {"metadata": {"uid": "u1"}, "spec": {"nodeName": node_name}}
        self.reads = 0

    async def get(self, path: str) -> Response:
        self.reads += 1
        assert path == "/api/v1/namespaces/default/pods/web"
        return Response(200, {}, json.dumps(self.pod).encode())


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"{name}-uid", "managedFields": [{"manager": "kubelet"}]}, "spec": {}}


def event(subject: dict[str, Any], kind: str = "ADDED") -> bytes:
    return json.dumps({"type": kind, "object": subject}).encode()


def question(verb: ExtenderVerb, *names: str, victims: dict[str, Victims] | None = None) -> AskExtender:
    pod = PodReference(namespace="default", name="web", uid="u1")
    return AskExtender(number=7, extender=0, verb=verb, pod=pod, node_names=list(names), victims=victims or {})


async def ask(
    asked: AskExtender,
    *,
    url: str,
    api: Any = None,
    may_bind: Callable[[str], bool] = lambda _uid: True,
    fence: Fence | None = None,
    **fields: Any,
) -> ExtenderAnswered | ExtenderFailed:
    """What becomes of one question."""
    answers: list[Stimulus] = []
    server: Any = api or ApiServer()
    configured = Extender(url_prefix=f"{url}/scheduler/", **{**VERBS, **fields})
    caller = ExtenderCaller(
        [configured], frozenset({"reprise"}), answers.append, server, may_bind=may_bind, fence=fence,
        timing=Timing(now=lambda: NOW),
    )  # fmt: skip
    caller.pods.hear_lines([event(POD), event(VICTIM)])
    if caller.nodes is not None:
        caller.nodes.hear_lines([event(node(name)) for name in ("n1", "n2", "n3")])
    try:
        caller.submit(asked)
        await caller.drain(10.0)
    finally:
        await caller.close()
        await asyncio.sleep(0.01)
    [answer] = answers
    assert isinstance(answer, ExtenderAnswered | ExtenderFailed)
    return answer


class Scripted:
    """A server that gives one answer and remembers what it was asked."""

    def __init__(self, answer: Any, *, status: int = 200) -> None:
        self.body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.status = status
        self.path = ""
        self.seen: Any = None
        self.headers: Any = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.path, self.headers = request.path, request.headers
        self.seen = json.loads(await request.read())
        return web.Response(body=self.body, status=self.status)


async def told(
    asked: AskExtender, answer: Any, *, status: int = 200, **fields: Any
) -> ExtenderAnswered | ExtenderFailed:
    async with serving(Scripted(answer, status=status)) as url:
        return await ask(asked, url=url, **fields)


FILTER = question(ExtenderVerb.FILTER, "n1", "n2")


async def test_filter_is_sent_the_whole_pod_and_whole_nodes_without_managed_fields() -> None:
    server = Scripted({"nodes": {"items": [node("n2")]}, "failedNodes": {"n1": "no GPU"}})

    async with serving(server) as url:
        answer = await ask(FILTER, url=url)

    bare = [{"metadata": {"name": name, "uid": f"{name}-uid"}, "spec": {}} for name in ("n1", "n2")]
    assert (server.path, server.headers["Content-Type"]) == ("/scheduler/filter", "application/json")
    assert server.seen == {"Pod": POD, "Nodes": {"metadata": {}, "items": bare}, "NodeNames": None}
    assert answer == ExtenderAnswered(now=NOW, number=7, node_names=["n2"], failed_nodes={"n1": "no GPU"})


async def test_one_that_knows_the_nodes_is_sent_names() -> None:
    server = Scripted({"NodeNames": ["n1"], "FailedAndUnresolvableNodes": {"n2": "gone for good"}})

    async with serving(server) as url:
        answer = await ask(FILTER, url=url, node_cache_capable=True)

    assert server.seen == {"Pod": POD, "Nodes": None, "NodeNames": ["n1", "n2"]}
    assert answer == ExtenderAnswered(now=NOW, number=7, node_names=["n1"], unresolvable_nodes={"n2": "gone for good"})


async def test_names_count_only_for_one_that_was_sent_names() -> None:
    answer = await told(FILTER, {"NodeNames": ["n1"]})

    assert answer == ExtenderAnswered(now=NOW, number=7)


async def test_an_error_in_the_answer_is_the_extenders_own() -> None:
    answer = await told(FILTER, {"Error": "licence expired", "NodeNames": None})

    assert answer == ExtenderAnswered(now=NOW, number=7, error="licence expired")


async def test_prioritize_gives_scores() -> None:
    answer = await told(question(ExtenderVerb.PRIORITIZE, "n1"), [{"Host": "n1", "Score": 7}, {"host": "n2"}])

    assert answer == ExtenderAnswered(now=NOW, number=7, scores=[HostScore("n1", 7), HostScore("n2", 0)])


async def test_bind_is_sent_who_goes_where() -> None:
    server = Scripted({})

    async with serving(server) as url:
        answer = await ask(question(ExtenderVerb.BIND, "n1"), url=url)

    assert server.seen == {"PodName": "web", "PodNamespace": "default", "PodUID": "u1", "Node": "n1"}
    assert answer == ExtenderAnswered(now=NOW, number=7)


async def test_a_failed_bind_of_a_pod_that_is_on_its_node_is_none() -> None:
    asked = question(ExtenderVerb.BIND, "n1")

    assert isinstance(await told(asked, b"", status=500, api=ApiServer("n1")), ExtenderAnswered)
    assert isinstance(await told(asked, b"", status=500, api=ApiServer("n2")), ExtenderFailed)


async def test_a_bind_that_is_not_to_be_sent_any_more_is_not() -> None:
    server, api = Scripted({}), ApiServer()

    async with serving(server) as url:
        answer = await ask(question(ExtenderVerb.BIND, "n1"), url=url, api=api, may_bind=lambda _uid: False)

    assert server.seen is None
    assert api.reads == 0
    assert answer == ExtenderFailed(now=NOW, number=7, error="the pod is not to be bound any more")


async def test_who_does_not_lead_any_more_asks_for_no_bind_and_for_the_rest_as_before() -> None:
    server = Scripted({"NodeNames": ["n1"]})
    closed = Fence(lambda: 0.0)

    async with serving(server) as url:
        api: Any = ApiServer()
        configured = Extender(url_prefix=url, **VERBS)
        answers: list[Stimulus] = []
        caller = ExtenderCaller([configured], frozenset({"reprise"}), answers.append, api, fence=closed)
        caller.submit(question(ExtenderVerb.BIND, "n1"))
        with pytest.raises(FenceClosed):
            await asyncio.wait_for(caller.run(), 10.0)
        await caller.close()
        assert (server.seen, answers, api.reads) == (None, [], 0)
        assert isinstance(await ask(FILTER, url=url, fence=closed, node_cache_capable=True), ExtenderAnswered)


@pytest.mark.parametrize(
    ("by_name", "key", "pods"),
    [(True, "NodeNameToMetaVictims", [{"UID": "u9"}]), (False, "NodeNameToVictims", [VICTIM])],
)
async def test_preempt_is_sent_victims(by_name: bool, key: str, pods: list[Any]) -> None:
    server = Scripted({"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u9"}], "NumPDBViolations": 1}}})
    victims = {"n1": Victims(pods=["u9"], pdb_violations=1)}

    async with serving(server) as url:
        answer = await ask(question(ExtenderVerb.PREEMPT, victims=victims), url=url, node_cache_capable=by_name)

    nothing = {"NodeNameToVictims": None, "NodeNameToMetaVictims": None}
    assert server.seen == {"Pod": POD, **nothing, key: {"n1": {"Pods": pods, "NumPDBViolations": 1}}}
    assert answer == ExtenderAnswered(now=NOW, number=7, victims=victims)


# ------------------------------------------------------------------------------------------------------------ bad answers


async def failure(answer: Any, **fields: Any) -> str:
    found = await told(FILTER, answer, **fields)
    assert isinstance(found, ExtenderFailed)
    return found.error


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_another_code_than_200_is_told_as_kube_scheduler_tells_it(status: int) -> None:
    text = await failure(b"secret page", status=status)

    assert text.startswith("failed filter with extender at URL http://127.0.0.1:")
    assert text.endswith(f"/scheduler/filter, code {status}")


@pytest.mark.parametrize(
    "answer",
    [b"", b"{", b"<html>", b"[]", b'"x"', b'{"FailedNodes": 3}', b'{"nodes": {"items": [{"metadata": []}]}}', b"\xff"],
)
async def test_what_is_no_answer_is_said_to_be_none(answer: bytes) -> None:
    text = await failure(answer)

    assert text.startswith("extender at URL http://127.0.0.1:")
    assert "/scheduler did not answer filter as it should: " in text


async def test_deep_json_is_no_answer() -> None:
    assert "did not answer filter as it should" in await failure(b'{"x":' * 50_000)


async def test_a_score_beyond_64_bits_is_no_answer() -> None:
    asked = question(ExtenderVerb.PRIORITIZE, "n1")

    answer = await told(asked, f'[{{"Host": "n1", "Score": {2**70}}}]'.encode())

    assert isinstance(answer, ExtenderFailed)


async def test_one_that_takes_longer_than_its_time_out_is_not_waited_for() -> None:
    async def never(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(never) as url:
        answer = await ask(FILTER, url=url, http_timeout_seconds=0.05)

    assert answer.error == f'Post "{url}/scheduler/filter": no answer within 0.05s (httpTimeout)'


async def test_one_that_is_not_there_is_told_with_its_address() -> None:
    async with serving(Scripted({})) as url:
        pass

    assert (await ask(FILTER, url=url)).error == f'Post "{url}/scheduler/filter": Connection refused (os error 111)'


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_BYTES", 100_000)

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65536)
        except ConnectionError:
            return response

    async with serving(endless) as url:
        answer = await ask(FILTER, url=url, http_timeout_seconds=10.0)

    assert "the answer is too large: more than " in answer.error


async def test_long_reasons_are_cut() -> None:
    answer = await told(FILTER, {"FailedNodes": {"n1": "x" * 5000}, "Error": "y" * 5000})

    assert isinstance(answer, ExtenderAnswered)
    assert (len(answer.failed_nodes["n1"]), len(answer.error)) == (1024, 1024)


# --------------------------------------------------------------------------------------------------------------- identity


async def test_a_password_is_sent_and_never_told() -> None:
    server = Scripted(b"", status=500)

    async with serving(server) as url:
        answer = await ask(FILTER, url=url.replace("://", "://me:s%2Fecret@"))

    assert server.headers["Authorization"] == f"Basic {base64.b64encode(b'me:s/ecret').decode()}"
    assert answer.error == f"failed filter with extender at URL {url}/scheduler/filter, code 500"


async def test_certificates_are_verified_unless_the_configuration_says_otherwise(tmp_path: Path) -> None:
    issuer = authority(tmp_path)
    certificate = base64.b64encode(issuer.certificate.read_bytes()).decode()
    trusts = {
        "no authority": ExtenderTLSConfig(),
        "file": ExtenderTLSConfig(ca_file=str(issuer.certificate)),
        "data": ExtenderTLSConfig(ca_data=certificate),
        "insecure": ExtenderTLSConfig(insecure=True),
    }

    async with serving(Scripted({"NodeNames": []}), tls=issuer.server_context()) as url:
        errors = {
            name: (await ask(FILTER, url=url, enable_https=True, tls_config=tls)).error for name, tls in trusts.items()
        }

    assert "invalid peer certificate: " in errors.pop("no authority")
    assert errors == {"file": "", "data": "", "insecure": ""}


async def test_a_server_may_go_by_another_name(tmp_path: Path) -> None:
    issuer = authority(tmp_path)
    ca = str(issuer.certificate)

    async with serving(Scripted({}), tls=issuer.server_context("named", "DNS:extender.example")) as url:
        named = await ask(FILTER, url=url, tls_config=ExtenderTLSConfig(ca_file=ca, server_name="extender.example"))
        unnamed = await ask(FILTER, url=url, tls_config=ExtenderTLSConfig(ca_file=ca))

    assert named.error == ""
    assert "invalid peer certificate: " in unnamed.error


def test_a_file_that_is_not_there_is_named_at_the_start() -> None:
    configured = Extender(url_prefix="https://e", tls_config=ExtenderTLSConfig(ca_file="/nowhere/ca.crt"))

    with pytest.raises(CredentialsError, match=r"extenders\[0\].tlsConfig: No such file or directory: /nowhere/ca.crt"):
        ExtenderCaller([configured], frozenset(), lambda _: None, ApiServer())  # type: ignore[arg-type]  # never asked


# ------------------------------------------------------------------------------------------------------------ kept objects


def pods(*, also_bound: bool) -> KeptObjects:
    from scheduler.kube.kept_objects import pods_by_uid

    return pods_by_uid(frozenset({"reprise"}), also_bound=also_bound)


@pytest.mark.parametrize(("also_bound", "count"), [(False, 1), (True, 2)])
def test_bound_pods_are_kept_only_where_an_extender_may_be_sent_victims(also_bound: bool, count: int) -> None:
    kept = pods(also_bound=also_bound)
    foreign = {"metadata": {"name": "x", "uid": "u2"}, "spec": {"schedulerName": "other"}}

    kept.hear_lines([event(POD), event(VICTIM), event(foreign), b"not json"])

    assert len(kept) == count


def test_a_pod_is_kept_until_it_is_bound_or_gone() -> None:
    kept = pods(also_bound=False)

    kept.hear_page(json.dumps({"items": [POD, 3]}).encode())
    assert kept.get("u1") is not None
    kept.hear_lines([event({**POD, "spec": {"schedulerName": "reprise", "nodeName": "n1"}}, "MODIFIED")])
    assert kept.get("u1") is None
    kept.hear_lines([event(POD), event(POD, "DELETED")])
    assert len(kept) == 0
