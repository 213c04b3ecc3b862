"""The programs of a node and how each is started; what they need beside is in the node's folder."""

from pathlib import Path

from tools.realnode.settings import Settings

Command = list[str]


def first(settings: Settings, binaries: Path) -> dict[str, Command]:
    """Those that need nobody: name -> command."""
    etcd_url = f"http://127.0.0.1:{settings.etcd_port}"
    peer_url = f"http://127.0.0.1:{settings.etcd_port + 1}"
    pki = settings.pki
    return {
        "etcd": [
            f"{binaries}/etcd",
            f"--data-dir={settings.folder}/etcd",
            f"--listen-client-urls={etcd_url}",
            f"--advertise-client-urls={etcd_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            "--unsafe-no-fsync",  # the data is thrown away
            "--log-level=warn",
        ],
        "containerd": ["containerd", "--config", f"{settings.folder}/containerd.toml"],
        "kube-apiserver": [
            f"{binaries}/kube-apiserver",
            f"--etcd-servers={etcd_url}",
            "--bind-address=0.0.0.0",
            f"--secure-port={settings.api_port}",
            f"--advertise-address={settings.address}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/kubelet-client.crt",
            f"--kubelet-client-key={pki}/kubelet-client.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range={settings.service_cidr}",
            f"--service-account-key-file={pki}/service-accounts.pub",
            f"--service-account-signing-key-file={pki}/service-accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            # Programs such as the scheduler's serving read the front proxy's CA when they check who asks.
            f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--audit-policy-file={settings.folder}/audit-policy.json",
            f"--audit-log-path={settings.audit_log}",
            "--allow-privileged",
        ],
    }


def second(settings: Settings, binaries: Path) -> dict[str, Command]:
    """Those that need the API server."""
    folder, pki = settings.folder, settings.pki

    def identity(user: str) -> Command:
        file = f"{folder}/{user}.kubeconfig"
        return [f"--{flag}={file}" for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")]

    return {
        "kubelet": [
            f"{binaries}/kubelet",
            f"--config={folder}/kubelet.json",
            f"--kubeconfig={folder}/kubelet.kubeconfig",
            f"--hostname-override={settings.name}",
            f"--node-ip={settings.address}",
            f"--root-dir={folder}/kubelet",
            f"--cert-dir={folder}/kubelet-pki",
        ],
        "kube-controller-manager": [
            f"{binaries}/kube-controller-manager",
            *identity("controller-manager"),
            f"--service-account-private-key-file={pki}/service-accounts.key",
            f"--root-ca-file={pki}/ca.crt",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
            "--use-service-account-credentials",
            # Far more than by default: what is waited for are the pods, not whoever makes and deletes them.
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--flex-volume-plugin-dir={folder}/volume-plugins",
        ],
        "kube-scheduler": [
            f"{binaries}/kube-scheduler",
            *identity("scheduler"),
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ],
        "kube-proxy": [f"{binaries}/kube-proxy", f"--config={folder}/proxy.json"],
        "coredns": [f"{binaries}/coredns", "-conf", f"{folder}/Corefile"],
    }
