"""The programs of a local cluster, and how each is built from `go.mod`."""

from __future__ import annotations

from dataclasses import dataclass

from . import go_module


@dataclass(frozen=True)
class Program:
    """One program. Seconds and gigabytes are what a first build takes on two cores, after those listed before it."""

    name: str
    package: str
    seconds: int
    gigabytes: float
    # The major versions that may be taken from PATH; empty for programs that must match the cluster's version.
    majors_on_path: tuple[int, ...] = ()


SERVERS = (
    Program("pki", "./pki", seconds=10, gigabytes=0.3),
    Program("etcd", "go.etcd.io/etcd/server/v3", seconds=45, gigabytes=0.7),
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", seconds=180, gigabytes=3.5),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", seconds=90, gigabytes=1.0),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", seconds=10, gigabytes=0.2),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", seconds=15, gigabytes=0.3),
)
TOOLS = (
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", seconds=15, gigabytes=0.2),
    Program("helm", "helm.sh/helm/v4/cmd/helm", seconds=90, gigabytes=0.7, majors_on_path=(3, 4)),
    Program("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", seconds=2, gigabytes=0.1, majors_on_path=(5,)),
)
ALL = (*SERVERS, *TOOLS)

KUBERNETES = go_module.version("k8s.io/kubernetes")
HELM = go_module.version("helm.sh/helm/v4")

# Without these, the programs do not know their own versions, and helm and kubectl refuse the server.
LINKER_FLAGS = " ".join(
    [
        "-s -w",
        f"-X k8s.io/component-base/version.gitVersion={KUBERNETES}",
        f"-X k8s.io/component-base/version.gitMajor={KUBERNETES.lstrip('v').split('.')[0]}",
        f"-X k8s.io/component-base/version.gitMinor={KUBERNETES.split('.')[1]}",
        "-X k8s.io/component-base/version.gitTreeState=clean",
        "-X k8s.io/component-base/version.gitCommit=local",
        # What programs tell the server about themselves, as it appears in the audit log.
        f"-X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES}",
        "-X k8s.io/client-go/pkg/version.gitCommit=local",
        f"-X helm.sh/helm/v4/internal/version.version={HELM}",
    ]
)
