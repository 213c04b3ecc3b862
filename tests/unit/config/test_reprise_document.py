"""RepriseConfiguration: the document beside kube-scheduler's."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.config.configuration import Configuration, from_object
from scheduler.config.report import ConfigurationError
from scheduler.config.reprise_document import Batching, Logging, RepriseConfiguration, Serving


def configuration(**fields: Any) -> Configuration:
    return from_object({"apiVersion": "reprise.dev/v1alpha1", "kind": "RepriseConfiguration", **fields})


def errors_of(**fields: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        configuration(**fields)
    return caught.value.errors


def test_the_defaults_are_safe() -> None:
    expected = RepriseConfiguration(
        batching=Batching(enabled=True, max_signatures=16, max_batch_age_seconds=0.5, verify_fraction=0.01),
        serving=Serving(
            bind_address="0.0.0.0",
            port=10259,
            cert_file="",
            private_key_file="",
            plain_metrics_port=0,
            insecure_bind_address="127.0.0.1",
            insecure_port=0,
            debug=False,
        ),
        logging=Logging(format="json", level="info"),
    )

    assert from_object(None).reprise == expected
    assert configuration().reprise == expected


def test_every_field_is_read() -> None:
    found = configuration(
        batching={"enabled": False, "maxSignatures": 4, "maxBatchAge": "0s", "verifyFraction": 1},
        serving={
            "bindAddress": "::1",
            "port": 1,
            "certFile": "/c.pem",
            "privateKeyFile": "/k.pem",
            "plainMetricsPort": 2,
            "insecureBindAddress": "::1",
            "insecurePort": 3,
            "debug": True,
        },
        logging={"format": "console", "level": "debug"},
    )

    assert found.reprise == RepriseConfiguration(
        batching=Batching(enabled=False, max_signatures=4, max_batch_age_seconds=0.0, verify_fraction=1.0),
        serving=Serving(
            bind_address="::1",
            port=1,
            cert_file="/c.pem",
            private_key_file="/k.pem",
            plain_metrics_port=2,
            insecure_bind_address="::1",
            insecure_port=3,
            debug=True,
        ),
        logging=Logging(format="console", level="debug"),
    )


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1"])
def test_any_address_can_be_served_to_those_who_say_who_they_are(address: str) -> None:
    assert configuration(serving={"bindAddress": address}).reprise.serving.bind_address == address


@pytest.mark.parametrize("address", ["127.0.0", "", "example.com", "localhost"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert errors_of(serving={"bindAddress": address}) == [
        f'serving.bindAddress: Invalid value: "{address}": must be an IP address, such as 0.0.0.0, :: or 10.9.8.7'
    ]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.5.6.7", "::1", "localhost"])
def test_loopback_is_served_without_asking(address: str) -> None:
    assert configuration(serving={"insecureBindAddress": address}).reprise.serving.insecure_bind_address == address


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0", "", "128.0.0.1"])
def test_only_loopback_is_served_without_asking(address: str) -> None:
    assert errors_of(serving={"insecureBindAddress": address}) == [
        (
            f'serving.insecureBindAddress: Invalid value: "{address}": must be a loopback address such as 127.0.0.1 or ::1, '
            "because nobody is asked who he is there"
        )
    ]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"batching": {"maxSignatures": 0}}, ["batching.maxSignatures: Invalid value: 0: must be greater than 0"]),
        (
            {"batching": {"maxBatchAge": "-1s"}},
            ['batching.maxBatchAge: Invalid value: "-1s": must be zero or positive'],
        ),
        ({"batching": {"maxBatchAge": 1}}, ['batching.maxBatchAge: expected a duration such as "15s", got 1']),
        (
            {"batching": {"verifyFraction": 1.5}},
            ["batching.verifyFraction: Invalid value: 1.5: not in valid range [0, 1]"],
        ),
        ({"serving": {"port": 65536}}, ["serving.port: Invalid value: 65536: must be between 0 and 65535"]),
        (
            {"serving": {"plainMetricsPort": -1, "insecurePort": 65536}},
            [
                "serving.plainMetricsPort: Invalid value: -1: must be between 0 and 65535",
                "serving.insecurePort: Invalid value: 65536: must be between 0 and 65535",
            ],
        ),
        (
            {"serving": {"port": 80, "plainMetricsPort": 80, "insecurePort": 0}},
            ["serving.plainMetricsPort: Invalid value: 80: is that of serving.port already"],
        ),
        (
            {"serving": {"certFile": "/c.pem"}},
            [
                "serving.privateKeyFile: Required value: certFile is set; give both, or none for a certificate of our own",
            ],
        ),
        (
            {"serving": {"privateKeyFile": "/k.pem"}},
            [
                "serving.certFile: Required value: privateKeyFile is set; give both, or none for a certificate of our own",
            ],
        ),
        ({"serving": {"address": "::1"}}, ["serving.address: unknown field; did you mean bindAddress?"]),
        ({"logging": {"format": "text"}}, ['logging.format: expected "console" or "json", got the string "text"']),
        (
            {"logging": {"level": "trace"}},
            ['logging.level: expected "debug" or "error" or "info" or "warning", got the string "trace"'],
        ),
    ],
)
def test_wrong_values_are_refused(fields: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(**fields) == errors
