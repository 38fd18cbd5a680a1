"""Every limit of the broker in one place, each with its reason. `settings.limits` may override the first group.

A limit is reached with an answer (an error code, a closed connection, a pause in reading), never with growth.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- connections ---------------------------------------------------------------------------------------------------
# Kafka's socket.request.max.bytes: clients are configured against it.
FRAME_BYTES_MAX: Final = 100 * MIB
# Sockets and segments (storage.open_files_max) share the descriptors that the system gives a process; a start that
# cannot have enough of them for both says so.
CONNECTIONS_MAX: Final = 16_000
# All of them may come from one address (a pod, a NAT); operators lower it where addresses mean clients.
CONNECTIONS_PER_ADDRESS_MAX: Final = 16_000
# New ones a second: clients behind one address come back within seconds of a restart, and a loop that makes connections
# does not take the time of all others.
CONNECTION_RATE_PER_ADDRESS_MAX: Final = 1_000
# Kept free for each of these doors (an eighth of all connections at most): clients and probes get in when another door
# has taken all the rest.
KAFKA_CONNECTIONS_RESERVED: Final = 64
HTTP_CONNECTIONS_RESERVED: Final = 16
# At the metrics page of consumers that run on their own: a few scrapers, each with one or two.
METRICS_CONNECTIONS_MAX: Final = 64
# The time for the first complete request. Clients send one as soon as they are connected; push clients, which may have
# nothing to say, send a heartbeat after an interval.
FIRST_REQUEST_MS_MAX: Final = 30_000
# Clients pipeline 5 (Java) to 1,000,000 (librdkafka) requests; beyond this many unanswered ones reading pauses.
IN_FLIGHT_PER_CONNECTION_MAX: Final = 256
# Requests of one connection that wait for an earlier one; above it reading pauses until they are worked off.
QUEUED_BYTES_PER_CONNECTION_MAX: Final = 8 * MIB
# The same over all connections: the memory that clients together can make the broker hold.
QUEUED_BYTES_TOTAL_MAX: Final = 512 * MIB
# Answers a client has not read; above it the connection's requests are not read either.
UNREAD_BYTES_PER_CONNECTION_MAX: Final = 1 * MIB
# A request whose bytes stop coming, or come a few at a time, holds memory that others may wait for. So much time is
# allowed for what goes wrong on the way (TCP repeats a lost packet after up to several seconds); after that the bytes
# have to come at this rate, half a megabit a second, which the slowest links in use have.
FRAME_SPARE_MS_MAX: Final = 30_000
FRAME_BYTES_PER_SECOND_MIN: Final = 64 * KIB
# The same while frames wait for the room that others hold: a frame of frame_bytes_max is out of the way in two minutes.
FRAME_SPARE_MS_MAX_CROWDED: Final = 5_000
FRAME_BYTES_PER_SECOND_MIN_CROWDED: Final = 1 * MIB
# A push frame, which is smaller, has this long from its first byte to its last.
FRAME_STALL_MS_MAX: Final = 60_000
# A client that has not logged in yet has nothing longer to say: passwords and SCRAM need less than 10 KB, the tokens of
# OAUTHBEARER some tens. Kafka's sasl.server.max.receive.size is eight times that, which strangers would only use to
# occupy memory.
FRAME_BYTES_BEFORE_LOGIN_MAX: Final = 64 * KIB
# Arrays of a request may have this many elements together: more than twice the partitions that a node may have. Each
# becomes an object or two, and a frame of frame_bytes_max could otherwise ask for gigabytes of them.
REQUEST_ELEMENTS_MAX: Final = 500_000
# The same for requests about groups, users, rules, quotas and transactions, and for changes by name: nobody asks for
# more at once, and Kafka's controller makes 10,000 changes for a request.
REQUEST_NAMES_MAX: Final = 50_000
# Tagged fields in the header of a request, and as many in its body. Clients have hardly any, and those that the broker
# does not know (KIP-482) are skipped one by one, on the event loop: a frame of frame_bytes_max has room for millions.
TAGGED_FIELDS_MAX: Final = 1_000
# A larger request is decoded in a thread: one that is all array elements takes 10 ms for so many bytes.
REQUEST_BYTES_DECODED_AT_ONCE: Final = 32 * KIB
# And one that is larger still, for which a thread may need seconds, lets others go first.
REQUEST_BYTES_DECODED_SOON: Final = 256 * KIB
# An answer with more elements in its arrays is encoded in a thread: one takes 10 to 20 µs.
ELEMENTS_ENCODED_AT_ONCE: Final = 500
# An answer other than that of a Fetch; clients read at most so much by default (librdkafka: 100,000,000).
ANSWER_BYTES_MAX: Final = 100 * MIB
# The same when clients that do not read have used up queued_bytes_total_max.
ANSWER_BYTES_UNDER_PRESSURE: Final = 8 * MIB
# Kafka's connections.max.idle.ms.
CONNECTION_IDLE_MS_MAX: Final = 600_000

# --- the event loop ------------------------------------------------------------------------------------------------
# A turn: work of one connection, flush round or loop over partitions gives the event loop away after so long, so that
# its lag stays far below 10 ms with several of them at a time.
TURN_NS: Final = 2_000_000

# --- fetch ---------------------------------------------------------------------------------------------------------
# Kafka's fetch.max.bytes: no answer is larger, but for a single batch that is.
FETCH_BYTES_MAX: Final = 55 * MIB
# A fetch may return this much even when clients that do not read have used up queued_bytes_total_max.
FETCH_BYTES_UNDER_PRESSURE: Final = 256 * KIB
# Segments of an answer beyond one for each partition. Each costs the loop some 20 µs and may hold a descriptor; with
# the smallest segments that topics are given (1 MiB) it is more than FETCH_BYTES_MAX.
FETCH_FURTHER_SEGMENTS_MAX: Final = 60
# Kafka's max.incremental.fetch.session.cache.slots.
FETCH_SESSIONS_MAX: Final = 1_000
# Partitions of all fetch sessions together, about 400 bytes each: a thousand sessions of five hundred. A client may
# name as many as it likes, and they need not exist; one that finds no room works without a session.
FETCH_SESSION_PARTITIONS_MAX: Final = 500_000
# A principal keeps this part of the sessions and of their partitions, a quarter, when others want places.
FETCH_SESSION_PARTS: Final = 4
# Kafka's min.incremental.fetch.session.eviction.ms: a session in use is not taken away for a newer one.
FETCH_SESSION_UNUSED_MS: Final = 120_000
# Partitions of all fetches that wait for data, about 600 bytes each: ten thousand consumers of a hundred.
FETCH_WAITING_PARTITIONS_MAX: Final = 1_000_000
# A client that asks to wait for an hour is answered earlier; Kafka has no limit, but a parked request holds memory.
FETCH_WAIT_MS_MAX: Final = 300_000

# --- users ---------------------------------------------------------------------------------------------------------
# Kafka's bounds of a SCRAM credential: fewer iterations are guessed too fast, more keep clients busy at each login.
SCRAM_ITERATIONS_MIN: Final = 4_096
SCRAM_ITERATIONS_MAX: Final = 16_384
# Clients choose the salts of the users that they make: 24 to 32 random bytes as a rule.
SCRAM_SALT_BYTES_MAX: Final = 255
# Users are held in memory, about 1 KB each.
USERS_MAX: Final = 100_000
USER_NAME_BYTES_MAX: Final = 255
# Tokens are held in memory, about 600 bytes each; a principal with a hundred has forgotten to revoke some.
TOKENS_MAX: Final = 10_000
TOKENS_OF_PRINCIPAL_MAX: Final = 100
TOKEN_NAME_LENGTH_MAX: Final = 100
TOKEN_LIFETIME_MS_MIN: Final = 1_000
TOKEN_LIFETIME_MS_MAX: Final = 366 * 86_400_000
# Messages of a login. SCRAM's have a name (escaped, three times its length) and a nonce, each character of which is
# looked up in tables; the one of PLAIN has a password.
SCRAM_MESSAGE_BYTES_MAX: Final = 1 * KIB
PLAIN_MESSAGE_BYTES_MAX: Final = 8 * KIB

# --- quotas --------------------------------------------------------------------------------------------------------
# Entities with quotas are held in memory, about 1 KB each.
QUOTA_ENTITIES_MAX: Final = 100_000
# Meters of clients, about 2 KB each. From this many on, idle ones are forgotten,
QUOTA_METERS_KEPT: Final = 1_000
# and above this many the one that was unused longest: more than there are connections. A client may use a new id for
# every request, which has a meter of its own where client ids have a default quota.
QUOTA_METERS_MAX: Final = 20_000
# Clients whose throttled time is shown by name; that of others is added up.
THROTTLED_CLIENTS_SHOWN: Final = 100

# --- topics --------------------------------------------------------------------------------------------------------
# 255 is the longest file name, Kafka keeps 6 for the partition suffix.
TOPIC_NAME_LENGTH_MAX: Final = 249
# Metadata of all topics is held in memory, about 1 KB each.
TOPICS_MAX: Final = 100_000
# An open log costs about 10 KB.
PARTITIONS_MAX: Final = 200_000
# Configs of one resource in a request: there are some forty, and a request for more has names twice, or names of none.
CONFIGS_OF_RESOURCE_MAX: Final = 1_000
# One request may not create more than this at once.
PARTITIONS_PER_TOPIC_MAX: Final = 100_000

# --- rows that a client makes by merely speaking ---------------------------------------------------------------------
# As long as the name of a topic. Client ids have no limit in Kafka, but there no row in a store either.
CLIENT_ID_BYTES_MAX: Final = 249
# Push clients that publish with sequences: a row of meta.db each, about 300 bytes, for a week after their last message.
PUSH_PRODUCERS_MAX: Final = 100_000
# Transactional ids are held in memory, about 1 KB each, for a week after their last use (KIP-98 has no limit).
TRANSACTIONAL_IDS_MAX: Final = 200_000
# Four times the longest that frameworks make (Flink joins names of operators), and far below the 32 KB of the protocol.
TRANSACTIONAL_ID_BYTES_MAX: Final = 1_024
# Groups with configs of their own: rows that stay until they are deleted.
CONFIGURED_GROUPS_MAX: Final = 10_000

# --- groups --------------------------------------------------------------------------------------------------------
# Kafka has no limit by default; the leader gets the metadata of all members in one frame.
GROUP_MEMBERS_MAX: Final = 10_000
# As long as a transactional id: the id is in the key of each offset, in each line of metrics, and in the log.
GROUP_ID_BYTES_MAX: Final = 1_024
# Metadata of one member over all protocols that it offers, and its assignment: with Kafka the record of a whole group
# has to fit into max.message.bytes of the offsets topic, which is so much.
GROUP_MEMBER_BYTES_MAX: Final = 1 * MIB
# The same over all members of all groups, in memory for as long as their sessions: 128,000 members of common size.
GROUP_METADATA_BYTES_MAX: Final = 128 * MIB
# Texts that clients commit with offsets (Kafka's offset metadata), of all groups: a million of common length.
OFFSET_TEXT_BYTES_MAX: Final = 64 * MIB
# Topics of a group that are remembered, about 100 bytes each, and names of topics that are read to find them. Beyond
# that the group counts as one that may read every topic.
GROUP_TOPICS_MAX: Final = 20_000
GROUP_TOPIC_NAMES_READ_MAX: Final = 1_000_000

# --- records -------------------------------------------------------------------------------------------------------
# The limit of a client's batch decompressed to look at its records. A batch of max.message.bytes
# (1 MiB) that packs sixty-fourfold fits; a bomb is refused at this size, after a fifth of a second of another process
# and before it takes that process much memory.
DECOMPRESSED_BYTES_MAX: Final = 64 * MIB
# The same for what is stored already: it may have been accepted under a higher setting, and has to stay readable.
STORED_DECOMPRESSED_BYTES_MAX: Final = 256 * MIB
# Records that one answer to Produce calls bad by name. Kafka names all; tens of thousands would hold up other clients.
RECORD_ERRORS_MAX: Final = 1_000
# Idempotent producers that one log remembers, about 700 bytes each. Kafka has no limit but a day; a client that uses a
# new id for every batch would take gigabytes in a minute.
PRODUCERS_PER_LOG_MAX: Final = 50_000
# Batches that wait until their records have been looked at. Above it clients are asked to try again.
UNCHECKED_BYTES_MAX: Final = 128 * MIB
# The time that a request with such batches may take, if its client allows as much: the largest take some seconds, and
# clients wait 30 s by default.
UNCHECKED_MS_MAX: Final = 60_000
# Of a batch that unpacks to more than this, bad records are not named, which takes three times as long as to find one,
NAMED_BYTES_MAX: Final = 8 * MIB
# and records and headers are checked up to this many, which take a second and a half. With two to nine bytes each,
# DECOMPRESSED_BYTES_MAX has room for so many that others would wait for half a minute.
CHECKED_STEPS_MAX: Final = 1_000_000

# --- push ----------------------------------------------------------------------------------------------------------
# Properties of a published message: each becomes an object or two, and may be a single byte of the frame.
PUBLISH_PROPERTIES_MAX: Final = 1_000
# The same for a message that is pushed, which may come from a Kafka client: 10 ms. One with more is not pushed.
PUSHED_PROPERTIES_MAX: Final = 10_000
# Ranges of an ACK, which are gone through on the event loop; clients have a few, and may send another frame.
ACK_RANGES_MAX: Final = 1_000

# --- client telemetry ----------------------------------------------------------------------------------------------
# Kafka's telemetry.max.bytes: clients learn it and send no more, after compression.
TELEMETRY_BYTES_MAX: Final = 1 * MIB
# The limit of an unpacked push, as a multiple of that: metrics compress well, a bomb much better.
TELEMETRY_UNPACKED_FACTOR: Final = 4
# Metrics and points that one push may hold. The largest clients (a thousand partitions) have some 6,000.
TELEMETRY_POINTS_MAX: Final = 20_000
# Kafka's cache of client instances: as many as there may be connections.
TELEMETRY_CLIENTS_MAX: Final = 16_384
# A client has one instance, whatever the number of its connections; a proxy may have those of several on one.
TELEMETRY_CLIENTS_PER_CONNECTION_MAX: Final = 16
# Its id, and the name and version of its software, which may have 32 KB each, are cut to the length of a topic's name.
TELEMETRY_TEXT_LENGTH_MAX: Final = 249
# Lines on the metrics page, of one client and in all: 50,000 are 10 MB a scrape and about 30 MB of memory.
TELEMETRY_SERIES_PER_CLIENT_MAX: Final = 2_000
TELEMETRY_SERIES_MAX: Final = 50_000
# All of them are matched against every client that asks for its subscription.
CLIENT_METRICS_SUBSCRIPTIONS_MAX: Final = 1_000
