"""Every setting that takes a secret, and how a node is given all of them."""

LINES = ("registry", "pipe")
NEEDS = {
    **{f"{line}.password": {f"{line}.username": "shop-7"} for line in LINES},
    **{f"{line}.key_password": {f"{line}.certificate_file": "/nowhere.pem"} for line in LINES},
    "pipe.client_properties": {"pipe.type": "kafka"},
}
"""Settings without which a secret is refused."""
VALUES = {
    "pipe.client_properties": "sasl.username=shop-7,sasl.password={}",
    "acl.authorizer_options": "a={}",
    "security.authenticator_options": "a={}",
}
"""Secrets in mappings."""
PASSWORDS = ("tls.key_password", *(f"{line}.{name}" for line in LINES for name in ("password", "key_password")))
WORDS = ("registry.token", "pipe.client_properties")
"""Secrets that a node takes instead of some of the passwords."""
ELSEWHERE = ("acl.authorizer_options", "security.authenticator_options", "pipe.token")
"""Secrets of extensions, and one that is as `registry.token` is."""


def given(word: str, *secrets: str) -> dict[str, str]:
    """Variables that put a word into these settings, with whatever they need."""
    settings = {key: VALUES.get(key, "{}").format(word) for key in secrets}
    for key in secrets:
        settings |= NEEDS.get(key, {})
    return {"PENSTOCK_" + key.upper().replace(".", "__"): value for key, value in settings.items()}


def lines_away(*secrets: str) -> dict[str, str]:
    """Variables for a registry and a parent that do not answer, of the kind that these secrets are for."""
    parent = "127.0.0.1:1" if "pipe.client_properties" in secrets else "https://127.0.0.1:1"
    return {"PENSTOCK_REGISTRY__URL": "https://127.0.0.1:1", "PENSTOCK_PIPE__PARENT_URL": parent}
