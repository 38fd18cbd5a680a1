"""Properties of a client in a file, as Kafka's tools read them: NAME=VALUE in each line.

Lines that begin with # or ! are remarks. A line that ends with a backslash goes on in the next one, as a long
`sasl.jaas.config` does in many files; other backslashes are what they are.
"""

from __future__ import annotations

from penstock.client.security.properties import SecurityProblem


def parse_properties(text: str) -> dict[str, str]:
    """SecurityProblem with the number of a line that is no property, and nothing of its text."""
    found = {}
    begun = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not begun and (not line.strip() or line.lstrip().startswith(("#", "!"))):
            continue
        whole = begun + line.lstrip()
        if line.endswith("\\"):
            begun = whole[:-1]
            continue
        name, equals, value = whole.partition("=")
        if not equals or not name.strip():
            raise SecurityProblem(f"line {number} is not NAME=VALUE")
        found[name.strip()] = value.strip()
        begun = ""
    if begun:
        raise SecurityProblem("the last line goes on behind the end of the file")
    return found
