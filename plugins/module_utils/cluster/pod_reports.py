"""Why the pods of a workload do not run: what they say about themselves, and the end of their logs.

Only ever read, as far as the login may: whoever may not read pods or logs gets nothing about them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..model.errors import ClusterError
from ..model.kinds import MAKES_PODS_AT_ONCE
from ..model.objects import GroupKind, Manifest, split_api_version
from ..model.shapes import mapping_of, mappings_of
from ..model.wording import shortened
from .client import Client

_NEVER_STARTS = ("InvalidImageName", "ErrImageNeverPull")
"""Crashes are none of these, however many: a program may need another one that takes its time."""

_STARTING = ("ContainerCreating", "PodInitializing")
_LOG_LINES = 5
_LOG_LINE_LENGTH = 200
_LOG_BYTES = 64 * 1024
_TEXT_LENGTH = 200
_ESCAPE = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Of one pod. ``container`` is the one that may have logged why; empty when none has, as before it starts.

    :ivar restarted: what it logged before its last restart tells more than what it logs now.
    :ivar final: it can't get better by itself.
    """

    pod: str
    text: str
    container: str = ""
    restarted: bool = False
    final: bool = False


def is_workload(group_kind: GroupKind) -> bool:
    return group_kind in MAKES_PODS_AT_ONCE


def trouble_of_pod(pod: Manifest) -> Trouble | None:
    """What keeps a pod from being ready, ``None`` when nothing does or it can't be told."""
    name, status = pod["metadata"]["name"], mapping_of(pod.get("status"))
    phase = status.get("phase")
    if phase == "Succeeded" or pod["metadata"].get("deletionTimestamp"):
        return None
    conditions = {str(one.get("type")): one for one in mappings_of(status.get("conditions"))}
    if phase != "Failed" and conditions.get("Ready", {}).get("status") == "True":
        return None
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in mappings_of(status.get(kind)):
            if found := _trouble_of_container(name, container):
                return found
    if phase == "Failed":
        return Trouble(name, _short(status.get("message") or status.get("reason") or "it failed"))
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return Trouble(name, _short(scheduled.get("message") or "it is not scheduled"))
    if phase == "Running":
        return Trouble(name, "runs but is not ready", container=_first_unready(status))
    return None


def _trouble_of_container(pod: str, container: dict[str, Any]) -> Trouble | None:
    name = str(container.get("name"))
    state = mapping_of(container.get("state"))
    before = mapping_of(mapping_of(container.get("lastState")).get("terminated"))
    waiting, ended = mapping_of(state.get("waiting")), mapping_of(state.get("terminated"))
    restarts = container.get("restartCount")
    restarts = restarts if isinstance(restarts, int) else 0
    reason = waiting.get("reason")
    if not reason and not ended.get("exitCode"):
        return None
    texts = [f"container {name}: {reason or ended.get('reason') or 'Error'}"]
    codes = [one["exitCode"] for one in (ended, before) if one.get("exitCode") is not None]
    if codes:
        texts.append(f"exit code {codes[0]}")
    if restarts:
        texts.append(f"{restarts} restarts" if restarts > 1 else "1 restart")
    if message := waiting.get("message") or ended.get("message") or before.get("message"):
        texts.append(str(message))
    return Trouble(
        pod,
        _short(", ".join(texts)),
        container=name if reason not in _STARTING else "",
        restarted=bool(waiting) and restarts > 0,
        final=reason in _NEVER_STARTS,
    )


def _first_unready(status: dict[str, Any]) -> str:
    unready = (one for one in mappings_of(status.get("containerStatuses")) if not one.get("ready"))
    return str(next(unready, {}).get("name", ""))


def trouble_of_workload(client: Client, workload: Manifest) -> Trouble | None:
    """What is wrong with one of its pods, the worst first; of those that its last change made, if there are any yet."""
    try:
        pods = _pods_of(client, workload)
    except ClusterError:
        return None
    found = [trouble for pod in pods if (trouble := trouble_of_pod(pod))]
    return max(found, key=lambda one: (one.final, one.restarted, bool(one.container), one.pod), default=None)


def last_lines(client: Client, namespace: str, trouble: Trouble) -> list[str]:
    """The end of what the container logged, bounded; empty when that can't be read."""
    if not trouble.container:
        return []
    path = f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(trouble.pod)}/log"
    query: dict[str, Any] = {"container": trouble.container, "tailLines": _LOG_LINES, "limitBytes": _LOG_BYTES}
    for previous in (True, False) if trouble.restarted else (False,):
        try:
            text = client.get(
                path, query=query | ({"previous": "true"} if previous else {}), accept="*/*", retry=False
            ).body
        except ClusterError:
            continue
        lines = [line for line in map(_printable, str(text).splitlines()) if line]
        if lines:
            return [shortened(line, _LOG_LINE_LENGTH) for line in lines[-_LOG_LINES:]]
    return []


def _pods_of(client: Client, workload: Manifest) -> list[Manifest]:
    group, _version = split_api_version(workload["apiVersion"])
    metadata, spec = workload["metadata"], mapping_of(workload.get("spec"))
    if (group, workload["kind"]) == ("", "Pod"):
        return [workload]
    selector = _selector_of(spec.get("selector"))
    if not selector:
        return []
    namespace = f"namespaces/{quote(metadata['namespace'])}"
    pods, _version = client.list_all(f"/api/v1/{namespace}/pods", selector, retry=False)
    for pod in pods:
        pod["apiVersion"], pod["kind"] = "v1", "Pod"
    match workload["kind"]:
        case "Deployment":
            sets, _version = client.list_all(f"/apis/apps/v1/{namespace}/replicasets", selector, retry=False)
            owned = [one for one in sets if _is_owned(one, metadata["uid"])]
            newest = max(owned, key=_revision_of_set, default=None)
            return [pod for pod in pods if newest is not None and _is_owned(pod, newest["metadata"]["uid"])]
        case "StatefulSet":
            revision = ("controller-revision-hash", mapping_of(workload.get("status")).get("updateRevision"))
        case "DaemonSet":
            generation = (metadata.get("annotations") or {}).get("deprecated.daemonset.template.generation")
            revision = ("pod-template-generation", generation)
        case _:
            revision = ("", None)
    pods = [pod for pod in pods if _is_owned(pod, metadata["uid"])]
    label, value = revision
    # One that is to be replaced may be what is in the way (StatefulSets go on only from a ready pod).
    return [pod for pod in pods if value and (pod["metadata"].get("labels") or {}).get(label) == value] or pods


def _is_owned(manifest: Manifest, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in mappings_of(manifest["metadata"].get("ownerReferences")))


def _revision_of_set(replica_set: Manifest) -> int:
    annotations = replica_set["metadata"].get("annotations") or {}
    revision = annotations.get("deployment.kubernetes.io/revision", "")
    return int(revision) if revision.isdecimal() else 0


def _selector_of(selector: Any) -> str:
    """As the query has it; a ReplicationController has plain labels."""
    selector = mapping_of(selector)
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    parts = [f"{label}={value}" for label, value in mapping_of(selector.get("matchLabels")).items()]
    for one in mappings_of(selector.get("matchExpressions")):
        key, values = one.get("key"), ",".join(map(str, one.get("values") or []))
        match one.get("operator"):
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(str(key))
            case "DoesNotExist":
                parts.append(f"!{key}")
    return ",".join(parts)


def _printable(line: str) -> str:
    plain = _ESCAPE.sub("", line)
    return "".join(character if character.isprintable() else " " for character in plain).strip()


def _short(text: Any) -> str:
    return shortened(" ".join(str(text).split()), _TEXT_LENGTH)
