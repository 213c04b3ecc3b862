"""What the command wires to the HTTP server."""

from __future__ import annotations

import asyncio

import pytest

from scheduler.app.serving import Heartbeat, certificate_of, is_served, make_server
from scheduler.config.reprise_document import Serving
from scheduler.serving.health import ping
from scheduler.serving.pages import Pages
from scheduler.serving.server import ServingError

PAGES = Pages(live={"ping": ping}, ready={"ping": ping}, metrics={}, configuration=dict)


async def test_a_loop_that_does_not_turn_is_not_well() -> None:
    now = [100.0]
    heartbeat = Heartbeat(lambda: now[0])
    now[0] += 59.0
    assert heartbeat.is_well()
    now[0] += 1.0
    assert not heartbeat.is_well()

    async def one_turn(_: float) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await heartbeat.run(one_turn)
    assert heartbeat.is_well()


def test_nothing_is_served_when_no_port_is_asked_for() -> None:
    assert not is_served(Serving(port=0))
    assert is_served(Serving())
    assert is_served(Serving(port=0, insecure_port=1))
    assert is_served(Serving(port=0, plain_metrics_port=1))


def test_without_a_port_there_is_no_certificate_to_be_wrong() -> None:
    serving = Serving(port=0, cert_file="/no/such/file", private_key_file="/no/such/file", insecure_port=1)

    make_server(serving, PAGES, None)


def test_a_certificate_that_is_not_there_is_named() -> None:
    with pytest.raises(ServingError, match=r"serving\.certFile: /no/such/file: No such file"):
        certificate_of(Serving(cert_file="/no/such/file", private_key_file="/no/such/key"))
