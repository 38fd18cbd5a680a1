"""AlterReplicaLogDirs (key 34, v1–2): move replicas to other directories of this node.

Behaviour:
- There is one log directory, the data directory. Moving a partition there succeeds, since it is there already.
- Any other path is LOG_DIR_NOT_FOUND, and so is another spelling of the same one, as in Kafka. DescribeLogDirs shows
  the spelling.
- If a request names a partition twice, the last entry counts.

Differs from Kafka:
- Kafka moves replicas between several directories; here there is one.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.alter_replica_log_dirs import (
        AlterReplicaLogDirsBuilders,
        AlterReplicaLogDirsResponse,
    )
    from penstock.protocol.kafka.requests.alter_replica_log_dirs import AlterReplicaLogDirsRequest

    AlterReplicaLogDirs = Request[AlterReplicaLogDirsRequest, AlterReplicaLogDirsBuilders]


def handle(broker: Broker, request: AlterReplicaLogDirs) -> Steps[AlterReplicaLogDirsResponse]:
    targets: dict[str, dict[int, str]] = {}
    for directory in request.body.dirs:
        for topic in directory.topics:
            if topic.partitions:
                targets.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, directory.path))
            yield
    allowed = broker.access.allows_cluster(request.session, Operation.ALTER)
    reply = request.reply
    results = []
    for name, wanted in targets.items():
        partitions = []
        for index, path in wanted.items():
            code = _result(broker, name, index, path) if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            partitions.append(reply.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
            yield
        results.append(reply.AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions))
        yield
    return reply.AlterReplicaLogDirsResponse(results=results)


def _result(broker: Broker, name: str, index: int, path: str) -> ErrorCode:
    if path != str(broker.settings.node.data_dir.absolute()):
        return ErrorCode.LOG_DIR_NOT_FOUND
    topic = broker.topics.get(name)
    if topic is None or not 0 <= index < topic.partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
