"""`python -m tools.realnode up [--image ARCHIVE ...] | down | load ARCHIVE ...`: a real Kubernetes node on this machine.

A whole cluster of one node without a container engine: etcd, the control plane, kubelet, containerd, kube-proxy and a name
server, in namespaces of their own. `up` prints the path of the administrator's kubeconfig.
"""

import argparse
import sys
from pathlib import Path

from tools.realnode.images import load_images
from tools.realnode.lifecycle import NodeError, down, up
from tools.realnode.settings import Settings


def main() -> int:
    """Do what the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.realnode", description="a real Kubernetes node on this machine"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    starting = commands.add_parser("up", help="bring it up, wait until it is ready, and print its kubeconfig's path")
    starting.add_argument(
        "--image", action="append", default=[], type=Path, metavar="ARCHIVE", help="load this image too"
    )
    commands.add_parser("down", help="end it, and remove all of it")
    loading = commands.add_parser("load", help="load images into the running node")
    loading.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    options = parser.parse_args()
    settings = Settings()
    try:
        match options.command:
            case "up":
                up(settings, options.image)
                print(settings.kubeconfig)
            case "down":
                down(settings)
            case "load":
                load_images(settings, options.archives)
    except (NodeError, RuntimeError) as error:
        print(f"realnode: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
