"""DescribeCluster, requests. Made by `python -m tools.wire_types`; do not edit."""

class DescribeClusterRequest:
    include_cluster_authorized_operations: bool
    endpoint_type: int  # v1+
    include_fenced_brokers: bool  # v2+
