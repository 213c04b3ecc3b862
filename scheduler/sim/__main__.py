"""`python -m scheduler.sim`: the server and its nodes as a process of their own, told what to do line by line.

It writes one line of JSON, `{"url": ...}`, once it listens. Then each line that comes in is a command, answered with a line:
`{"create": [objects]}` and `{"state": true}`. It ends when its input ends, so it never outlives who started it.
"""

import argparse
import asyncio
import dataclasses
import gc
import random
import signal
import sys
from typing import Any

import msgspec
import uvloop

from scheduler.sim.errors import ApiError
from scheduler.sim.fleet import build_nodes
from scheduler.sim.nodes import NodeSimulator
from scheduler.sim.process import MAX_LINE_BYTES
from scheduler.sim.resources import PODS
from scheduler.sim.server import ApiServer


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m scheduler.sim", description="an API server with simulated nodes")
    parser.add_argument("--port", type=int, default=0, help="port on loopback (default: a free one)")
    parser.add_argument("--nodes", type=int, default=0, help="how many nodes there are at the start")
    parser.add_argument("--start-delay-seconds", type=float, default=0.5, help="from bound to Running")
    parser.add_argument("--stop-delay-seconds", type=float, default=0.1, help="from deleted to gone")
    parser.add_argument("--seed", type=int, default=None, help="of UIDs and generated names")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    """Serve until the input ends or the process is asked to end."""
    loop = asyncio.get_running_loop()
    # Ctrl-C at a terminal reaches all processes there; who started this one ends it when it is done itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is kept are trees without cycles, and looking for cycles in them would be a seventh of the time.
    gc.set_threshold(100_000, 50, 100)
    server = ApiServer(chance=random.Random(options.seed))
    for node in build_nodes(options.nodes):
        server.create(node)
    nodes = NodeSimulator(server, start_delay=options.start_delay_seconds, stop_delay=options.stop_delay_seconds)
    nodes.start()
    url = await server.start(options.port)
    commands = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    loop.add_signal_handler(signal.SIGTERM, commands.feed_eof)
    _say({"url": url})
    while line := await commands.readline():
        _say(_obey(server, nodes, line))
    nodes.stop()
    await server.stop()
    transport.close()


def _obey(server: ApiServer, nodes: NodeSimulator, line: bytes) -> Any:
    command = msgspec.json.decode(line)
    if "create" not in command:
        return {
            "counters": dataclasses.asdict(server.counters),
            "pods": len(server.objects(PODS)),
            "running": nodes.running,
            "watches": server.watches,
        }
    try:
        for item in command["create"]:
            server.create(item)
    except ApiError as error:
        return {"error": error.message}
    return {"created": len(command["create"])}


def _say(answer: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    uvloop.run(serve(parse_arguments()))
