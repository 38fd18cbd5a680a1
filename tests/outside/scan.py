"""sslyze against one port: every protocol, cipher suite and group that it takes, and what is known to be wrong with
others. It runs in an environment of its own, since it needs another version of `cryptography`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

SSLYZE = Path(__file__).parents[2] / ".venv" / "tls-scan" / "bin" / "sslyze"
LOOKS = (
    "sslv2", "sslv3", "tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3", "certinfo", "compression", "early_data",
    "elliptic_curves", "ems", "fallback", "heartbleed", "openssl_ccs", "reneg", "resum", "robot",
)  # fmt: skip
CLOSED_WITHOUT_ANSWER = "Connection was shut down by peer"


class Scan:
    """The report of sslyze on one port."""

    def __init__(self, port: int, authority: Path, report: Path) -> None:
        flags = [f"--json_out={report}", "--quiet", f"--certinfo_ca_file={authority}", *(f"--{look}" for look in LOOKS)]
        subprocess.run([SSLYZE, *flags, f"localhost:{port}"], check=True, timeout=300, capture_output=True)
        (found,) = json.loads(report.read_text())["server_scan_results"]
        assert found["connectivity_status"] == "COMPLETED", found["connectivity_error_trace"]
        self._found: dict[str, Any] = found["scan_result"]

    def result(self, name: str) -> Any:
        """What one look has found; a look that could not be taken has failed."""
        look = self._found[name]
        assert look["status"] == "COMPLETED", look["error_trace"]
        return look["result"]

    def suites(self, version: str) -> list[str]:
        """The cipher suites that the port takes in a version, such as `tls_1_2`, as OpenSSL names them."""
        accepted = self.result(f"{version}_cipher_suites")["accepted_cipher_suites"]
        return sorted(each["cipher_suite"]["openssl_name"] for each in accepted)

    @property
    def groups(self) -> set[str]:
        return {curve["name"] for curve in self.result("elliptic_curves")["supported_curves"]}

    @property
    def takes_early_data(self) -> bool:
        """Whether a request that is sent before the handshake ends is served. The request is one of HTTP: a port of
        another protocol closes the connection, which sslyze takes for a mistake of its own.
        """
        look = self._found["tls_1_3_early_data"]
        if look["status"] == "ERROR" and CLOSED_WITHOUT_ANSWER in look["error_trace"]:
            return False
        return bool(self.result("tls_1_3_early_data")["supports_early_data"])

    def is_trusted(self) -> bool:
        """Whether every chain that is sent leads to the authority, in order and without a superfluous root."""
        found = self.result("certificate_info")
        chains = [*found["certificate_deployments"], found["certificate_deployment_with_sni_disabled"]]
        for chain in chains:
            (own,) = (each for each in chain["path_validation_results"] if "Supplied" in each["trust_store"]["name"])
            if not own["was_validation_successful"] or not chain["received_chain_has_valid_order"]:
                return False
        return True
