"""The demo: a gitops repository of eight add-ons is previewed, synced, edited and pruned on a private Kubernetes API.

`make demo` runs it. Cluster and repository stay in .local/demo for looking around, until `make demo-down`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".local" / "demo"
CLUSTER = DEMO / "cluster"
KUBECONFIG = CLUSTER / "kubeconfig"
REPOSITORY = DEMO / "gitops"
CHARTS = DEMO / "charts"
CHARTS_PORT = 8879  # as addons/certificates.yaml has it
VARIABLES = DEMO / "variables.json"

EVERYTHING = re.compile("")
NOTHING = re.compile("(?!)")
# Lines of ansible-playbook that say nothing to somebody who sees it for the first time.
FRAME = r"(PLAY|TASK|RUNNING HANDLER) \[|PLAY RECAP|(changed|included|ok): |localhost +:|$"
# After the first time, the line with repository, commit and cluster is such a line, too.
UNINTERESTING = re.compile(FRAME + r"|/.* at [0-9a-f]{12}, cluster ")

Command = Sequence[str | Path]


class StepError(Exception):
    """A command of the story ended badly; nothing that follows would make sense."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ChartFiles(SimpleHTTPRequestHandler):
    """A chart repository is a folder with an index and archives; this serves it without a line for each request."""

    def log_message(self, format: str, *_: object) -> None:
        pass


def environment() -> dict[str, str]:
    """This process's environment without the user's own set-up of Ansible, Kubernetes, Helm and git."""
    foreign = ("ANSIBLE_", "GIT_", "HELM_", "K8S_AUTH_", "KUBECONFIG", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false",
        "ANSIBLE_NOCOLOR": "true",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "KUBECONFIG": str(KUBECONFIG),
    }


def shown(command: Command) -> str:
    """A command as somebody in the checkout's folder would type it, with programs from elsewhere by name."""
    program, *arguments = (str(word).replace(f"{ROOT}/", "") for word in command)
    return shlex.join([Path(program).name if program.startswith("/") else program, *arguments])


def chapter(title: str) -> None:
    print(f"\n== {title}", flush=True)


def run(command: Command, *, hidden: re.Pattern[str] = EVERYTHING, expected: str = "") -> str:
    """Run a command, print what it says while it says it, and return all of it.

    :param hidden: lines that begin like this are printed only when the command fails.
    :param expected: what its output has to match, for the story to be true.
    :raises StepError: when it ends with another exit code than 0, or does not say what was expected.
    """
    print(f"$ {shown(command)}", flush=True)
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
            if not hidden.match(line):
                print(f"  {line}", end="", flush=True)
    output = "".join(lines)
    if process.returncode or not re.search(expected, output):
        print(f"\nAll that it said:\n{output}", flush=True)
        wrong = f"ended with exit code {process.returncode}" if process.returncode else f"did not say {expected!r}"
        raise StepError(process.returncode or 1, f"{Path(command[0]).name} {wrong}")
    return output


def playbook(name: str, *options: str, hidden: re.Pattern[str] = UNINTERESTING, expected: str = "") -> str:
    program = str(Path(sys.executable).parent / "ansible-playbook")
    command = [program, f"rendimiento.addons.{name}", "-e", f"@{VARIABLES}", *options]
    return run(command, hidden=hidden, expected=expected)


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


def remove(file: str) -> None:
    (REPOSITORY / file).unlink()
    print(f"  {file}: deleted", flush=True)


def start_cluster() -> None:
    stop_cluster()
    DEMO.mkdir(parents=True)
    run([sys.executable, "-m", "local_cluster", "up", "--dir", CLUSTER], hidden=re.compile("(?!the cluster is up)"))


def stop_cluster() -> None:
    if CLUSTER.exists():
        local_cluster("down", "--dir", CLUSTER)
    if DEMO.exists():
        shutil.rmtree(DEMO)


def serve_charts() -> int:
    """Serve the chart repository on loopback until this process ends, and return the port."""
    handler = functools.partial(ChartFiles, directory=str(CHARTS))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", CHARTS_PORT), handler)
    except OSError:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def prepare() -> tuple[str, int]:
    """Cluster, chart repository, gitops repository, and what ran before all that.

    :returns: the path of kubectl, and the port of the chart repository.
    """
    start_cluster()
    programs = dict(line.split("=", 1) for line in local_cluster("programs").splitlines())
    kubectl, helm = programs["kubectl"], programs["helm"]

    run([helm, "package", ROOT / "examples" / "charts" / "certificates", "--destination", CHARTS])
    run([helm, "repo", "index", CHARTS])
    port = serve_charts()
    print(f"  served on http://127.0.0.1:{port}", flush=True)

    shutil.copytree(ROOT / "examples" / "gitops", REPOSITORY)
    if port != CHARTS_PORT:
        print(f"  port {CHARTS_PORT} is taken, so the definition of this copy names another one:", flush=True)
        edit("addons/certificates.yaml", f"127.0.0.1:{CHARTS_PORT}", f"127.0.0.1:{port}")
    git("init", "--quiet")
    commit("Eight add-ons")

    variables = {
        "addon_repo": REPOSITORY,
        "addon_kubeconfig": KUBECONFIG,
        "addon_helm": helm,
        "addon_kustomize": programs["kustomize"],
        "addon_cache_dir": DEMO / "cache",
    }
    VARIABLES.write_text(json.dumps(variables, indent=2, default=str))
    print(f"  {VARIABLES.relative_to(ROOT)}: {', '.join(variables)}", flush=True)

    print("Long ago, somebody installed the mail relay by hand, and later raised its limit:", flush=True)
    run([kubectl, "create", "namespace", "mail"])
    run([kubectl, "apply", "--filename", REPOSITORY / "mail-relay"])
    run([kubectl, "set", "env", "deployment/mail-relay", "--namespace=mail", "MESSAGE_SIZE_LIMIT=50M"])
    return kubectl, port


def tell() -> None:
    started = time.monotonic()
    chapter("A private Kubernetes API, a chart repository, and a gitops repository")
    kubectl, port = prepare()

    chapter("1. Bootstrap, once per cluster: the Addon kind, a namespace for state, the account that acts, the key")
    playbook("bootstrap")

    chapter("2. Preview: what a sync would do, planned against the live cluster; nothing is written")
    playbook("sync", "--check", hidden=re.compile(FRAME))

    chapter("3. Sync: charts, a kustomization and plain YAML; two add-ons wait for a decision")
    playbook("sync", expected=r"(?s)(?=.*mail-relay +Blocked).*certificates +OutOfSync")

    chapter("4. Blocked: taking over the mail relay would undo what somebody changed. So git learns it first")
    only = ["-e", "addon_only=mail-relay"]
    playbook("sync", *only, "--check", "--diff")
    edit("mail-relay/workload.yaml", "value: 10M", "value: 50M")
    commit("Mail of up to 50 MB, as it has been for long")
    playbook("sync", *only, expected=r"mail-relay +Synced")

    chapter("5. OutOfSync: changes of the certificates wait until somebody asks for them")
    run([kubectl, "patch", "radd", "certificates", "--type=merge", "--patch", '{"spec":{"syncRequest":1}}'])
    playbook("sync", "-e", "addon_only=certificates", expected=r"certificates +Synced")

    chapter("6. Edit a chart's values, commit, preview the difference, and sync it")
    edit("uptime/values/production.yaml", "memory: 96Mi", "memory: 128Mi")
    commit("More memory for uptime")
    only = ["-e", "addon_only=uptime"]
    playbook("sync", *only, "--check", "--diff")
    playbook("sync", *only, expected=r"uptime +Synced +0 +1 ")

    chapter("7. What leaves git: an object is pruned; the software of a definition keeps running")
    remove("dashboard/reports.yaml")
    remove("addons/uptime.yaml")
    commit("No weekly report, and uptime is on its own")
    only = ["-e", "addon_only=dashboard,uptime"]
    playbook("sync", *only, expected=r"dashboard +Synced .* 1 +0\n.*its definition left git")

    chapter("8. Sync everything again: nothing changed, so neither helm nor kustomize starts, and nothing is written")
    output = playbook("sync", "-v", hidden=EVERYTHING, expected=r"\bchanged=0\b")
    if set(re.findall(r'"started": (\[[^]]*\])', output)) != {"[]"}:
        raise StepError(1, "a sync without changes started helm or kustomize")
    print("  changed: nothing; started: nothing", flush=True)
    run([kubectl, "get", "radd"], hidden=NOTHING)

    print(
        f"""
All this took {time.monotonic() - started:.0f} seconds. The cluster keeps running. In this folder:

  export KUBECONFIG="$PWD/{KUBECONFIG.relative_to(ROOT)}"
  alias kubectl={shlex.quote(kubectl)}
  kubectl get radd -o wide        the add-ons;  kubectl describe radd dashboard
  {REPOSITORY.relative_to(ROOT)}              the repository: edit, commit, and repeat step 2 or 3
  python -m http.server --bind 127.0.0.1 --directory {CHARTS.relative_to(ROOT)} {port}    serves the charts again
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
