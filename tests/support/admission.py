"""The admission of a door under test."""

from penstock.net.admission.admission import Admission, AdmissionLimits
from penstock.net.admission.door import Door
from penstock.net.http.port import HttpPort
from penstock.node.web_server import bind


def open_door(name: str = "kafka", connections_max: int = 1_000, silent_seconds_max: float = 60.0) -> Door:
    """The only door of an admission without other limits than the total."""
    limits = AdmissionLimits(connections_max=connections_max, per_address_max=connections_max)
    return Admission(limits).door(name, silent_seconds_max=silent_seconds_max)


def http_port() -> HttpPort:
    """A free port of this machine for a web server under test."""
    return HttpPort(listening=bind("127.0.0.1", 0), admission=open_door("http"))
