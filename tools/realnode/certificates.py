"""The keys and certificates of a node's cluster, made anew for each; openssl makes them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.realnode.settings import Settings

DAYS = "30"


def make_certificates(settings: Settings) -> None:
    """Write the CA, a certificate for each program, and the key of service account tokens into the node's folder."""
    folder = settings.pki
    folder.mkdir(parents=True, mode=0o700)
    for authority in ("ca", "front-proxy-ca"):
        _key(folder / f"{authority}.key")
        _openssl(
            "req", "-x509", "-new", "-key", folder / f"{authority}.key", "-out", folder / f"{authority}.crt",
            "-subj", f"/CN={settings.name}-{authority}", "-days", DAYS,
        )  # fmt: skip
    server_names = [
        "DNS:localhost",
        *(f"DNS:kubernetes{suffix}" for suffix in ("", ".default", ".default.svc", ".default.svc.cluster.local")),
        *(f"IP:{address}" for address in ("127.0.0.1", settings.address, settings.api_service_address)),
    ]
    _certificate(folder, "apiserver", "/CN=kube-apiserver", server_names)
    _certificate(folder, "kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client")
    _certificate(folder, "admin", "/O=system:masters/CN=admin")
    _certificate(folder, "controller-manager", "/CN=system:kube-controller-manager")
    _certificate(folder, "scheduler", "/CN=system:kube-scheduler")
    _certificate(folder, "proxy", "/CN=system:kube-proxy")
    node_names = [f"IP:{settings.address}", f"DNS:{settings.name}"]
    _certificate(folder, "kubelet", f"/O=system:nodes/CN=system:node:{settings.name}", node_names)
    _openssl("genrsa", "-out", folder / "service-accounts.key", "2048")
    _openssl("rsa", "-in", folder / "service-accounts.key", "-pubout", "-out", folder / "service-accounts.pub")


def _certificate(folder: Path, name: str, subject: str, alternatives: Sequence[str] = ()) -> None:
    _key(folder / f"{name}.key")
    request, extensions = folder / f"{name}.csr", folder / f"{name}.extensions"
    _openssl("req", "-new", "-key", folder / f"{name}.key", "-out", request, "-subj", subject)
    lines = ["extendedKeyUsage=serverAuth,clientAuth"]
    if alternatives:
        lines.append(f"subjectAltName={','.join(alternatives)}")
    extensions.write_text("\n".join(lines) + "\n")
    _openssl(
        "x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial",
        "-days", DAYS, "-out", folder / f"{name}.crt", "-extfile", extensions,
    )  # fmt: skip
    request.unlink()
    extensions.unlink()


def _key(path: Path) -> None:
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
