"""A real Kubernetes API on this machine, for the demo and the tests: no containers, no root, nothing but processes.

from local_cluster import Cluster

cluster = Cluster(folder)
cluster.up()
subprocess.run([cluster.programs["kubectl"], "--kubeconfig", cluster.kubeconfig, "get", "nodes"])
cluster.down()
"""

from .cluster import Cluster, ComponentStatus, Status
from .errors import LocalClusterError

__all__ = ["Cluster", "ComponentStatus", "LocalClusterError", "Status"]
