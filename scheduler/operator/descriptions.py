"""What the CustomResourceDefinition says of each field."""

from __future__ import annotations

_RESTART = (
    " Takes effect when a process starts: another value than that of the running process is refused (RestartRequired)."
)
_NO_EFFECT = " Accepted for kube-scheduler's sake, without an effect."

_KUBE = {
    "parallelism": "Workers of kube-scheduler." + _NO_EFFECT,
    "leaderElection": "How replicas agree on one that decides." + _RESTART,
    "leaderElection.leaderElect": "Whether there is an election.",
    "leaderElection.leaseDuration": "How long others wait for a leader that has gone silent, such as 15s.",
    "leaderElection.renewDeadline": "How long a leader tries to renew before it ends, such as 10s.",
    "leaderElection.retryPeriod": "How long between two attempts, such as 2s.",
    "leaderElection.resourceLock": "What is held; leases is the only kind.",
    "leaderElection.resourceName": "The Lease's name.",
    "leaderElection.resourceNamespace": "The Lease's namespace.",
    "clientConnection": "How the API server is reached." + _RESTART,
    "clientConnection.kubeconfig": "A file with the server's address and credentials; the pod's service account without one.",
    "clientConnection.acceptContentTypes": "Forms of answers." + _NO_EFFECT,
    "clientConnection.contentType": "Form of requests." + _NO_EFFECT,
    "clientConnection.qps": "Requests a second." + _NO_EFFECT,
    "clientConnection.burst": "Requests at once." + _NO_EFFECT,
    "enableProfiling": "Profiling pages." + _NO_EFFECT,
    "enableContentionProfiling": "Profiling of locks." + _NO_EFFECT,
    "percentageOfNodesToScore": "How many of the nodes are examined: 0 and 100 are all of them, and nothing else is there.",
    "podInitialBackoffSeconds": "How long a pod waits after its first failed attempt.",
    "podMaxBackoffSeconds": "How long a pod waits after a failed attempt at most.",
    "profiles": (
        "One profile for each schedulerName that pods can name. A profile for which pods wait cannot be left out (InUse); "
        "one that is new gets the pods that have been waiting for it."
    ),
    "profiles[].schedulerName": "What pods give as spec.schedulerName.",
    "profiles[].percentageOfNodesToScore": "As above, for this profile.",
    "profiles[].plugins": "Which plugins run at which extension point, beside or instead of the default ones.",
    "profiles[].pluginConfig": "Arguments of plugins.",
    "profiles[].pluginConfig[].name": "The plugin's name.",
    "profiles[].pluginConfig[].args": "Its arguments, as kube-scheduler's documentation has them.",
    "extenders": "Services that are asked over HTTP when a pod is decided on." + _RESTART,
    "extenders[].urlPrefix": "Where the extender is; a verb is appended.",
    "extenders[].filterVerb": "What is appended to filter nodes; it does not filter without.",
    "extenders[].preemptVerb": "What is appended to choose victims.",
    "extenders[].prioritizeVerb": "What is appended to score nodes.",
    "extenders[].weight": "By what its scores are multiplied.",
    "extenders[].bindVerb": "What is appended to bind a pod; one extender binds at most.",
    "extenders[].enableHTTPS": "Whether HTTPS is spoken; the URL's scheme decides.",
    "extenders[].tlsConfig": "Whom to trust, and how to be trusted.",
    "extenders[].tlsConfig.insecure": "Whether the certificate is not verified.",
    "extenders[].tlsConfig.serverName": "The name in the certificate, when it is not that of the URL.",
    "extenders[].tlsConfig.certFile": "A client certificate in PEM.",
    "extenders[].tlsConfig.keyFile": "Its key.",
    "extenders[].tlsConfig.caFile": "Authorities in PEM.",
    "extenders[].tlsConfig.certData": "A client certificate, in base64.",
    "extenders[].tlsConfig.keyData": "Its key, in base64. Whoever may read this resource may read it: use keyFile.",
    "extenders[].tlsConfig.caData": "Authorities, in base64.",
    "extenders[].httpTimeout": "How long an answer is waited for, such as 5s.",
    "extenders[].nodeCacheCapable": "Whether it is told of nodes by their names only.",
    "extenders[].managedResources": "It is asked only about pods that want one of these.",
    "extenders[].managedResources[].name": "An extended resource.",
    "extenders[].managedResources[].ignoredByScheduler": "Whether NodeResourcesFit leaves the resource to the extender.",
    "extenders[].ignorable": "Whether decisions go on without it when it does not answer.",
    "delayCacheUntilActive": "Whether a replica reads the cluster only once it leads." + _RESTART,
}

_REPRISE = {
    "batching": "Reuse of one pod's decision for the next pod of its shape.",
    "batching.enabled": "Whether decisions are reused.",
    "batching.maxSignatures": "Shapes kept at once.",
    "batching.maxBatchAge": "How long a kept evaluation is reused, such as 500ms; 0 for no limit.",
    "batching.verifyFraction": "Share of the reused decisions that is checked against an evaluation from scratch, from 0 to 1.",
    "typoWarnings": "Events on pods whose schedulerName is nearly that of a profile, and that nobody looks at.",
    "typoWarnings.enabled": "Whether they are given.",
    "serving": "What is served over HTTP." + _RESTART,
    "serving.bindAddress": "An IP address.",
    "serving.port": "HTTPS; 0 for none.",
    "serving.certFile": "A certificate in PEM; one is made in memory without.",
    "serving.privateKeyFile": "Its key.",
    "serving.plainMetricsPort": "/metrics over HTTP; 0 for none.",
    "serving.insecureBindAddress": "A loopback address.",
    "serving.insecurePort": "All pages over HTTP for whoever is on this machine; 0 for none.",
    "serving.debug": "Whether /debug/ is served too.",
    "logging": "What is logged, and how." + _RESTART,
    "logging.format": "json or console.",
    "logging.level": "debug, info, warning or error.",
}

_POINTS = "profiles[].plugins."
_OF_A_POINT = {
    "enabled": "Plugins that run here, beside the default ones or in their place.",
    "disabled": "Plugins that do not run here; * for all default ones.",
    "enabled[].name": "The plugin's name. One that is not installed is refused (Invalid).",
    "enabled[].weight": "What its scores are multiplied by; 0 and none are 1.",
    "disabled[].name": "The plugin's name, or *.",
    "disabled[].weight": "Without an effect.",
}


def describe(path: str) -> str:
    """What there is to say of a field, by its path under ``spec``.

    Raises:
        KeyError: nothing.
    """
    document, _, rest = path.partition(".")
    if document == "repriseConfiguration":
        return _REPRISE[rest]
    if rest.startswith(_POINTS):
        point, _, field = rest.removeprefix(_POINTS).partition(".")
        return _OF_A_POINT[field] if field else f"Plugins of the extension point {point}."
    return _KUBE[rest]
