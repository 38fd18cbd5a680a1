"""Known differences that only the scripts of `scenarios/documented.py` come across."""

from __future__ import annotations

from tests.differential.known_row import ABSENT, TEXT, Holding, Known, answered, refused

UNDECODED = "every record is decoded and checked"
FIRST_TIMESTAMP = "`message.timestamp.before.max.ms` looks at every record"
MAX_TIMESTAMP = "a timestamp of the batch header is corrected"
LOGGERS = "BROKER_LOGGER lists loggers"


DOCUMENTED: tuple[Known, ...] = (
    *answered(
        script="documented-produce",
        step="bytes after the batch",
        row="bytes after a batch are ignored",
        error_code=(0, 87),
        base_offset=(0, -1),
        log_start_offset=(0, -1),
    ),
    *answered(
        script="documented-produce",
        step="a producer without an epoch",
        row="a producer id with epoch −1 is accepted",
        error_code=(0, 87),
        base_offset=(1, -1),
    ),
    *answered(
        script="documented-produce",
        step="records that are no records",
        row=UNDECODED,
        error_code=(-1, 0),
        base_offset=(-1, 0),
    ),
    *answered(
        script="documented-produce",
        step="the second is too old",
        row=FIRST_TIMESTAMP,
        error_code=(32, 0),
        base_offset=(-1, 0),
        error_message=(TEXT, None),
        **{"record_errors[0]": (Holding(batch_index=1), ABSENT)},
    ),
    Known(
        script="documented-produce",
        step="fetch v*: the maximum that is stored",
        path="responses*.max_timestamp",
        kafka=1_700_000_000_000,
        penstock=1_700_000_000_005,
        row=MAX_TIMESTAMP,
    ),
    *(
        Known(
            script="documented-produce",
            step="list_offsets v*: at -3",
            path=f"topics*.{field}",
            kafka=kafka,
            penstock=-1,
            row=MAX_TIMESTAMP,
        )
        for field, kafka in (("timestamp", 1_700_000_000_000), ("offset", 0), ("leader_epoch", 0))
    ),
    *(
        Known(
            script="documented-topics",
            step=f"{step}*",
            path=f"{rows}*.{field}",
            kafka=kafka,
            penstock=penstock,
            row=row,
        )
        for step, rows, code, row in (
            ("create_topics", "topics", 17, "topics `a.b` and `a_b` in one request"),
            ("create_partitions", "results", 42, "internal topics can be created"),
        )
        for field, kafka, penstock in (("error_code", 0, code), ("error_message", None, TEXT))
    ),
    *(
        each
        for step, code, row in (
            ("log.cleaner.threads=2", 42, "most broker configs can be changed at run time"),
            ("root=WARN", 42, LOGGERS),
            ("match=client_id=(a)*", 40, "`match` patterns are Java's regular expressions"),
        )
        for each in refused(script="documented-configs", step=f"incremental_alter_configs v*{step}", code=code, row=row)
    ),
    Known(
        script="documented-configs",
        step="describe_configs v*",
        path="results*.configs[name=root]",
        kafka=Holding(value="WARN", config_source=6),
        penstock=ABSENT,
        row=LOGGERS,
    ),
)
