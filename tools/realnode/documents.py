"""The files that the programs of a node are configured with."""

import json
from typing import Any

from tools.realnode.settings import PAUSE_IMAGE, Settings

# User of a kubeconfig -> its certificate in the node's folder.
KUBECONFIGS = ("admin", "controller-manager", "scheduler", "kubelet", "proxy")


def write_documents(settings: Settings) -> None:
    """Write all of them into the node's folder, which has its certificates already."""
    folder = settings.folder
    for name in ("cni", "run"):
        (folder / name).mkdir()
    for user in KUBECONFIGS:
        _write_json(settings, f"{user}.kubeconfig", _kubeconfig(settings, user))
    _write_json(settings, "kubelet.json", _kubelet(settings))
    _write_json(settings, "proxy.json", _proxy(settings))
    _write_json(settings, "audit-policy.json", _AUDIT_POLICY)
    _write_json(settings, "dns.json", _dns(settings))
    _write_json(settings, "cni/10-node.conflist", _pod_network(settings))
    (folder / "containerd.toml").write_text(_containerd(settings))
    (folder / "Corefile").write_text(_corefile(settings))
    # Nobody answers there: a node has no name server beside its own.
    (folder / "resolv.conf").write_text(f"nameserver {settings.host_address}\n")


def _write_json(settings: Settings, name: str, document: dict[str, Any]) -> None:
    (settings.folder / name).write_text(json.dumps(document, indent=2) + "\n")


def _kubeconfig(settings: Settings, user: str) -> dict[str, Any]:
    cluster = {"server": settings.api_url, "certificate-authority": f"{settings.pki}/ca.crt"}
    identity = {"client-certificate": f"{settings.pki}/{user}.crt", "client-key": f"{settings.pki}/{user}.key"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "node", "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": "node", "context": {"cluster": "node", "user": user}}],
        "current-context": "node",
    }


def _kubelet(settings: Settings) -> dict[str, Any]:
    socket = f"unix://{settings.containerd_socket}"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{settings.name}",
        "cgroupsPerQOS": True,
        "enforceNodeAllocatable": ["pods"],
        "oomScoreAdj": 0,  # less takes a right that a container of its own may lack
        "containerRuntimeEndpoint": socket,
        "imageServiceEndpoint": socket,
        "address": settings.address,
        "port": 10250,
        "readOnlyPort": 0,
        "tlsCertFile": f"{settings.pki}/kubelet.crt",
        "tlsPrivateKeyFile": f"{settings.pki}/kubelet.key",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{settings.pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDomain": "cluster.local",
        "clusterDNS": [settings.dns_service_address],
        "resolvConf": f"{settings.folder}/resolv.conf",
        "podLogsDir": f"{settings.folder}/pod-logs",
        "failSwapOn": False,
        # A machine that is short of disk space is not what is looked at.
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        "imageGCHighThresholdPercent": 100,  # what is deleted cannot be had again
        "nodeStatusUpdateFrequency": "2s",
        "volumePluginDir": f"{settings.folder}/volume-plugins",
    }


def _proxy(settings: Settings) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": f"{settings.folder}/proxy.kubeconfig"},
        "clusterCIDR": settings.pod_cidr,
        "hostnameOverride": settings.name,
        # All zero: left as the machine has it.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "metricsBindAddress": "127.0.0.1:10249",
    }


# What service accounts asked for, once each, with the answer's code: enough to say who was refused what.
_AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}


def _dns(settings: Settings) -> dict[str, Any]:
    """CoreDNS is a process of the node behind the usual Service, so that it needs no image."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system"},
        "spec": {"clusterIP": settings.dns_service_address, "ports": ports},
    }
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns-node",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/service-name": "kube-dns"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [settings.address], "conditions": {"ready": True}}],
        "ports": ports,
    }
    return {"apiVersion": "v1", "kind": "List", "items": [service, slices]}


def _pod_network(settings: Settings) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": f"{settings.folder}/cni-addresses",
        "ranges": [[{"subnet": settings.pod_cidr}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
    return {
        "cniVersion": "0.4.0",
        "name": "node",
        "plugins": [bridge | {"ipam": addresses}, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def _containerd(settings: Settings) -> str:
    return f"""\
version = 2
root = "{settings.folder}/containerd"
state = "{settings.folder}/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{settings.containerd_socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{settings.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def _corefile(settings: Settings) -> str:
    return f"""\
.:53 {{
  errors
  health 127.0.0.1:8180
  cache 5
  kubernetes cluster.local in-addr.arpa ip6.arpa {{
    kubeconfig {settings.folder}/admin.kubeconfig
  }}
}}
"""
