"""The metrics of throttling are few, however many clients there are."""

from penstock.model.limits import THROTTLED_CLIENTS_SHOWN
from penstock.observability.quota_probe import OTHERS, UNNAMED, QuotaProbe


def test_clients_are_shown_by_name_up_to_a_number() -> None:
    probe = QuotaProbe()
    for number in range(5 * THROTTLED_CLIENTS_SHOWN):
        probe.throttled("produce", f"client-{number}", 0.5)
    probe.throttled("fetch", "client-0", 1.0)
    probe.throttled("connection", None, 1.0)
    times, seconds, clients = probe.families()
    by_quota = {sample.labels["quota"]: sample.value for sample in times.samples}
    assert by_quota == {"produce": 5 * THROTTLED_CLIENTS_SHOWN, "fetch": 1, "connection": 1}
    assert sum(sample.value for sample in seconds.samples) == 2.5 * THROTTLED_CLIENTS_SHOWN + 2
    by_client = {sample.labels["client"]: sample.value for sample in clients.samples}
    assert len(by_client) == THROTTLED_CLIENTS_SHOWN + 1
    assert by_client["client-0"] == 1.5
    assert by_client[OTHERS] == 0.5 * 4 * THROTTLED_CLIENTS_SHOWN


def test_clients_without_a_name() -> None:
    probe = QuotaProbe()
    probe.throttled("request", None, 1.0)
    probe.throttled("request", "", 1.0)
    *_, clients = probe.families()
    assert {sample.labels["client"]: sample.value for sample in clients.samples} == {UNNAMED: 2.0}
