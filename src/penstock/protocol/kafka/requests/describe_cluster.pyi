"""DescribeCluster, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class DescribeClusterRequest:
    include_cluster_authorized_operations: bool
    endpoint_type: int  # v1+
    include_fenced_brokers: bool  # v2+

class DescribeClusterRequestValues(TypedDict, total=False):
    include_cluster_authorized_operations: bool
    endpoint_type: int  # v1+
    include_fenced_brokers: bool  # v2+
