"""When an object does what it is there for: the rules per kind, over what the object says about itself.

They are those of kstatus (sigs.k8s.io/cli-utils) where it is right, and stricter where it calls a failed Pod or a
running Job done. Kinds are told apart by group *and* kind: a ``Service`` of another group follows no Service rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..model.finalizers import what_holds
from ..model.jobs import has_ended
from ..model.kinds import API_SERVICE, RBAC_KINDS, WEBHOOK_CONFIGURATIONS
from ..model.objects import GroupKind, Manifest, split_api_version
from ..model.ready_rules import ReadyRule
from ..model.shapes import mapping_of, mappings_of
from ..model.wording import shortened
from .pod_reports import trouble_of_pod

_REASON_LENGTH = 200
_SECONDS_FOR_REFUSED_PODS = 30.0


_CAN_NOT_SCALE = ("FailedGet", "FailedUpdate", "FailedCompute", "InvalidMetric", "InvalidSelector", "AmbiguousSelector")
"""Beginnings of the reasons of an autoscaler that are no state of its own choosing, such as `ScalingDisabled`."""

_READY_ONCE_STORED: frozenset[GroupKind] = frozenset(
    {
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("", "LimitRange"),
        *RBAC_KINDS,
        ("storage.k8s.io", "StorageClass"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("networking.k8s.io", "IngressClass"),
        *WEBHOOK_CONFIGURATIONS,
    }
)


def is_ready_once_stored(group_kind: GroupKind) -> bool:
    """Whether such objects have no state of their own: nothing is asked about them, so Secrets' values are not read."""
    return group_kind in _READY_ONCE_STORED


@dataclass(frozen=True, slots=True)
class Readiness:
    """``ready``, ``waiting`` (may become ready) or ``failed`` (does not, as far as one can tell), and why in words.

    :ivar again: seconds after which it is worth another look although the object did not change.
    :ivar patience: seconds after which an object that still waits for the same reason counts as failed.
    """

    state: Literal["ready", "waiting", "failed"]
    reason: str = ""
    again: float = field(default=math.inf, compare=False)
    patience: float = field(default=math.inf, compare=False)


def assess(manifest: Manifest) -> Readiness:
    """What a live object, as the server returned it, says about itself."""
    # What a Job did stays so while it is being deleted.
    if (unsettled := _unsettled(manifest)) and not has_ended(manifest):
        return unsettled
    group, _version = split_api_version(manifest["apiVersion"])
    spec, status = mapping_of(manifest.get("spec")), mapping_of(manifest.get("status"))
    rule = _RULES.get((group, manifest["kind"]))
    if rule is None:
        return _custom(status, manifest["metadata"].get("generation"))
    if rule in _WORKLOADS and status.get("observedGeneration") is None:
        return _waiting("its controller has not seen it yet")
    return rule(spec, status)


def assess_by(rules: Iterable[ReadyRule], manifest: Manifest) -> Readiness:
    """The same by rules of a definition, all of which have to hold. They know no failure, only waiting."""
    rules = list(rules)
    if all(rule.at_once for rule in rules):
        return _ready()
    if (unsettled := _unsettled(manifest)) and not has_ended(manifest):
        return unsettled
    lacking = next((text for rule in rules if (text := rule.lacking(manifest))), "")
    return _waiting(lacking) if lacking else _ready()


def _unsettled(manifest: Manifest) -> Readiness | None:
    """What goes for objects of every kind: one that is going, or not seen by its controller yet, is not ready."""
    metadata, status = manifest["metadata"], mapping_of(manifest.get("status"))
    if metadata.get("deletionTimestamp"):
        held = what_holds(manifest)
        return _waiting(f"is being deleted{f' ({held})' if held else ''}")
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    if isinstance(generation, int) and isinstance(observed, int) and observed < generation:
        return _waiting("its controller has not seen the last change yet")
    return None


def _ready(reason: str = "") -> Readiness:
    return Readiness("ready", _short(reason))


def _waiting(reason: str) -> Readiness:
    return Readiness("waiting", _short(reason))


def _failed(reason: str) -> Readiness:
    return Readiness("failed", _short(reason))


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), _REASON_LENGTH)


def _deployment(spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    if spec.get("paused"):
        return _ready("its rollout is paused")
    conditions = _conditions(status)
    progressing = conditions.get("Progressing", {})
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return _failed(_text(progressing.get("message")) or "its progress deadline has passed")
    wanted = _count(spec, "replicas", 1)
    replicas, updated = _count(status, "replicas"), _count(status, "updatedReplicas")
    if updated < wanted:
        return _waiting(_replicas(updated, wanted, "updated", conditions))
    if replicas > updated:
        return _waiting(f"{replicas - updated} old replicas still run")
    available = _count(status, "availableReplicas")
    if available < wanted:
        return _waiting(_replicas(available, wanted, "available", conditions))
    return _ready()


def _stateful_set(spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    wanted = _count(spec, "replicas", 1)
    counted = "availableReplicas" if "availableReplicas" in status else "readyReplicas"
    available = _count(status, counted)
    if available < wanted:
        return _waiting(_replicas(available, wanted, "available" if counted == "availableReplicas" else "ready"))
    if (replicas := _count(status, "replicas")) > wanted:
        return _waiting(f"{replicas - wanted} surplus replicas still run")
    strategy = mapping_of(spec.get("updateStrategy"))
    if strategy.get("type") == "OnDelete":
        return _ready()
    # With a partition only the replicas from that ordinal on are updated, and the revisions stay different.
    partition = _count(mapping_of(strategy.get("rollingUpdate")), "partition")
    updated = _count(status, "updatedReplicas")
    if updated < wanted - partition or (
        not partition and status.get("updateRevision") != status.get("currentRevision")
    ):
        return _waiting(_replicas(updated, wanted - partition, "updated"))
    return _ready()


def _daemon_set(spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    wanted = _count(status, "desiredNumberScheduled")
    updated, available = _count(status, "updatedNumberScheduled"), _count(status, "numberAvailable")
    if mapping_of(spec.get("updateStrategy")).get("type") != "OnDelete" and updated < wanted:
        return _waiting(_replicas(updated, wanted, "updated"))
    if available < wanted:
        return _waiting(_replicas(available, wanted, "available"))
    return _ready()


def _replica_set(spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    wanted, available = _count(spec, "replicas", 1), _count(status, "availableReplicas")
    if available < wanted:
        conditions = _conditions(status)
        waiting = _waiting(_replicas(available, wanted, "available", conditions))
        # Pods that are refused may be let in later (a quota, an account that is made a moment after); not for long.
        refused = _is_true(conditions, "ReplicaFailure")
        return replace(waiting, patience=_SECONDS_FOR_REFUSED_PODS) if refused else waiting
    if (replicas := _count(status, "replicas")) > wanted:
        return _waiting(f"{replicas - wanted} surplus replicas still run")
    return _ready()


def _replicas(there: int, wanted: int, what: str, conditions: Mapping[str, dict[str, Any]] | None = None) -> str:
    failure = (conditions or {}).get("ReplicaFailure", {})
    because = f": {failure.get('message')}" if failure.get("status") == "True" else ""
    return f"{there} of {wanted} replicas {what}{because}"


def _job(spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    # FailureTarget and SuccessCriteriaMet come before the pods have ended; only these two are final.
    conditions = _conditions(status)
    if _is_true(conditions, "Complete"):
        return _ready()
    if _is_true(conditions, "Failed"):
        return _failed(_text(conditions["Failed"].get("message")) or "it failed")
    if spec.get("suspend"):
        return _ready("it is suspended")
    return _waiting(f"{_count(status, 'succeeded')} of {_count(spec, 'completions', 1)} completed")


def _cron_job(spec: dict[str, Any], _status: dict[str, Any]) -> Readiness:
    return _ready("it is suspended" if spec.get("suspend") else "")


def _pod(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    """A pod that crashes or lacks its image may start at the next try: what it needs may only just come up."""
    phase = status.get("phase")
    if phase == "Succeeded":
        return _ready("it has completed")
    if phase != "Failed" and _is_true(_conditions(status), "Ready"):
        return _ready()
    trouble = trouble_of_pod({"metadata": {"name": ""}, "status": status})
    if trouble is not None:
        return _failed(trouble.text) if trouble.final or phase == "Failed" else _waiting(trouble.text)
    return _waiting(_text(phase).lower() if phase and phase != "Running" else "it is not ready")


def _volume_claim(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    match status.get("phase"):
        case "Bound":
            return _ready()
        case "Lost":
            return _failed("its volume is lost")
    return _waiting("it is not bound to a volume")


def _volume(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    if status.get("phase") == "Failed":
        return _failed(_text(status.get("message")) or "it failed")
    return _ready()


def _custom_resource_definition(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    conditions = _conditions(status)
    accepted = conditions.get("NamesAccepted", {})
    if accepted.get("status") == "False":
        return _failed(_text(accepted.get("message")) or "its names are taken")
    if _is_true(conditions, "Established") and _is_true(conditions, "NamesAccepted"):
        return _ready()
    return _waiting("it is not established")


def _api_service(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    available = _conditions(status).get("Available", {})
    if available.get("status") == "True":
        return _ready()
    return _waiting(_text(available.get("message")) or "it is not available")


def _autoscaler(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    """Metrics come late, and what it scales runs without them: that it can't scale is worth a word, not a wait."""
    conditions = _conditions(status)
    for kind in ("AbleToScale", "ScalingActive"):
        reason = _text(conditions.get(kind, {}).get("reason"))
        if conditions.get(kind, {}).get("status") == "False" and reason.startswith(_CAN_NOT_SCALE):
            return _ready(f"it can't scale: {_told(conditions[kind])}")
    return _ready()


def _accepted(_spec: dict[str, Any], _status: dict[str, Any]) -> Readiness:
    """Works as far as the cluster has what it takes, such as load balancers, which many never have."""
    return _ready()


def _namespace(_spec: dict[str, Any], status: dict[str, Any]) -> Readiness:
    return _ready() if status.get("phase") == "Active" else _waiting("it is not active")


def _custom(status: dict[str, Any], generation: Any) -> Readiness:
    """The conventions that controllers share: Reconciling, Stalled and Ready. Without conditions an object is ready."""
    conditions = _conditions(status)
    if _is_true(conditions, "Stalled"):
        return _failed(_told(conditions["Stalled"]) or "it is stalled")
    if _is_true(conditions, "Reconciling"):
        return _waiting(_told(conditions["Reconciling"]) or "it is being reconciled")
    ready = conditions.get("Ready")
    if ready is None:
        return _ready()
    observed = ready.get("observedGeneration")
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        return _waiting("its controller has not seen the last change yet")
    return _ready() if ready.get("status") == "True" else _waiting(_told(ready) or "it is not ready")


def _conditions(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By type. Custom resources are free to put something else there, which says nothing to us."""
    return {_text(one.get("type")): one for one in mappings_of(status.get("conditions"))}


def _is_true(conditions: Mapping[str, dict[str, Any]], kind: str) -> bool:
    return conditions.get(kind, {}).get("status") == "True"


def _told(condition: dict[str, Any]) -> str:
    return _text(condition.get("message")) or _text(condition.get("reason"))


def _count(where: dict[str, Any], name: str, default: int = 0) -> int:
    value = where.get(name)
    return value if isinstance(value, int) else default


def _text(value: Any) -> str:
    return str(value) if value is not None else ""


Rule = Callable[[dict[str, Any], dict[str, Any]], Readiness]

_RULES: dict[GroupKind, Rule] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("", "ReplicationController"): _replica_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _volume_claim,
    ("", "PersistentVolume"): _volume,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _custom_resource_definition,
    API_SERVICE: _api_service,
    ("", "Namespace"): _namespace,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("policy", "PodDisruptionBudget"): _accepted,
    ("", "Service"): _accepted,
    ("networking.k8s.io", "Ingress"): _accepted,
}
_WORKLOADS: tuple[Rule, ...] = (_deployment, _stateful_set, _daemon_set, _replica_set)
"""Their controllers always say which generation they have seen."""
