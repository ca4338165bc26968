/** What one code of failure means, wherever it is thrown. */
export interface ProblemKind {
  /** The HTTP status it is answered with. */
  readonly status: number
  /** One sentence for people, the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string
  /** What happened and what to do about it: the text of the page `/problems/{code}`. */
  readonly explanation: string
  /** How long a caller should wait where the occurrence does not say. */
  readonly retryAfterSeconds?: number
}

/** Every failure that a caller can meet. What is not in this table is an `internal_error`. */
export const problemKinds = {
  malformed_request: {
    status: 400,
    title: 'The request could not be read.',
    explanation:
      'The body is not valid JSON (or names a member twice), or a header or query parameter has ' +
      'a value that cannot be understood. An Api-Version that does not exist is answered so, ' +
      'too. Nothing was done. Correct the request and send it again.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid access token is needed.',
    explanation:
      'The Authorization header is missing, or its token is unknown, expired, meant for another ' +
      'service, bound to a certificate that this connection does not have, or belongs to a ' +
      'client that is disabled. Ask the token endpoint for a new token and send it as ' +
      '"Authorization: Bearer <token>".',
  },
  login_too_old: {
    status: 401,
    title: 'Sign in again to do this.',
    explanation:
      'Whoever approves something must have signed in within the last five minutes: the ' +
      'auth_time of the token is older. Have the issuer authenticate you again (max_age, RFC ' +
      '9470), and send the same request with the new token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The access token does not allow this.',
    explanation:
      'The token is valid but lacks the scope that the detail names. Ask the token endpoint for ' +
      'a token with that scope. If your client does not have it, ask the operator of the service.',
  },
  same_person: {
    status: 403,
    title: 'Another person has to approve this.',
    explanation:
      'The requester cannot approve their own request, from whatever session, device or role: ' +
      'issuer and subject of the token say who that is. Where a client asked, the people who ' +
      'registered it, gave it its credentials or approved these cannot approve it either, and a ' +
      'first administrator, whose holder no record names, cannot ask. Ask another person who has ' +
      'the scope approve.',
  },
  erasure_refused: {
    status: 403,
    title: 'These entries are not erased at your request.',
    explanation:
      'What operators, card networks and administrators did stays on record, and so does what a ' +
      'client did that you or your approver registered or gave its credentials. Entries about a ' +
      'card that disclosed data to you, your approver, the people behind either, or a client ' +
      'that one of these controls, are erased at the request of other administrators. The detail ' +
      'says which of these it is.',
  },
  not_requester: {
    status: 403,
    title: 'Only whoever asked for it can do this.',
    explanation:
      'An approval is withdrawn, and in an emergency let pass, by whoever asked for it and by ' +
      'nobody else. Another person approves or refuses it.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here.',
    explanation:
      'No resource has this address, or it does not belong to your client: the two are answered ' +
      'alike. Check the path, and the identifier in it.',
  },
  card_not_found: {
    status: 404,
    title: 'No such card.',
    explanation:
      'No card of your client has this publicToken. A card of another client is answered exactly ' +
      'like one that does not exist. Check the token, and which client the access token ' +
      'belongs to.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This method is not allowed here.',
    explanation:
      'The address exists, but not for this method. The Allow header of the answer lists the ' +
      'methods that it takes.',
  },
  card_closed: {
    status: 409,
    title: 'The card is closed for good.',
    explanation:
      'The card is lost, stolen, closed, expired or destroyed. Its PIN and CVV can no longer be ' +
      'set, read, blocked or unblocked, and its data is no longer given out. Its statuses can ' +
      'still be read. Create a new card instead.',
  },
  card_status_conflict: {
    status: 409,
    title: 'The card cannot move to this status.',
    explanation:
      'A card moves only along the allowed paths, and never out of a final status. The detail ' +
      'names the statuses that this card may take. Expired (54) cannot be set: it begins by ' +
      'itself after the expiry date. Read the status of the card again before you retry.',
  },
  pin_not_revealable: {
    status: 409,
    title: 'The PIN of this card cannot be shown.',
    explanation:
      'The product of this card keeps only a check value of the PIN, from which nobody can ' +
      'compute the PIN. If the cardholder has forgotten it, set a new one.',
  },
  key_in_use: {
    status: 409,
    title: 'The key is still needed, or not yet ready.',
    explanation:
      'The version of the key is not in a state that allows this: something is still encrypted ' +
      'under it, it has no successor, or not every process knows it yet. The detail says which. ' +
      'List the keys to see how far a rotation has come, and try again when it is done.',
  },
  audit_log_continues: {
    status: 409,
    title: 'The audit log goes on.',
    explanation:
      'A successor takes the place of an audit log that must not be signed any more, because the ' +
      'database is not what was signed: it was restored from a backup, or lags behind. Nothing ' +
      'is known against this log. Nothing was done.',
  },
  approval_over: {
    status: 409,
    title: 'This has been decided already.',
    explanation:
      'It was approved, refused or withdrawn before, or it was asked for more than 24 hours ago. ' +
      'The detail says which. Read the approval to see what became of it. To have it done all ' +
      'the same, ask for it again.',
  },
  approval_stale: {
    status: 409,
    title: 'What this was drawn from is not so any more.',
    explanation:
      'The key, client or log has changed since this was asked for, so that what would be ' +
      'approved is not what whoever asked for it looked at. It has ended. Look at how things are ' +
      'now, and ask for it again.',
  },
  payload_hash_mismatch: {
    status: 409,
    title: 'The hash is not that of this payload.',
    explanation:
      'An approval is of one exact payload, named by its SHA-256. The one that was given is ' +
      'another: it may be that of another approval. Nothing was approved. Read the approval ' +
      'again, look at its payload, and send its payloadHash.',
  },
  idempotency_key_in_use: {
    status: 409,
    title: 'A request with this Idempotency-Key is still running.',
    explanation:
      'The first request with this key has not been answered yet. Wait a moment, then repeat the ' +
      'same request with the same key: you will get the answer of the first one.',
    retryAfterSeconds: 1,
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large.',
    explanation:
      'The body of the request is larger than the service reads. The detail names the limit. No ' +
      'request of this interface needs that much.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be JSON.',
    explanation:
      'The Content-Type of the request is not one that this address takes. Send the body as JSON ' +
      'in UTF-8 with "Content-Type: application/json".',
  },
  misdirected_request: {
    status: 421,
    title: 'This service is not called by that name.',
    explanation:
      'The Host header names a machine that this service does not answer for. A sandbox answers ' +
      'to its loopback addresses, to the hosts of BASE_URL and PRIVATE_BASE_URL and to the names ' +
      'in HOST_NAMES, so that a web page elsewhere cannot reach it under a name of its own. Call ' +
      'it by the URL that it printed when it started, or add the name to HOST_NAMES.',
  },
  validation_failed: {
    status: 422,
    title: 'The request has members that are not valid.',
    explanation:
      'The request was read, but some of it breaks the rules of this operation. The errors list ' +
      'names every problem at once, each with a JSON Pointer to the member and what is wrong ' +
      'with it. Nothing was changed. Correct all of them and send the request again.',
  },
  product_not_available: {
    status: 422,
    title: 'This card product is not available.',
    explanation:
      'No active product with this productId is granted to your client. List the products, and ' +
      'choose one of them.',
  },
  weak_pin: {
    status: 422,
    title: 'The PIN is too easy to guess.',
    explanation:
      'The PIN is among those that a thief tries first: one digit repeated, a series, a repeated ' +
      'group, a palindrome, a year, the date of birth, the expiry date of the card, or digits ' +
      'printed on it. The PIN was not changed. Ask the cardholder for another one.',
  },
  invalid_session_key: {
    status: 422,
    title: 'The session key is not valid.',
    explanation:
      'The key could not be used. No more is said, because more would help an attacker. Check ' +
      'that it is 32 random bytes, enciphered with RSA-OAEP (SHA-256, MGF1 with SHA-256, empty ' +
      'label) under the current wrap key, in base64 on one line: with padding, and without line ' +
      'breaks or spaces, which tools such as openssl base64 put in unless -A is given.',
  },
  invalid_encrypted_pin: {
    status: 422,
    title: 'The encrypted PIN is not valid.',
    explanation:
      'The envelope of the PIN could not be used. No more is said, because more would help an ' +
      'attacker. Check the key and the header of the JWE, that it names this card, that the ' +
      'clock of the device is right, that the envelope was not sent before, and that it is five ' +
      'parts of base64url on one line, without padding, line breaks or spaces. Then make a new ' +
      'one.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'This Idempotency-Key belongs to another request.',
    explanation:
      'The key was first sent with another method, path or body. Nothing was done. Use a new key ' +
      'for each new request, and the same key only to repeat the same request.',
  },
  key_refused: {
    status: 422,
    title: 'The key is not taken.',
    explanation:
      'A key or component breaks a rule for keys: it is weak, short or of wrong parity, has ' +
      'another check value, is for another use, would be protected by a weaker key, or its key ' +
      'block is not whole. The detail says which. Nothing was kept. Check the key with whoever ' +
      'sent it.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
    explanation:
      'A limit of your client, your address or this card is used up, or too many of your calls ' +
      'are being worked on. Wait for as many seconds as the Retry-After header says, then try ' +
      'again. The RateLimit headers say how much is left.',
    retryAfterSeconds: 1,
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong in the service.',
    explanation:
      'The fault is on our side and is on record under the requestId of the answer. Repeat the ' +
      'request with the same Idempotency-Key. If it keeps failing, give the operator the ' +
      'requestId.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer right now.',
    explanation:
      'Something that the service depends on, such as its database or its security module, is ' +
      'away or still starting, or the service is so busy that the request was not begun. Wait ' +
      'for as many seconds as the Retry-After header says, then repeat the request with the same ' +
      'Idempotency-Key.',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>
