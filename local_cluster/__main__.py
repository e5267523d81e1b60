"""The commands: `python -m local_cluster up|down|status --dir DIR`, `build` and `programs`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from .binaries import cache_folder, collect
from .cluster import Cluster
from .errors import LocalClusterError
from .processes import INTERRUPTS
from .users import USERS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m local_cluster", description="A Kubernetes API on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in (
        ("up", "start the cluster, from its data if there is any; builds missing programs"),
        ("down", "end all its processes; its data stays"),
        ("status", "tell what runs; exit code 1 unless everything does"),
    ):
        command = commands.add_parser(name, help=purpose, description=purpose)
        command.add_argument("--dir", type=Path, required=True, help="the cluster's folder")
    commands.add_parser("build", help="find or build all programs, and print the folder of the built ones")
    commands.add_parser("programs", help="the same, and print a line NAME=PATH for each program")
    arguments = parser.parse_args()

    # `up` must clean up after itself also when something else than Ctrl-C ends it.
    for number in INTERRUPTS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        match arguments.command:
            case "up":
                return up(Cluster(arguments.dir, tell))
            case "down":
                return down(Cluster(arguments.dir, tell))
            case "status":
                return status(Cluster(arguments.dir, tell))
            case "build":
                collect(tell)
                print(cache_folder())
            case _:
                for name, path in collect(tell).items():
                    print(f"{name}={path}")
    except LocalClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def up(cluster: Cluster) -> int:
    started = time.monotonic()
    if cluster.up():
        print(f"the cluster is up after {time.monotonic() - started:.1f} s")
    else:
        print("the cluster is up already")
    for user in USERS:
        print(f"  {user + ':':<11}{cluster.kubeconfig_of(user)}")
    print(f"  {'audit log:':<11}{cluster.audit_log}")
    return 0


def down(cluster: Cluster) -> int:
    ended = cluster.down()
    print(f"ended {', '.join(ended)}" if ended else f"nothing runs in {cluster.path}")
    return 0


def status(cluster: Cluster) -> int:
    state = cluster.status()
    for component in state.components:
        running = "does not run" if component.pid is None else f"runs, process {component.pid}"
        print(f"{component.name:<24} {running}")
    print(f"{state.server or 'the API server'} {'is ready' if state.ready else 'does not answer'}")
    return 0 if state.complete else 1


def tell(line: str) -> None:
    """Progress goes to standard error, so that what `build` and `programs` print can be used by other programs."""
    print(f"local-cluster: {line}", file=sys.stderr, flush=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second one would end the clean-up, not the command.
    for each in INTERRUPTS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
