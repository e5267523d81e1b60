"""How an add-on's objects are followed until they are ready, and what is told of those that are not."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ..cluster.discovery import path_of
from ..cluster.live_rules import LiveRules
from ..cluster.pod_reports import is_workload, last_lines, trouble_of_workload
from ..cluster.readiness_rules import Readiness
from ..cluster.readiness_watch import ReadinessWatch
from ..model.errors import ClusterError, ReadinessError
from ..model.masking import Mask
from ..model.objects import Manifest, ObjectKey
from ..model.ready_rules import ReadyRule
from ..model.wording import listed
from .session import Session

_NAMED = 3


def readiness_watch(session: Session, name: str, stop: threading.Event | None = None) -> ReadinessWatch:
    """Follows objects of an add-on, as the acting account and by the ``ready`` rules of its definition."""
    definition = session.directory.definition(name).definition
    rules = LiveRules(session.acting, [ReadyRule.of(entry) for entry in definition.ready])
    return ReadinessWatch(
        session.acting, lambda: session.discovery, addon=name, judge=rules, unasked=rules.are_unasked, stop=stop
    )


def unready_error(
    session: Session,
    name: str,
    versions: Mapping[ObjectKey, str],
    states: Mapping[ObjectKey, Readiness],
    timeout: float,
    mask: Mask,
) -> ReadinessError | None:
    """What to say of objects that failed, or else were not ready when the time was up; ``None`` when all are.

    :param versions: the API version in which each was applied.
    :param timeout: seconds that they had.
    :param mask: hides secrets in what objects, pods and logs say.
    """
    unready = {key: state for key, state in states.items() if state.state != "ready"}
    failed = {key: state for key, state in unready.items() if state.state == "failed"}
    if not unready:
        return None
    told = sorted(failed or unready)
    texts = [f"{key} ({why_unready(session, key, versions[key], unready[key], mask)})" for key in told[:_NAMED]]
    shown = listed([*texts, *map(str, told[_NAMED:])], _NAMED)
    if failed:
        return ReadinessError(f"failed: {shown}", addon=name, hint="mend the source, or delete what is stuck")
    return ReadinessError(
        f"not ready after {timeout:.0f} s: {shown}", addon=name, hint="the next run waits again; see wait"
    )


def why_unready(session: Session, key: ObjectKey, version: str, state: Readiness, mask: Mask) -> str:
    """Why one object is not ready: what it says itself, and of a workload what its pods say and logged last."""
    reason = state.reason
    workload = _workload(session, key, version)
    trouble = trouble_of_workload(session.acting, workload) if workload else None
    if trouble is None:
        return mask.text(reason)
    if trouble.text not in reason:
        reason += f"; pod {trouble.pod}: {trouble.text}"
    if lines := last_lines(session.acting, key.namespace, trouble):
        reason += f"; its log ends: {' | '.join(lines)}"
    return mask.text(reason)


def _workload(session: Session, key: ObjectKey, version: str) -> Manifest | None:
    resource = session.discovery.find(key.group, version, key.kind) if is_workload(key.group_kind) else None
    if resource is None:
        return None
    try:
        found: Manifest = session.acting.get(path_of(resource, key.namespace, key.name), retry=False).body
    except ClusterError:
        return None
    return found
