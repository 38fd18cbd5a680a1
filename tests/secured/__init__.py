"""One node with every door protected: nobody gets in without a right, whatever is tried, at each door.

Which test shows what, of input that must not get in. Each ends with Kafka's code, 401 or a closed connection, one line
in the log, and not before the failure delay. Files are those of this folder unless another one is named.

    wrong password, unknown user, empty user or password,
    NUL in PLAIN, another's authorization id                  test_bad_logins: test_passwords_of_…_clients
    SCRAM: changed nonce, repeated messages, channel binding  test_bad_logins: test_last_, test_first_messages_of_scram
    SCRAM: iterations 1 and 10⁹                               test_bad_logins (of users); unit/client/test_login (asked
                                                              for by a broker)
    requests before and between the steps of a login          test_bad_logins; every API and frame: tests/sasl,
                                                              tests/push_login, test_refusals
    another principal at the second login                     test_bad_logins: test_another_user_of_…
    certificates: expired, revoked, of another authority,
    self-signed; none                                         test_bad_certificates: test_certificates_that_are_refused
    certificates with `,` and `+` in the name                 test_bad_certificates: test_names_that_look_like_…
    TLS 1.0; weak ciphers                                     test_bad_certificates; unit/net/test_tls
    renegotiation                                             tests/tls/test_clients: test_a_client_may_not_begin_…
    plain text on a port with TLS, and the reverse            test_bad_certificates: test_plain_text_…, test_tls_on_…
    a policy file cut in half                                 tests/acls/test_policy_file
    key files that all can read                               test_bad_certificates, at the start and later
    `Host: evil`, foreign `Origin`                            tests/doors/test_web_pages; with a cookie:
                                                              tests/web_login/test_sessions

What remembers a decision forgets it at the next request after a change:

    repeat path of produce, encoded metadata, fetch sessions,
    parked fetches, push members and publishers, pulls, HTTP  tests/acls/test_revocation
    sessions of browsers, tokens, passwords over HTTP         tests/web_login: test_sessions, test_tokens, test_changes
    checked passwords of PLAIN                                test_bad_logins: test_a_password_that_was_right_…
    logins under way                                          test_disconnect: test_a_login_that_began_before_a_change_…
    decisions of an authorizer of another package             tests/conformance/test_authorizers

And what a change leaves: after `kill -9` test_survival (users, rules, tokens); certificates while the node runs
test_bad_certificates; open connections test_disconnect.
"""
