"""Kubeconfigs and service accounts as users write them, good and bad."""

import base64
import os
import stat
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from kubernetes.config import incluster_config

from scheduler.kube.credentials import Credentials, CredentialsError, load_credentials

CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(
    path: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    current: str | None = "test",
    **extra: Any,
) -> Path:
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "one",
                "cluster": {"server": "https://api.example:6443", "certificate-authority-data": encoded(CA)}
                | (cluster or {}),
            }
        ],
        "users": [{"name": "me", "user": {"token": "abc"} if user is None else user}],
        "contexts": [
            {"name": "test", "context": {"cluster": "one", "user": "me"}},
            {"name": "other", "context": {"cluster": "one", "user": "me"}},
        ],
    }
    if current is not None:
        content["current-context"] = current
    path.write_text(yaml.safe_dump(content | extra))
    return path


def load(path: Path | None = None, context: str | None = None, **environ: str) -> Credentials:
    return load_credentials(path, context=context, environ=environ)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a kubeconfig, and no proxy from the machine's environment."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    return folder


# --------------------------------------------------------------------------------------------------------- where it is from


async def test_the_file_given_comes_before_all_others(tmp_path: Path) -> None:
    given = kubeconfig(tmp_path / "given", user={"token": "given"})
    named = kubeconfig(tmp_path / "named", user={"token": "named"})
    credentials = load(given, KUBECONFIG=str(named), KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert credentials.authorization() == "Bearer given"
    assert credentials.source == f"kubeconfig {given} (given)"


async def test_kubeconfig_comes_before_the_service_account_and_merges_its_files(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path / "first", user={"token": "first"})
    second = kubeconfig(tmp_path / "second", user={"token": "second"}, current="other")
    missing = tmp_path / "missing"
    credentials = load(KUBECONFIG=f"{missing}:{first}:{second}", KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert credentials.authorization() == "Bearer first"


async def test_the_default_file_comes_last(home: Path) -> None:
    (home / ".kube").mkdir()
    kubeconfig(home / ".kube" / "config", user={"token": "default"})
    assert load().authorization() == "Bearer default"


async def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "ca.crt").write_text(CA)
    module = "kubernetes.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    credentials = load_credentials()
    assert credentials.endpoint.url == "https://[fd00::1]:443"
    assert credentials.endpoint.ca_pem == CA.encode()
    assert credentials.authorization() == "Bearer pod-token"
    assert credentials.source == "the pod's service account"


async def test_a_pod_without_a_token_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(CredentialsError, match=r"token file does not exist.*automountServiceAccountToken"):
        load_credentials()


async def test_nothing_anywhere_is_told_with_all_places() -> None:
    with pytest.raises(CredentialsError, match=r"KUBECONFIG is not set.*~/\.kube/config does not exist.*--kubeconfig"):
        load()


# ------------------------------------------------------------------------------------------------------------- what is in it


async def test_a_token_and_an_authority_inside_the_file(tmp_path: Path) -> None:
    credentials = load(kubeconfig(tmp_path / "config"))
    assert credentials.authorization() == "Bearer abc"
    assert credentials.endpoint.url == "https://api.example:6443"
    assert credentials.endpoint.ca_pem == CA.encode()
    assert credentials.endpoint.is_verified


async def test_files_are_found_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name, text in (("my.crt", "CERT"), ("my.key", "KEY"), ("my-ca.crt", CA), ("my.token", "from-file\n")):
        (tmp_path / name).write_text(text)
    path = kubeconfig(tmp_path / "config")
    content = yaml.safe_load(path.read_text())
    content["clusters"][0]["cluster"] = {"server": "https://api.example", "certificate-authority": "my-ca.crt"}
    content["users"][0]["user"] = {"client-certificate": "my.crt", "client-key": "my.key", "tokenFile": "my.token"}
    path.write_text(yaml.safe_dump(content))
    credentials = load(path)
    assert credentials.endpoint.identity_pem == b"CERT\nKEY"
    assert credentials.endpoint.ca_pem == CA.encode()
    assert credentials.authorization() == "Bearer from-file"


async def test_the_other_settings_of_a_cluster(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "kubernetes", "proxy-url": "http://proxy:3128", "insecure-skip-tls-verify": True}
    endpoint = load(kubeconfig(tmp_path / "config", cluster=cluster)).endpoint
    assert (endpoint.server_name, endpoint.proxy, endpoint.is_verified) == ("kubernetes", "http://proxy:3128", False)


async def test_a_user_name_and_a_password(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user={"username": "jo", "password": "secret"})
    assert load(path).authorization() == "Basic " + encoded("jo:secret")


async def test_a_user_without_credentials_sends_no_header(tmp_path: Path) -> None:
    assert load(kubeconfig(tmp_path / "config", user={})).authorization() is None


async def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", current="missing")
    assert load(path, context="other").authorization() == "Bearer abc"


def exec_user(tmp_path: Path, script: str) -> dict[str, Any]:
    program = tmp_path / "plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}


async def test_an_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    answer = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'
    path = kubeconfig(tmp_path / "config", user=exec_user(tmp_path, f"echo '{answer}'"))
    assert load(path).authorization() == "Bearer from-plugin"


async def test_an_exec_plugin_that_fails_is_named_with_its_message(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user=exec_user(tmp_path, "echo 'session expired' >&2; exit 3"))
    with pytest.raises(CredentialsError, match=r"exec plugin .*/plugin failed: .*returned 3\. session expired"):
        load(path)


async def test_an_exec_plugin_that_does_not_exist_is_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
    with pytest.raises(CredentialsError, match="exec plugin /no/such/plugin cannot be run"):
        load(kubeconfig(tmp_path / "config", user=user))


async def test_a_token_is_refreshed_off_the_loop(tmp_path: Path) -> None:
    """An exec plugin whose token has expired is run again when the header is next looked at, half a minute later."""
    counter = tmp_path / "count"
    answer = (
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
        '"status":{"token":"\'$(wc -l < count)\'","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
    )
    script = f"cd {tmp_path}; echo x >> {counter}; echo '{answer}'"
    path = kubeconfig(tmp_path / "config", user=exec_user(tmp_path, script))
    now = 0.0
    credentials = load_credentials(path, environ={}, monotonic=lambda: now)
    before = credentials.authorization()
    now = 31.0
    assert credentials.authorization() == before  # the old one, while a newer one is being fetched
    assert credentials._look is not None
    await credentials._look
    after = credentials.authorization()
    assert before is not None
    assert after is not None
    assert int(after.removeprefix("Bearer ")) > int(before.removeprefix("Bearer "))


async def test_a_pod_takes_the_token_that_the_kubelet_has_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the old one ends: nobody has to refuse it first."""
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text(CA)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    minutes = SimpleNamespace(datetime=datetime, timedelta=lambda minutes: timedelta(0))
    monkeypatch.setattr(incluster_config, "datetime", minutes)  # a token is old after no time, and not after a minute
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    now = 0.0
    credentials = load_credentials(monotonic=lambda: now)
    (tmp_path / "token").write_text("second")
    now = 31.0
    assert credentials.authorization() == "Bearer first"
    assert credentials._look is not None
    await credentials._look
    assert credentials.authorization() == "Bearer second"


async def test_a_pod_takes_the_authority_that_has_been_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("token")
    (tmp_path / "ca.crt").write_text(CA)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    now = 0.0
    credentials = load_credentials(monotonic=lambda: now)
    other = CA.replace("MIIB", "MIIC")
    (tmp_path / "ca.crt").write_text(other)
    now = 11.0
    assert await credentials.reload()
    assert credentials.endpoint.ca_pem == other.encode()


async def test_a_refresh_that_fails_keeps_the_old_credentials(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config")
    now = 0.0
    credentials = load_credentials(path, environ={}, monotonic=lambda: now)
    path.unlink()
    now = 60.0
    assert not await credentials.reload()
    assert credentials.authorization() == "Bearer abc"


# --------------------------------------------------------------------------------------------------------------- bad input


async def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"kubeconfig .*/nowhere \(given\): the file does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(
        CredentialsError, match=r"kubeconfig .*/nowhere \(named by KUBECONFIG\): the file does not exist"
    ):
        load(KUBECONFIG=str(tmp_path / "nowhere"))


async def test_a_context_that_is_missing_is_named_with_those_there_are(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config")
    with pytest.raises(CredentialsError, match='context "prod" is not defined; there are: test, other'):
        load(path, context="prod")


async def test_a_file_without_a_current_context_is_told_which_there_are(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", current=None)
    with pytest.raises(CredentialsError, match="there is no current-context; set one of: test, other"):
        load(path)


async def test_a_context_whose_cluster_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"Expected object with name one in .*clusters list"):
        load(kubeconfig(tmp_path / "config", clusters=[]))


@pytest.mark.parametrize("text", ["", "[]", "a: [", "just text", "clusters: 3\ncontexts: 4\ncurrent-context: x", "\0"])
async def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=rf"kubeconfig {path} \(given\): "):
        load(path)


async def test_an_authority_that_is_no_certificate_is_told(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", cluster={"certificate-authority-data": encoded("nothing")})
    with pytest.raises(CredentialsError, match="there is no PEM certificate in it"):
        load(path)


async def test_a_file_that_the_kubeconfig_names_and_that_is_missing_is_named(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", user={"client-certificate": "/no/my.crt", "client-key": "/no/my.key"})
    with pytest.raises(CredentialsError, match=r"/no/my\.crt"):
        load(path)
