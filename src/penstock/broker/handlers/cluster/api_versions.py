"""ApiVersions (key 18, v0–4): the APIs and versions that this broker serves, and its features.

Behaviour:
- A version that is not served is answered in v0 with UNSUPPORTED_VERSION and one entry, ApiVersions itself (KIP-511).
- From v3 on the client names its software; a malformed name is INVALID_REQUEST.
- The two APIs of client telemetry are listed only while there is a client-metrics subscription, or always if
  telemetry.advertise says so. Kafka lists them if it has a metrics reporter that receives telemetry.
- On a listener with SASL a client may ask once before it logs in; between the steps of the login it is
  ILLEGAL_SASL_STATE, and the connection ends.

Differs from Kafka:
- Only the features that exist here are listed.

Version notes:
- v3 is flexible, but its response header is not. v3 leaves out features whose minimum is 0 and v4 lists them: older
  Java clients reject a minimum of 0.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from penstock.broker.broker import Broker
from penstock.broker.features import FEATURES, FINALIZED_EPOCH
from penstock.broker.login.channel import SaslChannel
from penstock.broker.login.login import LoginState
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY
from penstock.protocol.kafka.messages import encode, response_messages

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.api_versions import ApiVersionsBuilders, ApiVersionsResponse
    from penstock.protocol.kafka.requests.api_versions import ApiVersionsRequest

    ApiVersions = Request[ApiVersionsRequest, ApiVersionsBuilders]

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_TELEMETRY = frozenset({GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY})

_encoded: dict[tuple[int, bool], bytes] = {}


def handle(
    broker: Broker, request: ApiVersions
) -> bytes | ApiVersionsResponse | Coroutine[Any, Any, ApiVersionsResponse]:
    channel = request.channel
    sasl = channel if isinstance(channel, SaslChannel) else None
    if sasl is not None and sasl.login.state is LoginState.UNDER_WAY:
        answer = request.reply.ApiVersionsResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, api_keys=())
        return sasl.refuse(answer, "ApiVersions between the steps of a login")
    if request.version >= 3:
        name, version = request.body.client_software_name, request.body.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return request.reply.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=())
        channel.renew(request.session.with_software(name, version))
    if sasl is not None:
        sasl.login.versions_told()
    wanted = (request.version, broker.telemetry.is_advertised)
    body = _encoded.get(wanted)
    if body is None:
        body = _encoded[wanted] = encode(_answer(request, with_telemetry=wanted[1]))
    return body


def _answer(request: ApiVersions, *, with_telemetry: bool) -> ApiVersionsResponse:
    reply = request.reply
    return reply.ApiVersionsResponse(
        error_code=ErrorCode.NONE,
        api_keys=tuple(
            reply.ApiVersion(api_key=api.key, min_version=api.advertised_oldest, max_version=api.newest)
            for api in APIS.values()
            if with_telemetry or api.key not in _TELEMETRY
        ),
        supported_features=tuple(
            reply.SupportedFeatureKey(name=feature.name, min_version=feature.min_level, max_version=feature.max_level)
            for feature in FEATURES
            if request.version >= 4 or feature.min_level > 0
        )
        if request.version >= 3
        else (),
        finalized_features_epoch=FINALIZED_EPOCH,
        finalized_features=tuple(
            reply.FinalizedFeatureKey(
                name=feature.name, max_version_level=feature.finalized_level, min_version_level=feature.finalized_level
            )
            for feature in FEATURES
            if feature.finalized_level
        )
        if request.version >= 3
        else (),
    )


def unsupported_version() -> bytes:
    """The v0 answer to a version from the future."""
    reply = response_messages(API_VERSIONS, 0)
    api = APIS[API_VERSIONS]
    entry = reply.ApiVersion(api_key=api.key, min_version=api.oldest, max_version=api.newest)
    return encode(reply.ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(entry,)))
