"""An API server in this process, and nodes that only exist in it: for the demo, and for tests that need no cluster.

It speaks the Kubernetes API over real sockets as kube-apiserver 1.37 does, as far as a scheduler and `kubectl get` look;
`tests/contract` holds both to the same answers.
"""
