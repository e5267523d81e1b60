"""Asks the API server, before anything is written, for the rights that a plan takes and a dry run does not prove.

One question tells of an administrator; else there is one per namespace, and one per verb for what is cluster-scoped, of
which the rules of a namespace can't tell. Each is asked once per run: the answers stand in the run directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..cluster.client import ApiError
from ..model.bundle import Bundle
from ..model.missing_rights import RightsReport
from ..model.normalise import hook_events, is_definition
from ..model.objects import Manifest
from ..model.plan import APPLIES, Plan
from ..model.rights import WRITES, FindResource, Need, Right, Rules, missing_by_kind, needs_of
from ..model.shapes import mapping_of
from .dependencies import bundles_of_dependencies
from .session import Session

_FILE = "rights.json"
_REVIEWS = "/apis/authorization.k8s.io/v1"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_EVERYTHING = Right("*", "*", "", "*")


def missing_rights(session: Session, made: Plan, bundle: Bundle, *, fresh: bool) -> RightsReport:
    """Which rights the acting identity lacks to carry out the plan; none when there is nothing to do.

    :param fresh: whether earlier answers count no more.
    :raises ClusterError: the server does not answer.
    """
    if session.info.reads_only or not made.pending:
        return RightsReport()
    definition = session.directory.definition(made.name).definition
    applied = session.record(made.name).applied_before
    hooks = [] if definition.skip_hooks else [item.manifest for item in bundle.hooks if _runs(item.manifest, applied)]
    bundles = [bundle, *bundles_of_dependencies(session, made.name)]
    needs = needs_of(made.items, hooks, _finder(session, (item.manifest for one in bundles for item in one.objects)))
    if not needs:
        return RightsReport()
    answers = _Answers(session, fresh=fresh)
    report = RightsReport()
    if lacking := answers.lacking(needs):
        writes = {need.right for need in needs if need.right.verb in WRITES}
        # A dry run that went well took the right to write.
        proven = any(item.action in APPLIES and item.verdict == "verified" for item in made.items)
        only_reads = session.info.check and not proven and writes <= {need.right for need in lacking}
        report = RightsReport(answers.user(), missing_by_kind(lacking), only_reads)
    answers.save()
    return report


def _runs(hook: Manifest, applied: bool) -> bool:
    events = hook_events(hook)
    return bool(events & ({"pre-upgrade", "post-upgrade"} if applied else {"pre-install", "post-install"}))


def _finder(session: Session, brought: Iterable[Manifest]) -> FindResource:
    coming: dict[tuple[str, str], tuple[str, bool]] = {}
    for manifest in filter(is_definition, brought):
        spec = mapping_of(manifest.get("spec"))
        names = mapping_of(spec.get("names"))
        coming[str(spec.get("group")), str(names.get("kind"))] = (
            str(names.get("plural")),
            spec.get("scope") == "Namespaced",
        )

    def find(group: str, version: str, kind: str) -> tuple[str, bool] | None:
        discovery = session.discovery
        resource = discovery.find(group, version, kind) or discovery.preferred(group, kind)
        return (resource.plural, resource.namespaced) if resource else coming.get((group, kind))

    return find


class _Answers:
    """What the server said in this run of the acting identity."""

    def __init__(self, session: Session, *, fresh: bool) -> None:
        self._session = session
        stored = (None if fresh else session.directory.read_json(_FILE)) or {"user": "", "rules": [], "access": []}
        self._user: str = stored["user"]
        self._rules: dict[str, Rules] = {place: Rules(*rules) for place, rules in stored["rules"]}
        self._access: dict[Right, bool] = {Right(*right): allowed for right, allowed in stored["access"]}

    def save(self) -> None:
        rules = [[place, [one.rules, one.incomplete]] for place, one in self._rules.items()]
        access = [
            [[one.group, one.resource, one.namespace, one.verb, one.name], allowed]
            for one, allowed in self._access.items()
        ]
        self._session.directory.write_json(_FILE, {"user": self._user, "rules": rules, "access": access})

    def lacking(self, needs: list[Need]) -> list[Need]:
        if self._may(_EVERYTHING):
            return []
        return [need for need in needs if not self._granted(need.right)]

    def user(self) -> str:
        """Whose rights these are, in words."""
        account = self._session.info.options.impersonate
        if not account and not self._user:
            try:
                review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
                self._user = self._session.acting.post(_WHO, review).body["status"]["userInfo"]["username"]
            except ApiError:
                return "the user of this run"
        return account or self._user

    def _granted(self, right: Right) -> bool:
        if right.namespace:
            rules = self._rules_in(right.namespace)
            if rules.grant(right) or not rules.incomplete:
                return rules.grant(right)
        whole = Right(right.group, right.resource, right.namespace, right.verb)
        return self._may(whole) or (bool(right.name) and self._may(right))

    def _rules_in(self, namespace: str) -> Rules:
        if namespace not in self._rules:
            status = self._ask("SelfSubjectRulesReview", {"namespace": namespace})
            # What can't be asked counts as not known, so each right is asked for by itself.
            incomplete = not status or bool(status.get("incomplete"))
            self._rules[namespace] = Rules(status.get("resourceRules") or [], incomplete)
        return self._rules[namespace]

    def _may(self, right: Right) -> bool:
        if right not in self._access:
            resource, _slash, subresource = right.resource.partition("/")
            attributes = {
                "group": right.group,
                "resource": resource,
                "subresource": subresource,
                "namespace": right.namespace,
                "verb": right.verb,
                "name": right.name,
            }
            status = self._ask("SelfSubjectAccessReview", {"resourceAttributes": attributes})
            # Who may not ask is not told that rights are missing: the requests themselves will tell.
            self._access[right] = bool(status.get("allowed", right != _EVERYTHING))
        return self._access[right]

    def _ask(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """The status of a review; empty when the server refuses to make one."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        try:
            status: dict[str, Any] = self._session.acting.post(f"{_REVIEWS}/{kind.lower()}s", review).body["status"]
        except ApiError as error:
            if not error.forbidden and not error.kind_not_served:
                raise
            return {}
        return status
