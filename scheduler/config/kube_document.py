"""KubeSchedulerConfiguration, version kubescheduler.config.k8s.io/v1 (kube-scheduler 1.37: config/v1).

The defaults are kube-scheduler's but for those that keep a second scheduler apart from the first: the Lease of the leader election
is ``reprise`` in the scheduler's own namespace, and the client speaks JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.config.decoding import Int32, Int64, Seconds

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"
OWN_NAME = "reprise"


class _Section(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A part of the document: camelCase there, snake_case here."""


class LeaderElection(_Section, frozen=True):
    """An empty ``resource_namespace`` is the scheduler's own namespace."""

    leader_elect: bool = True
    lease_duration_seconds: Seconds = msgspec.field(name="leaseDuration", default=15.0)
    renew_deadline_seconds: Seconds = msgspec.field(name="renewDeadline", default=10.0)
    retry_period_seconds: Seconds = msgspec.field(name="retryPeriod", default=2.0)
    resource_lock: str = "leases"
    resource_name: str = OWN_NAME
    resource_namespace: str = ""


class ClientConnection(_Section, frozen=True):
    """How the API server is reached; a negative ``qps`` means no limit."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/json"
    qps: float = 50.0
    burst: Int32 = 100


class PluginReference(_Section, frozen=True):
    name: str = ""
    weight: Int32 | None = None


class PluginSelection(_Section, frozen=True):
    enabled: tuple[PluginReference, ...] = ()
    disabled: tuple[PluginReference, ...] = ()


class Plugins(_Section, frozen=True):
    """What is enabled and disabled, by extension point; ``multi_point`` stands for all of them."""

    pre_enqueue: PluginSelection = PluginSelection()
    queue_sort: PluginSelection = PluginSelection()
    pre_filter: PluginSelection = PluginSelection()
    filter: PluginSelection = PluginSelection()
    post_filter: PluginSelection = PluginSelection()
    pre_score: PluginSelection = PluginSelection()
    score: PluginSelection = PluginSelection()
    reserve: PluginSelection = PluginSelection()
    permit: PluginSelection = PluginSelection()
    pre_bind: PluginSelection = PluginSelection()
    bind: PluginSelection = PluginSelection()
    post_bind: PluginSelection = PluginSelection()
    multi_point: PluginSelection = PluginSelection()
    placement_generate: PluginSelection = PluginSelection()
    placement_score: PluginSelection = PluginSelection()
    pod_group_post_filter: PluginSelection = PluginSelection()


class PluginConfig(_Section, frozen=True):
    """``args`` stays as it was written until the plugin that it is for is known."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(_Section, frozen=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderTLSConfig(_Section, frozen=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderManagedResource(_Section, frozen=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(_Section, frozen=True):
    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout_seconds: Seconds = msgspec.field(name="httpTimeout", default=0.0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(_Section, frozen=True):
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False


def with_defaults(document: KubeSchedulerConfiguration, own_namespace: str = "") -> KubeSchedulerConfiguration:
    """The document with defaults for what is absent or, where Go cannot tell them apart, zero or empty.

    The Lease is in ``own_namespace`` when the document does not say where it is.
    """
    election = document.leader_election
    client = document.client_connection
    profiles = document.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (msgspec.structs.replace(profiles[0], scheduler_name=OWN_NAME),)
    contention = document.enable_contention_profiling
    return msgspec.structs.replace(
        document,
        profiles=profiles,
        enable_contention_profiling=document.enable_profiling if contention is None else contention,
        leader_election=msgspec.structs.replace(
            election,
            lease_duration_seconds=election.lease_duration_seconds or 15.0,
            renew_deadline_seconds=election.renew_deadline_seconds or 10.0,
            retry_period_seconds=election.retry_period_seconds or 2.0,
            resource_lock=election.resource_lock or "leases",
            resource_name=election.resource_name or OWN_NAME,
            resource_namespace=election.resource_namespace or own_namespace,
        ),
        client_connection=msgspec.structs.replace(
            client,
            content_type=client.content_type or "application/json",
            qps=client.qps or 50.0,
            burst=client.burst or 100,
        ),
    )
