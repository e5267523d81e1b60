"""The local cluster: it comes up, its users may do what they should and no more, and it ends without a trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster import Cluster

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).resolve().parents[2]
ACTING_USER = "system:serviceaccount:rendimiento-system:rendimiento-addons"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("shared") / "cluster")
    assert made.up()
    yield made
    made.down()


def kubectl(
    cluster: Cluster, *arguments: str, user: str = "admin", text: str | None = None
) -> subprocess.CompletedProcess[str]:
    program = [str(cluster.programs["kubectl"]), "--kubeconfig", str(cluster.kubeconfig_of(user))]
    return subprocess.run([*program, *arguments], input=text, capture_output=True, text=True, check=False, timeout=60)


def succeed(cluster: Cluster, *arguments: str, user: str = "admin", text: str | None = None) -> str:
    outcome = kubectl(cluster, *arguments, user=user, text=text)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def assert_forbidden(cluster: Cluster, *arguments: str, user: str, text: str | None = None) -> None:
    outcome = kubectl(cluster, *arguments, user=user, text=text)
    assert outcome.returncode != 0
    assert "forbidden" in outcome.stderr.lower()


def define_kind(cluster: Cluster, group: str, plural: str, kind: str) -> str:
    """Makes a cluster-scoped kind with a status and no rules, and returns its full name."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }
    succeed(cluster, "create", "-f", "-", text=json.dumps(definition))
    succeed(cluster, "wait", "--for=condition=Established", f"crd/{plural}.{group}", "--timeout=20s")
    return f"{plural}.{group}"


def wait_until(true: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "local_cluster", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def processes_that_name(folder: Path) -> list[str]:
    """The command lines on this machine in which the folder occurs, except this test's own commands."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/" in line:
            found.append(line)
    return found


def requests(cluster: Cluster) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cluster.audit_log.read_text().splitlines()]


def pod(name: str, outcome: str) -> str:
    labels = {"test.io/outcome": outcome}
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})


def test_deployments_become_ready_and_jobs_complete(cluster: Cluster) -> None:
    succeed(cluster, "create", "deployment", "web", "--image=none", "--replicas=2")
    succeed(cluster, "create", "job", "work", "--image=none")
    succeed(cluster, "wait", "--for=condition=Available", "deployment/web", "--timeout=20s")
    succeed(cluster, "wait", "--for=condition=Complete", "job/work", "--timeout=20s")


@pytest.mark.parametrize(
    ("outcome", "phase", "ready"),
    [("fail", "Failed", "False"), ("hang", "Running", "True"), ("unready", "Running", "False")],
)
def test_a_label_makes_a_pod_misbehave(cluster: Cluster, outcome: str, phase: str, ready: str) -> None:
    succeed(cluster, "create", "-f", "-", text=pod(outcome, outcome))
    succeed(cluster, "wait", f"--for=jsonpath={{.status.phase}}={phase}", f"pod/{outcome}", "--timeout=20s")
    succeed(cluster, "wait", f"--for=condition=Ready={ready}", f"pod/{outcome}", "--timeout=20s")


def test_a_failing_pod_fails_its_job(cluster: Cluster) -> None:
    template = json.loads(pod("", "fail"))
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "failing"},
        "spec": {"backoffLimit": 0, "template": {"metadata": template["metadata"], "spec": template["spec"]}},
    }
    succeed(cluster, "create", "-f", "-", text=json.dumps(job))
    succeed(cluster, "wait", "--for=condition=Failed", "job/failing", "--timeout=20s")


def test_pods_have_logs(cluster: Cluster) -> None:
    succeed(cluster, "create", "-f", "-", text=pod("talks", "hang"))
    succeed(cluster, "wait", "--for=condition=Ready", "pod/talks", "--timeout=20s")
    assert succeed(cluster, "logs", "talks", "--tail=1") == "line 40 of the log\n"


def test_platform_keeps_records_and_acts_as_one_service_account_only(cluster: Cluster) -> None:
    state = ("--namespace", "rendimiento-system")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "addon-a"}}
    succeed(cluster, *state, "create", "-f", "-", user="platform", text=json.dumps(lease))
    succeed(cluster, *state, "create", "secret", "generic", "addon-key", user="platform")
    addons = define_kind(cluster, "rendimiento.ai", "addons", "Addon")
    succeed(cluster, "get", "crd", addons, user="platform")
    record = {"apiVersion": "rendimiento.ai/v1alpha1", "kind": "Addon", "metadata": {"name": "a"}}
    succeed(cluster, "create", "--validate=false", "-f", "-", user="platform", text=json.dumps(record))
    phase = ("--type=merge", '--patch={"status": {"phase": "Pending"}}')
    succeed(cluster, "patch", addons, "a", "--subresource=status", *phase, user="platform")
    assert succeed(cluster, "get", addons, "--output=jsonpath={.items[*].status.phase}", user="platform") == "Pending"
    succeed(cluster, "delete", addons, "a", user="platform")

    assert_forbidden(cluster, "--namespace=default", "get", "secrets", user="platform")
    assert_forbidden(cluster, *state, "get", "configmaps", user="platform")
    assert_forbidden(cluster, "get", "pods", user="platform")

    whoami = ("auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
    assert succeed(cluster, *whoami, "--as", ACTING_USER, user="platform") == ACTING_USER
    for other in ("system:serviceaccount:rendimiento-system:default", "admin"):
        refused = kubectl(cluster, "get", "configmaps", "--as", other, user="platform")
        assert "cannot impersonate" in refused.stderr


def test_viewer_reads_everything_except_secrets_and_writes_nothing(cluster: Cluster) -> None:
    for kind in ("pods", "nodes", "deployments.apps", "clusterroles", "customresourcedefinitions"):
        succeed(cluster, "get", kind, "--all-namespaces", user="viewer")
    assert_forbidden(cluster, "get", "secrets", user="viewer")
    assert_forbidden(cluster, "create", "namespace", "mine", user="viewer")
    assert_forbidden(cluster, "create", "configmap", "mine", "--dry-run=server", user="viewer")


def test_viewer_reads_new_kinds_after_the_next_up(cluster: Cluster) -> None:
    things = define_kind(cluster, "test.example", "things", "Thing")
    assert not cluster.up()
    succeed(cluster, "get", things, user="viewer")


def test_the_audit_log_tells_who_did_what(cluster: Cluster) -> None:
    succeed(cluster, "create", "configmap", "audited", "--dry-run=server")
    kubectl(cluster, "get", "configmap", "audited", "--as", ACTING_USER, user="platform")

    def matching(verb: str) -> list[dict[str, Any]]:
        return [each for each in requests(cluster) if each["verb"] == verb and "audited" in json.dumps(each)]

    wait_until(lambda: bool(matching("create") and matching("get")))
    create, get = matching("create")[0], matching("get")[0]
    assert create["user"]["username"] == "admin"
    assert "dryRun=All" in create["requestURI"]
    assert create["objectRef"]["resource"] == "configmaps"
    assert create["level"] == "Metadata"
    assert get["user"]["username"] == "platform"
    assert get["impersonatedUser"]["username"] == ACTING_USER
    assert get["responseStatus"]["code"] == 403
    assert {each["stage"] for each in requests(cluster)} == {"ResponseComplete"}
    assert {each["user"]["username"] for each in requests(cluster)} <= {"admin", "platform", "viewer"}


def test_an_aggregated_api_without_a_server_is_unavailable(cluster: Cluster) -> None:
    service = {"name": "absent", "namespace": "default"}
    spec = {"group": "dead.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 1}
    api = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.dead.example"},
        "spec": {**spec, "service": service, "insecureSkipTLSVerify": True},
    }
    succeed(cluster, "create", "-f", "-", text=json.dumps(api))
    succeed(cluster, "wait", "--for=condition=Available=False", "apiservice/v1.dead.example", "--timeout=20s")
    succeed(cluster, "delete", "apiservice", "v1.dead.example")


def test_up_status_and_down_as_commands(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    first = command("up", "--dir", folder)
    assert first.returncode == 0, first.stderr
    kubeconfig = (folder / "kubeconfig").read_text()
    cluster = Cluster(folder)
    succeed(cluster, "create", "configmap", "kept")

    again = command("up", "--dir", folder)
    assert (again.returncode, "up already" in again.stdout) == (0, True)
    assert command("status", "--dir", folder).returncode == 0

    # A crash of everything, as at a power cut; what was stored is still there afterwards.
    for record in (folder / "internal" / "processes").glob("*.pid"):
        os.kill(int(record.read_text()), signal.SIGKILL)
    wait_until(lambda: command("status", "--dir", folder).returncode == 1)
    assert command("up", "--dir", folder).returncode == 0
    assert (folder / "kubeconfig").read_text() == kubeconfig
    succeed(cluster, "get", "configmap", "kept")
    succeed(cluster, "create", "deployment", "web", "--image=none")
    succeed(cluster, "wait", "--for=condition=Available", "deployment/web", "--timeout=20s")

    assert command("down", "--dir", folder).returncode == 0
    assert processes_that_name(folder) == []
    assert "nothing runs" in command("down", "--dir", folder).stdout


def test_two_clusters_start_side_by_side(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    starts = [
        subprocess.Popen([sys.executable, "-m", "local_cluster", "up", "--dir", folder], cwd=REPOSITORY)
        for folder in folders
    ]
    try:
        assert [start.wait(120) for start in starts] == [0, 0]
        one, two = map(Cluster, folders)
        succeed(one, "create", "configmap", "only-in-one")
        assert kubectl(two, "get", "configmap", "only-in-one").returncode != 0
        one.down()
        assert processes_that_name(folders[0]) == []
        assert two.status().complete
    finally:
        for folder in folders:
            Cluster(folder).down()
    assert processes_that_name(folders[1]) == []


def test_down_cleans_up_after_a_killed_start(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    start = subprocess.Popen([sys.executable, "-m", "local_cluster", "up", "--dir", folder], cwd=REPOSITORY)
    wait_until((folder / "internal" / "processes" / "kube-apiserver.pid").exists, seconds=60)
    start.kill()
    start.wait()
    assert command("down", "--dir", folder).returncode == 0
    assert processes_that_name(folder) == []


def test_up_completes_what_a_killed_start_left_undone(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    start = subprocess.Popen([sys.executable, "-m", "local_cluster", "up", "--dir", folder], cwd=REPOSITORY)
    wait_until((folder / "internal" / "processes" / "kwok.pid").exists, seconds=60)
    start.kill()
    start.wait()
    cluster = Cluster(folder)
    try:
        cluster.up()
        succeed(cluster, "--namespace=rendimiento-system", "get", "leases", user="platform")
        assert len(succeed(cluster, "get", "nodes", "--output=name").splitlines()) == 3
    finally:
        cluster.down()


def test_an_interrupted_start_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    start = subprocess.Popen([sys.executable, "-m", "local_cluster", "up", "--dir", folder], cwd=REPOSITORY)
    wait_until((folder / "internal" / "processes" / "kube-apiserver.pid").exists, seconds=60)
    start.terminate()
    assert start.wait(60) == 130
    assert processes_that_name(folder) == []


def test_a_failing_start_shows_the_log_and_leaves_nothing(tmp_path: Path) -> None:
    assets, folder = tmp_path / "assets", tmp_path / "cluster"
    assets.mkdir()
    broken = assets / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho 'this program is broken' >&2\nexit 3\n")
    broken.chmod(0o755)
    failed = command("up", "--dir", folder, KUBEBUILDER_ASSETS=str(assets))
    assert failed.returncode == 1
    assert "kube-apiserver" in failed.stderr
    assert "this program is broken" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert processes_that_name(folder) == []


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    refused = command("up", "--dir", tmp_path)
    assert refused.returncode == 1
    assert "neither empty nor" in refused.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(("version", "taken"), [("v4.0.1", True), ("v3.19.0", True), ("v2.17.0", False)])
def test_a_suitable_helm_on_the_path_is_taken(cluster: Cluster, tmp_path: Path, version: str, taken: bool) -> None:
    helm = tmp_path / "helm"
    helm.write_text(f"#!/bin/sh\necho 'version.BuildInfo{{Version:\"{version}\"}}'\n")
    helm.chmod(0o755)
    printed = command("programs", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert printed.returncode == 0, printed.stderr
    assert (f"helm={helm}" in printed.stdout.splitlines()) == taken
    assert str(helm) in printed.stderr


def test_a_folder_of_programs_goes_before_everything_else(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "kubectl").symlink_to(cluster.programs["kubectl"])
    printed = command("programs", KUBEBUILDER_ASSETS=str(tmp_path))
    assert f"kubectl={tmp_path / 'kubectl'}" in printed.stdout.splitlines()
    assert f"etcd={cluster.programs['etcd']}" in printed.stdout.splitlines()
