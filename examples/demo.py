"""The demo: a gitops repository is previewed, synced, changed, synced again and pruned on a private Kubernetes API.

`make demo` runs it. Cluster and repository stay in .local/demo for looking around, until `make demo-down`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".local" / "demo"
CLUSTER = DEMO / "cluster"
KUBECONFIG = CLUSTER / "kubeconfig"
REPOSITORY = DEMO / "gitops"

# Lines of ansible-playbook that say nothing to somebody who sees it for the first time.
UNINTERESTING = re.compile(r"(PLAY|TASK|RUNNING HANDLER) \[|PLAY RECAP|(changed|included|ok): |$")

Command = Sequence[str | Path]


class StepError(Exception):
    """A command of the story ended badly; nothing that follows would make sense."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def environment() -> dict[str, str]:
    """This process's environment without the user's own set-up of Ansible, Kubernetes and git."""
    foreign = ("ANSIBLE_", "GIT_", "K8S_AUTH_", "KUBECONFIG", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_DISPLAY_OK_HOSTS": "false",
        "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false",
        "ANSIBLE_NOCOLOR": "true",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "KUBECONFIG": str(KUBECONFIG),
    }


def shown(command: Command) -> str:
    """A command as somebody in the checkout's folder would type it."""
    words = []
    for word in map(str, command):
        inside = word.replace(f"{ROOT}/", "", 1) if word.startswith(f"{ROOT}/") else word
        # Ansible resolves a relative path from the playbook's folder, so these stay absolute.
        words.append(f'"{word.replace(str(ROOT), "$PWD")}"' if f"={ROOT}" in word else shlex.quote(inside))
    return " ".join(words)


@contextmanager
def step(title: str) -> Iterator[None]:
    print(f"\n== {title}", flush=True)
    started = time.monotonic()
    yield
    print(f"   ({time.monotonic() - started:.1f} s)", flush=True)


def run(command: Command, *, visible: str | None = None, hidden: re.Pattern[str] | None = None) -> str:
    """Run a command, print what it says while it says it, and return all of it.

    :param visible: the command to show in place of the real one.
    :param hidden: lines that begin like this are printed only when the command fails.
    :raises StepError: when it ends with another exit code than 0.
    """
    print(f"$ {visible or shown(command)}", flush=True)
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout
        for line in process.stdout:
            lines.append(line)
            if not (hidden and hidden.match(line)):
                print(f"  {line}", end="", flush=True)
    output = "".join(lines)
    if process.returncode:
        if hidden:
            print(f"\nAll that it said:\n{output}", flush=True)
        raise StepError(process.returncode, f"{command[0]} ended with exit code {process.returncode}")
    return output


def playbook(name: str, *options: str) -> str:
    arguments = ["-e", f"addon_kubeconfig={KUBECONFIG}"]
    if name == "sync":
        arguments = ["-e", f"addon_repo={REPOSITORY}", *arguments]
    program = Path(sys.executable).parent / "ansible-playbook"
    return run([program, f"rendimiento.addons.{name}", *arguments, *options], hidden=UNINTERESTING)


def local_cluster(*arguments: str | Path) -> str:
    """What a call of the local cluster's program prints, without showing it."""
    command = [sys.executable, "-m", "local_cluster", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment(), check=True, stdout=subprocess.PIPE, text=True).stdout


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, "-C", REPOSITORY, *arguments], env=environment(), check=True)


def commit(message: str) -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", message)
    print(f"  committed: {message}", flush=True)


def edit(file: str, old: str, new: str) -> None:
    path = REPOSITORY / file
    text = path.read_text()
    if old not in text:
        raise StepError(1, f"{file} of the example does not contain {old!r} any more")
    path.write_text(text.replace(old, new))
    print(f"  {file}: {old}  ->  {new}", flush=True)


def start_cluster() -> None:
    stop_cluster()
    DEMO.mkdir(parents=True)
    run([sys.executable, "-m", "local_cluster", "up", "--dir", CLUSTER])


def stop_cluster() -> None:
    if CLUSTER.exists():
        local_cluster("down", "--dir", CLUSTER)
    if DEMO.exists():
        shutil.rmtree(DEMO)


def kubectl() -> str:
    for line in local_cluster("programs").splitlines():
        name, _, path = line.partition("=")
        if name == "kubectl":
            return path
    raise StepError(1, "the local cluster has no kubectl")


def tell() -> None:
    with step("A private Kubernetes API, and a gitops repository"):
        start_cluster()
        shutil.copytree(ROOT / "examples" / "gitops", REPOSITORY)
        git("init", "--quiet")
        commit("Four add-ons")

    with step("1. Bootstrap, once per cluster: the Addon kind, a namespace for state, the account that acts, the key"):
        playbook("bootstrap")

    with step("2. Preview: what a sync would do, planned against the live cluster; nothing is written"):
        playbook("sync", "--check")

    with step("3. Sync"):
        playbook("sync")

    with step("4. Edit, commit, and preview the difference"):
        edit("dashboard/workload.yaml", "observability/dashboard:2.4.0", "observability/dashboard:2.4.1")
        edit("dashboard/config.yaml", "level = info", "level = warning")
        commit("Dashboard 2.4.1, quieter")
        playbook("sync", "--check", "--diff")

    with step("5. Sync the edit"):
        playbook("sync")

    with step("6. Sync again: nothing to do, so nothing is written"):
        if not re.search(r"\bchanged=0\b", playbook("sync")):
            raise StepError(1, "a second sync was expected to change nothing")

    with step("7. An object that leaves git leaves the cluster"):
        (REPOSITORY / "dashboard" / "reports.yaml").unlink()
        print("  dashboard/reports.yaml: deleted", flush=True)
        commit("No weekly report any more")
        playbook("sync")

    program = kubectl()
    with step("8. Look around"):
        run([program, "get", "radd"], visible="kubectl get radd")
        run(
            [program, "get", "deployments,statefulsets", "--all-namespaces"],
            visible="kubectl get deployments,statefulsets -A",
        )

    print(
        f"""
The cluster keeps running. In this folder:

  export KUBECONFIG="$PWD/{KUBECONFIG.relative_to(ROOT)}"
  alias kubectl={shlex.quote(program)}
  kubectl get radd -o wide        the add-ons;  kubectl describe radd dashboard
  {REPOSITORY.relative_to(ROOT)}              the repository: edit, commit, and repeat step 2 or 3
  make demo-down                  ends the cluster and removes both""",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--down", action="store_true", help="end the demo's cluster and remove its folder")
    arguments = parser.parse_args()
    try:
        if arguments.down:
            stop_cluster()
        else:
            tell()
    except StepError as failure:
        print(f"The demo stops here: {failure}.", file=sys.stderr)
        return failure.exit_code
    except subprocess.CalledProcessError as failure:
        print(f"The demo stops here: {failure}", file=sys.stderr)
        return failure.returncode
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
