"""The servers of a cluster and their command lines. Only 127.0.0.1 is ever listened on."""

from __future__ import annotations

from pathlib import Path

from .certificates import Certificates
from .folder import ClusterFolder
from .ports import Ports
from .processes import Component

PACKAGE = Path(__file__).resolve().parent
SERVICE_NETWORK = "10.96.0.0/16"
POD_NETWORK = "10.244.0.0/16"

# Everything happens on this machine and nobody else is slowed down: no client-side throttling.
REQUESTS_PER_SECOND = 5000


def etcd(folder: ClusterFolder, certificates: Certificates, ports: Ports) -> Component:
    return Component(
        name="etcd",
        program="etcd",
        arguments=(
            "--name=local-cluster",
            f"--data-dir={folder.etcd_data}",
            # A power cut may lose the cluster; the end of the process does not.
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls=https://127.0.0.1:{ports.etcd}",
            f"--advertise-client-urls=https://127.0.0.1:{ports.etcd}",
            "--client-cert-auth",
            f"--trusted-ca-file={certificates.etcd_authority}",
            f"--cert-file={certificates.certificate('etcd')}",
            f"--key-file={certificates.key('etcd')}",
            # It has no peers, but insists on a port for them: any.
            "--listen-peer-urls=http://127.0.0.1:0",
        ),
    )


def api_server(folder: ClusterFolder, certificates: Certificates, ports: Ports) -> Component:
    return Component(
        name="kube-apiserver",
        program="kube-apiserver",
        arguments=(
            f"--etcd-servers=https://127.0.0.1:{ports.etcd}",
            f"--etcd-cafile={certificates.etcd_authority}",
            f"--etcd-certfile={certificates.certificate('etcd-client')}",
            f"--etcd-keyfile={certificates.key('etcd-client')}",
            "--bind-address=127.0.0.1",
            f"--secure-port={ports.api_server}",
            f"--tls-cert-file={certificates.certificate('kube-apiserver')}",
            f"--tls-private-key-file={certificates.key('kube-apiserver')}",
            f"--client-ca-file={certificates.authority}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={certificates.service_account_public_key}",
            f"--service-account-signing-key-file={certificates.service_account_key}",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            # Without it the server would publish an address for the Service `kubernetes`, and refuses a loopback one.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--profiling=false",
            # kwok's address; by default the server would look up the node's name.
            "--kubelet-preferred-address-types=InternalIP",
            f"--requestheader-client-ca-file={certificates.front_proxy_authority}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={certificates.certificate('front-proxy-client')}",
            f"--proxy-client-key-file={certificates.key('front-proxy-client')}",
            f"--audit-policy-file={PACKAGE / 'audit-policy.yaml'}",
            f"--audit-log-path={folder.audit_log}",
            # One file for good: tests read on from where they stood.
            "--audit-log-maxsize=0",
        ),
    )


def controller_manager(folder: ClusterFolder, certificates: Certificates) -> Component:
    return Component(
        name="kube-controller-manager",
        program="kube-controller-manager",
        arguments=(
            f"--kubeconfig={folder.internal_kubeconfig('kube-controller-manager')}",
            f"--service-account-private-key-file={certificates.service_account_key}",
            f"--root-ca-file={certificates.authority}",
            "--leader-elect=false",
            "--secure-port=0",
            # A claim that is made before its volume is looked at again after this long, by default 15 s.
            "--pvclaimbinder-sync-period=1s",
            f"--kube-api-qps={REQUESTS_PER_SECOND}",
            f"--kube-api-burst={2 * REQUESTS_PER_SECOND}",
        ),
    )


def scheduler(folder: ClusterFolder) -> Component:
    return Component(
        name="kube-scheduler",
        program="kube-scheduler",
        arguments=(
            f"--kubeconfig={folder.internal_kubeconfig('kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--kube-api-qps={REQUESTS_PER_SECOND}",
            f"--kube-api-burst={2 * REQUESTS_PER_SECOND}",
        ),
    )


def kwok(folder: ClusterFolder, ports: Ports) -> Component:
    return Component(
        name="kwok",
        program="kwok",
        arguments=(
            f"--kubeconfig={folder.internal_kubeconfig('kwok')}",
            "--manage-all-nodes",
            f"--config={PACKAGE / 'stages.yaml'}",
            f"--config={folder.pod_logs_configuration}",
            # Without leases the controller manager takes the nodes for dead, and all pods for unready, every 50 s.
            "--node-lease-duration-seconds=40",
            f"--cidr={POD_NETWORK}",
            "--node-ip=127.0.0.1",
            f"--node-port={ports.kwok}",
            # Without it, it would listen on all addresses of the machine.
            f"--server-address=127.0.0.1:{ports.kwok}",
        ),
    )
