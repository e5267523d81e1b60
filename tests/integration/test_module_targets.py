"""Each module in the controller's process, and shipped to run by itself: the same results, and the same words."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster import Cluster
from tests.integration.clusters import running_cluster
from tests.integration.gitops import Repository
from tests.integration.kubectl import Kubectl
from tests.integration.objects import config_map
from tests.integration.playbooks import ROOT
from tests.integration.plays import LOCAL, SHIPPED, TARGETS, Plays, messages, step
from tests.integration.secrecy import note

MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("addon_*.py"))
ENTRY_POINTS = "ansible_collections.rendimiento.addons.plugins.module_utils.entry_points"
WAYS = (LOCAL, SHIPPED)
TABLE = re.compile(r"^add-on +phase .*\n(?:\S+ {2,}.*\n)+", re.MULTILINE)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for this file: one of the targets undoes its bootstrap, and nobody else's add-ons are in it."""
    with running_cluster(tmp_path_factory.mktemp("targets")) as made:
        yield made


@pytest.fixture
def prepared(own: Cluster, plays: Plays) -> Cluster:
    plays.play(step("addon_bootstrap", kubeconfig=str(own.kubeconfig))).succeeded()
    return own


@pytest.fixture
def plays(tmp_path: Path) -> Plays:
    return Plays(tmp_path / "plays")


def test_every_module_has_a_target() -> None:
    targets = {path.parent.parent.name for path in TARGETS.glob("addon_*/tasks/main.yml")}

    assert targets == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_both_ways_are_equal(module: str, own: Cluster, plays: Plays, tmp_path: Path) -> None:
    variables = {
        "addon_test_kubeconfig": str(own.kubeconfig),
        "addon_test_kubectl": str(own.programs["kubectl"]),
        "addon_test_repository": str(tmp_path / "gitops"),
    }

    # As ansible-test runs a target: its role, on a host whose connection is local.
    result = plays.play(roles=[module], vars=variables, verbosity=3).succeeded()

    steps = _executions(result.output, module)
    assert steps[LOCAL], "not once in the controller's process"
    assert steps[SHIPPED], "not once shipped"


@pytest.mark.long
def test_a_whole_run_is_the_same_both_ways(prepared: Cluster, plays: Plays, tmp_path: Path) -> None:
    kubectl = Kubectl(prepared.programs["kubectl"], prepared.kubeconfig)
    repository = Repository(tmp_path / "gitops")
    repository.addon("whole", config_map("settings"), config_map("more", data={"a": "1"}), namespace="default")
    repository.define("broken", namespace="default", git={"path": "nowhere"})
    repository.write("chart/Chart.yaml", "{apiVersion: v2, name: chart, version: 0.1.0}")
    repository.write("chart/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: charted}}")
    repository.define("chart", namespace="default")
    repository.write("kustomized/kustomization.yaml", [{"configMapGenerator": [{"name": "built"}]}])
    repository.define("kustomized", namespace="default")
    repository.commit()
    options = {
        "addon_repo": f"file://{repository.path}",
        "addon_kubeconfig": str(prepared.kubeconfig),
        "addon_helm": str(prepared.programs["helm"]),
        "addon_kustomize": str(prepared.programs["kustomize"]),
    }
    names = ("broken", "chart", "kustomized", "whole")
    results, records = {}, {}
    for way in WAYS:
        first = plays.sync(way, options).failed()
        again = plays.sync(way, options).failed()
        results[way] = [first.summary["addons"], again.summary["addons"], _table(first.output), first.changed]
        records[way] = [_stable(kubectl.record(name)) for name in names]
        assert again.changed == 0
        assert '"report"' not in first.output
        kubectl.run("delete", "radd", *names)
        kubectl.run("--namespace", "default", "delete", "configmaps", "--selector=rendimiento.ai/addon")

    assert results[LOCAL] == results[SHIPPED]
    phases = {row.split()[0]: row.split()[1] for row in results[LOCAL][2]}
    assert phases == {"broken": "Error", "chart": "Synced", "kustomized": "Synced", "whole": "Synced"}
    assert records[LOCAL] == records[SHIPPED]


@pytest.mark.parametrize("way", WAYS)
def test_the_environment_of_a_play_says_where_the_cluster_is(way: str, own: Cluster, plays: Plays) -> None:
    result = plays.play(
        {"rendimiento.addons.addon_bootstrap": {}},
        way=way,
        environment={"K8S_AUTH_KUBECONFIG": str(own.kubeconfig)},
    )

    assert result.succeeded().stats["ok"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_given_token_is_never_shown(way: str, prepared: Cluster, plays: Plays, tmp_path: Path) -> None:
    kubectl = Kubectl(prepared.programs["kubectl"], prepared.kubeconfig)
    account = ("--namespace", "rendimiento-system", "create", "token", "rendimiento-addons")
    token = kubectl.run(*account).strip()
    note(tmp_path, token)
    server = kubectl.run("config", "view", "--output", "jsonpath={.clusters[0].cluster.server}")
    login = {"host": server, "validate_certs": False}

    result = plays.play(
        step("addon_bootstrap", **login, api_key="{{ token }}"),
        step("addon_bootstrap", **login, api_key="x{{ token }}"),
        step("addon_bootstrap", host=server, api_key="{{ token }}", validate_certs="{{ token }}"),
        step("addon_bootstrap", host=server, api_key="{{ token }}", ca_cert="/nowhere/{{ token }}"),
        way=way,
        verbosity=3,
        vars={"token": token},
    ).succeeded()

    # The first two say that the token was used: it opened the door, and a wrong one did not.
    assert (result.stats["ok"], result.stats["ignored"]) == (4, 3)
    assert "does not accept the credentials" in result.output
    assert token not in result.output


@pytest.mark.parametrize("way", WAYS)
def test_steps_on_a_host_without_the_run_say_so(way: str, plays: Plays) -> None:
    run = str(plays.scratch / "rendimiento-addons-elsewhere")
    wanted = [
        step("addon_render", run=run, name="x"),
        step("addon_diff", run=run, name="x"),
        step("addon_apply", run=run, name="x"),
        step("addon_prune", run=run, name="x"),
        step("addon_status", run=run, state="queue"),
        step("addon_status", run=run, state="summary"),
    ]

    told = messages(plays.play(*wanted, way=way).succeeded())

    assert len(told) == len(wanted)
    assert all(run in each and "all steps of a run must run on one host" in each for each in told)


def test_an_interpreter_without_the_libraries_says_what_to_install(plays: Plays, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True, timeout=60)
    arguments: dict[str, dict[str, Any]] = {
        "addon_bootstrap": {},
        "addon_definitions": {"repo": str(ROOT)},
        "addon_status": {"run": "/nowhere", "state": "queue"},
    }
    wanted = [step(module, **arguments.get(module, {"run": "/nowhere", "name": "x"})) for module in MODULES]

    result = plays.play(*wanted, way=SHIPPED, vars={"ansible_python_interpreter": str(bare / "bin" / "python")})

    told = messages(result.succeeded())
    assert len(told) == len(MODULES)
    for each in told:
        assert "Failed to import the required Python library (kubernetes)" in each
        assert str(bare / "bin" / "python") in each


def run_of(mode: str, **definitions: Any) -> list[dict[str, Any]]:
    """Every step of a run; what each returned is kept as ``<mode>_<step>``, and the play goes on whatever happens."""
    check, run = mode == "check", f"{{{{ {mode}_definitions.run }}}}"
    about = {"run": run, "name": "b70"}
    steps = {
        "definitions": step("addon_definitions", **definitions),
        "render": step("addon_render", **about),
        "render_without_helm": step("addon_render", run=run, name="b70-chart"),
        "diff": {**step("addon_diff", **about), "diff": True},
        "diff_without_render": step("addon_diff", run=run, name="b70-chart"),
        "queue": step("addon_status", run=run, state="queue"),
        "begin": step("addon_status", **about, state="begin"),
        "apply": {**step("addon_apply", **about), "diff": True},
        "apply_without_plan": step("addon_apply", run=run, name="b70-chart"),
        "prune": step("addon_prune", **about),
        "prune_without_plan": step("addon_prune", run=run, name="b70-chart"),
        "end": step("addon_status", **about, state="end", phase="Synced"),
        "release": step("addon_status", **about, state="release"),
        "summary_failed": step("addon_status", run=run, state="summary", keep_run=True),
        "summary": step("addon_status", run=run, state="summary", fail_on=[]),
        "render_without_run": step("addon_render", **about),
        "begin_without_run": step("addon_status", **about, state="begin"),
        "summary_without_run": step("addon_status", run=run, state="summary"),
    }
    return [{**task, "register": f"{mode}_{name}", "check_mode": check} for name, task in steps.items()]


def returned_by(task: dict[str, Any]) -> set[str]:
    """What the documentation says that a task of ``run_of`` returns."""
    ((module, arguments),) = ((name, value) for name, value in task.items() if name.startswith("rendimiento."))
    names = importlib.import_module(f"{ENTRY_POINTS}.{module.rpartition('.')[2]}").RETURNS
    return set(names[arguments["state"]] if "state" in arguments else names)


@pytest.mark.parametrize("way", [LOCAL, pytest.param(SHIPPED, marks=pytest.mark.long)])
def test_b70_the_same_values_in_check_mode_on_failure_and_without_rights(
    way: str, own: Cluster, plays: Plays, tmp_path: Path
) -> None:
    kubectl = Kubectl(own.programs["kubectl"], own.kubeconfig)
    repository = Repository(tmp_path / "gitops")
    repository.addon("b70", config_map("b70"), namespace="default")
    repository.write("b70-chart/Chart.yaml", "{apiVersion: v2, name: chart, version: 0.1.0}")
    repository.define("b70-chart", namespace="default")
    repository.commit()
    nobody = tmp_path / "nobody"
    kubectl.run("--namespace=default", "create", "serviceaccount", f"nobody-{way}")
    kubectl.run("--namespace=default", "delete", "configmap", "b70", "--ignore-not-found")
    login = yaml.safe_load(own.kubeconfig.read_text())
    token = kubectl.run("--namespace=default", "create", "token", f"nobody-{way}").strip()
    nobody.write_text(yaml.safe_dump({**login, "users": [{"name": "admin", "user": {"token": token}}]}))
    options = {"repo": str(repository.path), "kubeconfig": str(own.kubeconfig), "helm": "/nowhere/helm"}
    modes = {
        "check": run_of("check", **options),
        "forbidden": run_of("forbidden", **{**options, "kubeconfig": str(nobody)}),
        "real": run_of("real", **options),
    }
    kept = tmp_path / "kept.json"
    names = [task["register"] for tasks in modes.values() for task in tasks]
    # As later tasks of a playbook read results, without a filter that forgives what is not there.
    reads = ["check_apply.objects | length == 1", "check_diff.diff | length == 1", "check_prune.diff | length == 0",
             "check_summary.addons.b70.pruned == 0", "check_render_without_helm.objects is none",
             "forbidden_definitions.names is none", "forbidden_diff.counts is none",
             "forbidden_apply.diff | length == 0"]  # fmt: skip
    bootstrap = {"kubeconfig": str(own.kubeconfig)}
    everything = "{{ dict(names | zip(names | map('extract', vars))) | to_json }}"
    result = plays.play(
        {"rendimiento.addons.addon_bootstrap": {**bootstrap, "state": "absent", "purge": True}},
        *modes["check"],
        {"rendimiento.addons.addon_bootstrap": bootstrap},
        *modes["forbidden"],
        *modes["real"],
        {"ansible.builtin.assert": {"that": reads}},
        {"ansible.builtin.copy": {"dest": str(kept), "content": everything}, "vars": {"names": names}},
        way=way,
    ).succeeded()

    assert "is undefined" not in result.output
    results = json.loads(kept.read_text())
    for tasks in modes.values():
        for task in tasks:
            found = results[task["register"]]
            assert returned_by(task) <= found.keys(), task["register"]
            if found.get("failed"):
                assert found["msg"], "unknown needs a reason"
                assert {found[name] for name in returned_by(task) - {"diff"}} == {None}
    failed = {name for name, found in results.items() if found.get("failed")}
    for mode in ("check", "real"):
        assert {name for name in failed if name.startswith(mode)} == {
            f"{mode}_{name}"
            for name in ("render_without_helm", "diff_without_render", "apply_without_plan", "prune_without_plan",
                         "summary_failed", "render_without_run", "begin_without_run", "summary_without_run")
        }  # fmt: skip
    assert "helm" in results["check_render_without_helm"]["msg"]
    assert results["check_render"]["objects"] == results["real_render"]["objects"] == 1
    assert results["check_definitions"]["server_version"]
    assert {name for name in names if name.startswith("forbidden")} <= failed
    assert "may not" in results["forbidden_definitions"]["msg"]


def test_wrong_options_are_refused_in_the_same_words(plays: Plays) -> None:
    wrong = [
        step("addon_bootstrap", nonsense=1),
        step("addon_render", name="x"),
        step("addon_status", run="/nowhere", state="begin"),
        step("addon_status", run="/nowhere", state="elsewhere"),
        step("addon_apply", run="/nowhere", name="x", stage="none"),
        step("addon_definitions", repo="/nowhere", workers="many"),
    ]

    local, shipped = (messages(plays.play(*wrong, way=way).succeeded()) for way in WAYS)

    assert len(local) == len(wrong)
    assert local == shipped


def _executions(output: str, module: str) -> dict[str, int]:
    """How often a module's tasks ran in each way; ``-vvv`` tells a copied file of a shipped one."""
    counts = dict.fromkeys(WAYS, 0)
    for task in re.split(r"^TASK ", output, flags=re.MULTILINE):
        file = re.search(r"^task path: (.*):(\d+)$", task, re.MULTILINE)
        if file and f"rendimiento.addons.{module}:" in _task_at(Path(file[1]), int(file[2])):
            counts[SHIPPED if f"AnsiballZ_{module}.py" in task else LOCAL] += 1
    return counts


def _task_at(file: Path, line: int) -> str:
    """The text of the task that begins in a line of a file."""
    if not file.is_relative_to(TARGETS):
        return ""
    lines = file.read_text().splitlines()[line - 1 :]
    end = next((number for number, text in enumerate(lines) if number and text.startswith("- ")), len(lines))
    return "\n".join(lines[:end])


def _table(output: str) -> list[str]:
    """The rows of the one table of a run, as people see them."""
    (table,) = TABLE.findall(output)
    return str(table).splitlines()[1:]


def _stable(record: dict[str, Any]) -> str:
    """A record without what other objects, another time and another run have to have otherwise."""
    passing = {"uid", "resourceVersion", "managedFields", "creationTimestamp", "run", "own"}
    passing |= {"time", "lastSynced", "lastTransitionTime"}

    def stable(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: stable(part) for name, part in value.items() if name not in passing}
        return [stable(part) for part in value] if isinstance(value, list) else value

    return json.dumps(stable(record), indent=1)
