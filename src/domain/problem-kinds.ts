import { cardLifeConflicts } from './card-life-problems.ts'

/** The meaning of a failure code, wherever it is thrown. */
export interface ProblemKind {
  /** The HTTP status of the answer. */
  readonly status: number
  /** One sentence for people, identical for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string
  /** The problem and the remedy: the text of the page `/problems/{code}`. */
  readonly explanation: string
  /** How long a caller should wait if the occurrence does not state it. */
  readonly retryAfterSeconds?: number
}

/** The failures that callers can receive. Any other failure is an `internal_error`. */
export const problemKinds = {
  malformed_request: {
    status: 400,
    title: 'The request could not be read.',
    explanation:
      'The body is not valid JSON, has a member twice, or a header or query parameter has an ' +
      'unreadable value. An unknown Api-Version returns this error, too. The detail names the ' +
      'line and column of a JSON fault. Nothing was done. Correct the request and send it again.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid access token is needed.',
    explanation:
      'The Authorization header is missing, or its token is not valid. A token can be unknown, ' +
      'expired, or issued for another service. It can be bound to the certificate of another ' +
      'connection, or belong to a disabled client. The detail names the reason if the request ' +
      'or the token shows it. ' +
      'Request a new token at the token endpoint and send it as "Authorization: Bearer <token>".',
  },
  login_too_old: {
    status: 401,
    title: 'Sign in again to do this.',
    explanation:
      'An approver must have signed in within the last five minutes; the auth_time of the token ' +
      'is older. Authenticate again at the issuer (max_age, RFC 9470), and send the same request ' +
      'with the new token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The access token lacks a scope.',
    explanation:
      'The token is valid but lacks the scope that the detail names. Request a token with that ' +
      'scope. If your client does not have it, ask the operator of the service.',
  },
  same_person: {
    status: 403,
    title: 'Another person has to approve this.',
    explanation:
      'The requester cannot approve their own request, in any session, device or role. Issuer ' +
      'and subject of the token identify the person. If a client made the request, three groups ' +
      'of people cannot approve it: those who registered the client, those who issued its ' +
      'credentials, and those who approved either. A first ' +
      'administrator cannot make the request, because no record names its holder. Ask another ' +
      'person with the scope approve.',
  },
  erasure_refused: {
    status: 403,
    title: 'These entries are not erased at your request.',
    explanation:
      'The detail names the reason. Acts of operators, card networks and administrators stay on ' +
      'record. Acts of a client stay on record for you if you or your approver registered it or ' +
      'issued its credentials. Some cards disclosed data to you, to your approver, to the people ' +
      'behind either, or to a client that one of these controls. Another administrator must ' +
      'request the erasure of entries about such a card.',
  },
  not_requester: {
    status: 403,
    title: 'Only the requester can do this.',
    explanation:
      'Only the requester can withdraw a request, or execute it in an emergency. Another person ' +
      'approves or refuses it.',
  },
  not_found: {
    status: 404,
    title: 'Nothing was found at this address.',
    explanation:
      'No resource of your client has this address. A resource of another client returns the ' +
      'same answer. For an unknown path, the detail names the similar path of this listener. ' +
      'Check the path and the identifier in it.',
  },
  card_not_found: {
    status: 404,
    title: 'Your client has no card with this publicToken.',
    explanation:
      'No card of your client has this publicToken. A card of another client returns the same ' +
      'answer as a card that does not exist. Check the token, and the client of the access ' +
      'token.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This method is not allowed here.',
    explanation:
      'The address exists, but does not support this method. The Allow header lists the ' +
      'supported methods.',
  },
  card_closed: {
    status: 409,
    title: 'The card is closed permanently.',
    explanation:
      'The card is lost, stolen, closed, expired, destroyed, or retired by its successor. Its ' +
      'PIN and CVV can no longer be set, read, blocked or unblocked, and its data is no longer ' +
      'disclosed. Its statuses can still be read. The detail says what to do: replace a lost, ' +
      'stolen or destroyed card, renew an expired one, use the successor of a retired one.',
  },
  ...cardLifeConflicts,
  card_without_chip: {
    status: 409,
    title: 'The card has no chip.',
    explanation:
      'Only a physical card of a product with a chip has one. The operator of the service gives ' +
      'the product its chip.',
  },
  too_many_chip_commands: {
    status: 409,
    title: 'Too many commands wait for the chip.',
    explanation:
      'Commands travel in answers to online transactions of the chip, and 16 of them wait ' +
      'already. Only put_data is refused. Request it again after the chip was online.',
  },
  card_status_conflict: {
    status: 409,
    title: 'The card cannot move to this status.',
    explanation:
      'The status changes only along the allowed paths, and a final status never changes. The ' +
      'detail names the allowed statuses. Expired (54) cannot be set: it begins automatically ' +
      'after the expiry date. Read the status of the card before you retry.',
  },
  controls_version_conflict: {
    status: 409,
    title: 'The controls have another version.',
    explanation:
      'Controls are replaced whole. The version in the request must be the present one, so that ' +
      'the request does not undo the change of another operator. Read the controls, and send the ' +
      'change with their version.',
  },
  decision_version_conflict: {
    status: 409,
    title: 'The decision endpoint has no version that this call needs.',
    explanation:
      'Activation needs a draft, which must not change while it is pinged. A rollback needs a ' +
      'previous version; a second rollback has none. The detail names what is missing. Nothing ' +
      'was changed. Read the endpoint, which shows its versions.',
  },
  pin_not_revealable: {
    status: 409,
    title: 'The PIN of this card cannot be shown.',
    explanation:
      'The product of this card stores only a check value of the PIN, from which the PIN cannot ' +
      'be computed. If the cardholder has forgotten the PIN, set a new one.',
  },
  key_in_use: {
    status: 409,
    title: 'The key is still needed, or not yet ready.',
    explanation:
      'The state of the key version does not allow this: data is still encrypted under it, it ' +
      'has no successor, or a process does not know it yet. The detail names the reason. List ' +
      'the keys to see the progress of a rotation, and retry when it is done.',
  },
  snapshot_unusable: {
    status: 409,
    title: 'The sandbox cannot take or restore this snapshot.',
    explanation:
      'The detail names the reason: keys were deleted or the master key was replaced since the ' +
      'snapshot, another version of the program took it, the limit of snapshots is reached, or ' +
      'the database is a cluster. Nothing was changed. Take another snapshot.',
  },
  virtual_chip_unusable: {
    status: 409,
    title: 'The virtual chip cannot do this.',
    explanation:
      'The detail names the reason: the card has no chip or no virtual chip yet, its issuer has ' +
      'blocked it, its counter is used up, or it waits for no answer. No request was sent. Make ' +
      'a virtual chip, or start a transaction first.',
  },
  audit_log_continues: {
    status: 409,
    title: 'No successor is needed; nothing was done.',
    explanation:
      'A successor replaces an audit log that must not be signed, because the database differs ' +
      'from what was signed: it was restored from a backup, or lags behind. No such fault of ' +
      'this log is known.',
  },
  approval_over: {
    status: 409,
    title: 'This request has been decided or has expired.',
    explanation:
      'The request was approved, refused or withdrawn before, or is older than 24 hours. The ' +
      'detail names the reason. Read the approval to see its outcome, or make a new request.',
  },
  approval_stale: {
    status: 409,
    title: 'The subject of the request has changed.',
    explanation:
      'The key, client or log has changed since the request, so that the requester saw another ' +
      'state. The request has ended. Check the present state and make a new request.',
  },
  payload_hash_mismatch: {
    status: 409,
    title: 'The hash is not that of this payload.',
    explanation:
      'An approval covers one exact payload, named by its SHA-256. The given hash belongs to ' +
      'another payload, perhaps of another approval. Nothing was approved. Read the approval ' +
      'again, check its payload, and send its payloadHash.',
  },
  decision_answered: {
    status: 409,
    title: 'The decision was answered before.',
    explanation:
      'The first answer to a decision counts, by whatever way it came; the detail names it. ' +
      'This answer changed nothing. If the first one says what you decided, an earlier call of ' +
      'yours arrived, and nothing needs to be done.',
  },
  decision_over: {
    status: 409,
    title: 'The answer came too late.',
    explanation:
      'The deadline of the decision has passed, or its fallback decided before. This answer ' +
      'changed nothing. The first late answer is reported as the event decision.late. Read the ' +
      'decision to see what was answered to the card network.',
  },
  idempotency_key_in_use: {
    status: 409,
    title: 'A request with this Idempotency-Key is still running.',
    explanation:
      'The first request with this key is still running. Wait a moment, then repeat the same ' +
      'request with the same key to get the answer of the first one.',
    retryAfterSeconds: 1,
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large.',
    explanation:
      'The body of the request exceeds the limit that the detail names. No request of this ' +
      'interface needs more.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be JSON.',
    explanation:
      'This address does not support the Content-Type or Content-Encoding of the request, which ' +
      'the detail names. Send the body as JSON in ' +
      'UTF-8 with "Content-Type: application/json".',
  },
  misdirected_request: {
    status: 421,
    title: 'The service does not answer to this host name.',
    explanation:
      'The Host header names a host that this service does not answer for. A sandbox answers to ' +
      'its loopback addresses, the hosts of BASE_URL and PRIVATE_BASE_URL, and the names in ' +
      'HOST_NAMES. This prevents web pages from reaching it under another name. Use the URL that ' +
      'the service printed at its start, or add the name to HOST_NAMES.',
  },
  validation_failed: {
    status: 422,
    title: 'The request has members that are not valid.',
    explanation:
      'The request was read, but some members break the rules of this operation. errors lists ' +
      'all of them, each with a JSON Pointer to the member and the fault. An error with the ' +
      'member parameter concerns a query parameter or header. Nothing was changed. Correct all ' +
      'errors and send the request again.',
  },
  product_not_available: {
    status: 422,
    title: 'This card product is not available.',
    explanation:
      'No active product with this productId is granted to your client; errors points to it. ' +
      'List the products and choose one of them.',
  },
  conversion_not_supported: {
    status: 422,
    title: 'The card cannot be converted.',
    explanation:
      'Only a virtual card is converted, and only if its product has physical cards. The detail ' +
      'names the reason. Nothing was done.',
  },
  decision_ping_failed: {
    status: 422,
    title: 'The decision endpoint did not answer the ping correctly.',
    explanation:
      'Before a draft is put in force, a signed ping goes to it. It must be answered in time, ' +
      'with status 200 and a JSON object that repeats the challenge. The detail names what was ' +
      'wrong: the status, the body, the time or the connection. The draft was not put in force. ' +
      'Correct the endpoint and activate it again.',
  },
  weak_pin: {
    status: 422,
    title: 'The PIN is too easy to guess.',
    explanation:
      'The PIN matches a pattern that is easy to guess: one repeated digit, a series, a ' +
      'repeated group, a palindrome, a year, the date of birth, the expiry date of the card, ' +
      'or digits that are printed on it. The PIN was not changed. Ask the cardholder for ' +
      'another one.',
  },
  pin_not_transferable: {
    status: 422,
    title: 'The PIN cannot move to the new card.',
    explanation:
      'A PIN moves only if both products store it in a form that can be revealed, and have PINs ' +
      'of the same length. A product that stores a check value (PVV) has no PIN to move. Leave ' +
      'out movePin: the new card then has a random PIN, and the answer has pinMoved false.',
  },
  invalid_session_key: {
    status: 422,
    title: 'The session key is not valid.',
    explanation:
      'The key could not be used. The answer gives no reason, because a reason would help an ' +
      'attacker. Check that it is 32 random bytes, encrypted with RSA-OAEP (SHA-256, MGF1 with ' +
      'SHA-256, empty label) under the current wrap key, in base64 on one line: with padding, ' +
      'and without line breaks or spaces, which openssl base64 inserts without -A.',
  },
  invalid_encrypted_pin: {
    status: 422,
    title: 'The encrypted PIN is not valid.',
    explanation:
      'The envelope of the PIN could not be used. The answer gives no reason, because a reason ' +
      'would help an attacker. Check the key and the header of the JWE, that it names this card, ' +
      'the clock of the device, that the envelope was not sent before, and that it has five ' +
      'parts of base64url on one line, without padding, line breaks or spaces. Then make a new ' +
      'one.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'This Idempotency-Key belongs to another request.',
    explanation:
      'The key was first sent with another method, path or body. Nothing was done. Use a new key ' +
      'for each new request, and the same key only to repeat a request.',
  },
  key_refused: {
    status: 422,
    title: 'The key was rejected.',
    explanation:
      'A key or component breaks a rule: it is weak, short or of wrong parity, has another check ' +
      'value or use, would be protected by a weaker key, or its key block is damaged. The detail ' +
      'names the reason. Nothing was stored. Check the key with its sender.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    explanation:
      'A limit of your client, your address or this card is reached, or too many of your calls ' +
      'are running. Wait for the seconds in the Retry-After header, then retry. The RateLimit ' +
      'headers state the remaining calls.',
    retryAfterSeconds: 1,
  },
  internal_error: {
    status: 500,
    title: 'The service failed.',
    explanation:
      'The fault is in the service and is logged under the requestId of the answer. Repeat the ' +
      'request with the same Idempotency-Key. If it fails again, give the operator the ' +
      'requestId.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer right now.',
    explanation:
      'A dependency of the service, such as its database or HSM, does not answer or is starting, ' +
      'or the service is too busy to begin the request. Wait for the seconds in the Retry-After ' +
      'header, then repeat the request with the same Idempotency-Key.',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>
