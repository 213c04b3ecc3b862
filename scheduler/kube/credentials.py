"""Where the API server is and who we are, from a kubeconfig or from the pod's service account.

The official ``kubernetes`` package reads both, runs exec plugins and refreshes tokens. Here its result is made into values
for the HTTP client, kept fresh off the event loop, and its errors are made clear.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kubernetes.config
import structlog
import yaml  # what the kubernetes package reads kubeconfigs with; its errors come through
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, exec_provider, kube_config

log = structlog.get_logger(__name__)

# The package is untyped: its values are given a type where they enter.
_config: Any = kubernetes.config
_kube_config: Any = kube_config
_exec_provider: Any = exec_provider

DEFAULT_PATH = "~/.kube/config"
# The package rereads the pod's token when it is a minute old, and runs an exec plugin again 5 minutes before its token expires.
LOOK_AGAIN_SECONDS = 30.0
# A refused credential is loaded anew, but a server that refuses all of them is not to be met with a storm of exec plugins.
RELOAD_SECONDS = 10.0


class CredentialsError(Exception):
    """No usable configuration; the text says where it was looked for and what to do."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An API server and how to trust it and be trusted: what a client is built from.

    ``identity_pem`` is a client certificate and its key; ``server_name`` is the name expected in the server's certificate when
    it is not that of the URL. With an empty ``ca_file`` the system's authorities are trusted.
    """

    url: str
    ca_file: str = ""
    ca_pem: bytes = b""
    identity_pem: bytes = b""
    server_name: str = ""
    is_verified: bool = True
    proxy: str = ""
    no_proxy: str = ""


class Credentials:
    """The endpoint and the current Authorization header.

    ``source`` says in words where they came from.
    """

    def __init__(self, load: Callable[[], Configuration], source: str, *, monotonic: Callable[[], float]) -> None:
        """Use ``load_credentials`` instead."""
        self.source = source
        self._load = load
        self._monotonic = monotonic
        self._configuration = load()
        self.endpoint = endpoint_of(self._configuration)
        self._header = header_of(self._configuration)
        self._look_at = monotonic() + LOOK_AGAIN_SECONDS
        self._reload_at = monotonic() + RELOAD_SECONDS
        self._look: asyncio.Task[None] | None = None
        self._reload: asyncio.Task[bool] | None = None
        self._is_failing = False

    def authorization(self) -> str | None:
        """The header to send, or None for none. Call it in the event loop: now and then it begins to look for a newer one."""
        if self._monotonic() >= self._look_at and self._look is None:
            self._look_at = self._monotonic() + LOOK_AGAIN_SECONDS
            self._look = asyncio.get_running_loop().create_task(self._look_again())
        return self._header

    async def reload(self) -> bool:
        """Load everything anew, because the server did not accept it or was not trusted; whether anything changed.

        Does nothing when the last time is less than 10 s ago. Several callers share one load.
        """
        if self._reload is None:
            if self._monotonic() < self._reload_at:
                return False
            self._reload_at = self._monotonic() + RELOAD_SECONDS
            self._reload = asyncio.get_running_loop().create_task(self._load_anew())
        return await asyncio.shield(self._reload)

    async def _look_again(self) -> None:
        try:
            self._header = await asyncio.to_thread(header_of, self._configuration)
            self._is_failing = False
        except (ConfigException, OSError) as error:
            self._complain(error)
        finally:
            self._look = None

    async def _load_anew(self) -> bool:
        before = (self.endpoint, self._header)
        try:
            configuration = await asyncio.to_thread(self._load)
            self.endpoint, self._header = endpoint_of(configuration), header_of(configuration)
            self._configuration = configuration
            self._is_failing = False
        except (CredentialsError, ConfigException, OSError) as error:
            self._complain(error)
        finally:
            self._reload = None
        return (self.endpoint, self._header) != before

    def _complain(self, error: Exception) -> None:
        if not self._is_failing:
            log.warning("Cannot refresh the credentials; the old ones are kept", source=self.source, error=str(error))
        self._is_failing = True


def load_credentials(
    path: str | Path | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    monotonic: Callable[[], float] = time.monotonic,
) -> Credentials:
    """Load from ``path``, else from what KUBECONFIG names, else from the pod's service account, else from ~/.kube/config.

    Raises:
        CredentialsError: the file, the context or a part of it is missing or unreadable, or an exec plugin failed.
    """
    if path is not None:
        return _from_kubeconfig(str(path), "given", context, monotonic)
    if environ.get("KUBECONFIG"):
        return _from_kubeconfig(environ["KUBECONFIG"], "named by KUBECONFIG", context, monotonic)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return Credentials(_load_in_cluster, "the pod's service account", monotonic=monotonic)
    if Path(DEFAULT_PATH).expanduser().exists():
        return _from_kubeconfig(DEFAULT_PATH, "the default", context, monotonic)
    raise CredentialsError(
        f"no kubeconfig: none was given, KUBECONFIG is not set, {DEFAULT_PATH} does not exist, and this is not a pod; "
        "give one with --kubeconfig FILE"
    )


def endpoint_of(configuration: Configuration) -> Endpoint:
    """The values of a loaded configuration, files read."""
    url = str(configuration.host).rstrip("/")
    ca_file = configuration.ssl_ca_cert or ""
    ca_pem = _read(ca_file, "certificate-authority") if ca_file else b""
    if ca_file and b"-----BEGIN CERTIFICATE-----" not in ca_pem:
        raise CredentialsError(f"certificate-authority {ca_file}: there is no PEM certificate in it")
    identity = b""
    if configuration.cert_file and configuration.key_file:
        certificate = _read(configuration.cert_file, "client-certificate")
        identity = certificate + b"\n" + _read(configuration.key_file, "client-key")
    return Endpoint(
        url=url,
        ca_file=ca_file,
        ca_pem=ca_pem,
        identity_pem=identity,
        server_name=configuration.tls_server_name or "",
        is_verified=bool(configuration.verify_ssl),
        proxy=configuration.proxy or "",
        no_proxy=configuration.no_proxy or "",
    )


def header_of(configuration: Configuration) -> str | None:
    """The Authorization header; refreshes an old token, which can read a file or run a program."""
    value = configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
    if not value:
        return None
    scheme, _, secret = str(value).partition(" ")
    return f"{scheme.capitalize()} {secret.strip()}"


def _load_in_cluster() -> Configuration:
    configuration = _fresh_configuration()
    try:
        _config.load_incluster_config(configuration)
    except ConfigException as error:
        raise CredentialsError(
            f"the pod's service account cannot be used: {error} Set automountServiceAccountToken, or give --kubeconfig FILE"
        ) from error
    return configuration


def _from_kubeconfig(paths: str, how: str, context: str | None, monotonic: Callable[[], float]) -> Credentials:
    where = f"kubeconfig {paths} ({how})"
    return Credentials(lambda: _load_kubeconfig(paths, where, context), where, monotonic=monotonic)


def _load_kubeconfig(paths: str, where: str, context: str | None) -> Configuration:
    files = [Path(part).expanduser() for part in paths.split(os.pathsep) if part]
    if not any(file.exists() for file in files):
        raise CredentialsError(f"{where}: the file does not exist")
    try:
        merger = _kube_config.KubeConfigMerger(paths)
        content = merger.config
        if content is None or not isinstance(content.value, dict):
            raise CredentialsError(f"{where}: the file is not a kubeconfig")
        _check_context(content.value, where, context)
        loader = _kube_config.KubeConfigLoader(
            config_dict=content, active_context=context, config_base_path=None, config_persister=merger.save_changes
        )
        configuration = _fresh_configuration()
        loader.load_and_set(configuration)
        _check_exec(loader, configuration, where)
    except ConfigException as error:
        raise CredentialsError(f"{where}: {error}") from error
    except yaml.YAMLError as error:
        raise CredentialsError(f"{where}: not YAML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CredentialsError(f"{where}: {error}") from error
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise CredentialsError(f"{where}: the file is not a kubeconfig ({type(error).__name__}: {error})") from error
    return configuration


def _check_context(content: Mapping[str, object], where: str, context: str | None) -> None:
    """The package's own message for a context that is missing does not say which there are."""
    wanted = context or content.get("current-context")
    contexts = content.get("contexts")
    names = [str(entry.value.get("name")) for entry in contexts] if isinstance(contexts, list) else []
    if not wanted:
        raise CredentialsError(
            f"{where}: there is no current-context; set one of: {', '.join(names) or '(none defined)'}"
        )
    if wanted not in names:
        raise CredentialsError(f'{where}: context "{wanted}" is not defined; there are: {", ".join(names) or "none"}')


def _check_exec(loader: Any, configuration: Configuration, where: str) -> None:
    """The package logs the failure of an exec plugin and goes on without an identity; we say so instead."""
    user = loader._user  # noqa: SLF001 - the package has no other way to ask who the context's user is
    if not user or "exec" not in user or "token" in loader.__dict__ or configuration.cert_file:
        return
    command = user["exec"].safe_get("command")
    try:
        _exec_provider.ExecProvider(user["exec"], None).run()
    except ConfigException as error:
        raise CredentialsError(f"{where}: the exec plugin {command} failed: {error}") from error
    except OSError as error:
        raise CredentialsError(f"{where}: the exec plugin {command} cannot be run: {error}") from error
    raise CredentialsError(
        f"{where}: the exec plugin {command} gave neither a token nor a client certificate and its key"
    )


def _fresh_configuration() -> Configuration:
    """A configuration that shares nothing with the package's process-wide default."""
    configuration = type.__call__(Configuration)
    assert isinstance(configuration, Configuration)
    return configuration


def _read(path: str, field: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CredentialsError(f"{field} {path}: {error.strerror}") from error
