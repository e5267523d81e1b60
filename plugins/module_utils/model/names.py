"""The names that the collection puts into clusters: labels, annotations, managers, kinds it protects.

They are a contract with clusters that already run (and with the original engine, whose group, label and
annotations they are): changing one is a migration, not an edit.
"""

from __future__ import annotations

import re

RECORD_GROUP = "rendimiento.ai"
RECORD_VERSION = "v1alpha1"
RECORD_KIND = "Addon"
RECORD_PLURAL = "addons"
RECORD_CRD = f"{RECORD_PLURAL}.{RECORD_GROUP}"

FIELD_MANAGER = "rendimiento-addons"
ACTING_ACCOUNT = "rendimiento-addons"
PLATFORM_ROLE = f"{ACTING_ACCOUNT}-platform"
PREVIEWER_ROLE = f"{ACTING_ACCOUNT}-previewer"
VIEWER_ROLE = f"{ACTING_ACCOUNT}-viewer"
RBAC_GROUP = "rbac.authorization.k8s.io"
DEFAULT_STATE_NAMESPACE = "rendimiento-system"

OWNER_LABEL = "rendimiento.ai/addon"
GITOPS_LABEL = "rendimiento.ai/gitops"
STATE_LABEL = "rendimiento.ai/state-of"
STATE_SECRET_TYPE = "rendimiento.ai/state"
KEY_SECRET = "addon-key"
KEY_FIELD = "key"

SOURCE_ANNOTATION = "rendimiento.ai/source"
PAUSED_ANNOTATION = "rendimiento.ai/paused"
PAUSED_REASON_ANNOTATION = "rendimiento.ai/paused-reason"
UNINSTALL_ANNOTATION = "rendimiento.ai/uninstall"
DEPENDS_ON_ANNOTATION = "rendimiento.ai/depends-on"
KEEP_ANNOTATION = "rendimiento.ai/keep"
REPLACE_ANNOTATION = "rendimiento.ai/replace"
PROCESS_ANNOTATION = "rendimiento.ai/process"
ADOPT_ANNOTATION = "rendimiento.ai/adopt"

OWN_PREFIX = f"{RECORD_GROUP}/"
"""Of all labels and annotations that mean something to the collection."""

LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
HOOK_ANNOTATION = "helm.sh/hook"
LOCAL_CONFIG_ANNOTATION = "config.kubernetes.io/local-config"

STATE_OBJECTS: tuple[tuple[str, str, str], ...] = (
    ("apiextensions.k8s.io", "CustomResourceDefinition", re.escape(RECORD_CRD)),
    ("apiregistration.k8s.io", "APIService", rf"[^.]*\.{re.escape(RECORD_GROUP)}"),
    (RBAC_GROUP, "ClusterRoleBinding", rf"{ACTING_ACCOUNT}(-platform|-previewer|-viewer)?"),
    (RBAC_GROUP, "ClusterRole", rf"{ACTING_ACCOUNT}-(platform|previewer|viewer)"),
    (RBAC_GROUP, "RoleBinding", rf"{ACTING_ACCOUNT}-(platform|previewer)"),
    (RBAC_GROUP, "Role", rf"{ACTING_ACCOUNT}-(platform|previewer)"),
    ("", "ServiceAccount", ACTING_ACCOUNT),
    ("", "Secret", rf"{KEY_SECRET}|addon-.*-(tombstone|applied)"),
    ("coordination.k8s.io", "Lease", r"addon-.*"),
)
"""Group, kind and pattern of the name of what the collection itself works with; in namespaces only the state one's."""

PROTECTED_KINDS: frozenset[tuple[str, str]] = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "PersistentVolumeClaim"),
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
    }
)
"""Group and kind of what is never deleted automatically: with these goes data that nobody can bring back."""
