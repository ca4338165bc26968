-- How an authorization ends. The rules are in database/functions/authorizations.

-- name: settle_authorization
select settled.remaining, settled.answer, settled.is_own as "isOwn"
from settle_authorization(
  p_public_token => :publicToken,
  p_authorization_id => :authorizationId,
  p_kind => :kind,
  p_try_number => :tryNumber,
  p_epoch => :epoch,
  p_comparison => :comparison,
  p_response_code => :responseCode,
  p_checks => :checks,
  p_duration_ms => :durationMs,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => :claimantId,
  p_key_hash => :claimKey,
  p_claim_id => :claimId,
  p_answer => :answer,
  p_foreseen_tries => :foreseenTries
) as settled;

-- The same for several callers, as one statement over all of them: for those whose try has matched
-- and is the only one that is outstanding. It waits for no card: a caller whose counter is locked,
-- whose try did not match, or whose key has an answer already, is left out and calls the function
-- alone.
-- name: settle_authorization_several
with asked as materialized (
  select *
  from unnest(
    :publicTokens::text[], :authorizationIds::uuid[], :kinds::text[], :tryNumbers::integer[],
    :epochs::integer[], :comparisons::text[], :responseCodes::text[], :checks::text[],
    :durationMs::integer[], :requestIds::text[], :references::text[], :entryModes::text[],
    :claimantIds::text[], :claimKeys::bytea[], :claimIds::uuid[], :answers::bytea[],
    :foreseenTries::integer[]
  ) with ordinality as caller (
    public_token, authorization_id, kind, try_number, epoch, comparison, response_code, checks,
    duration_ms, request_id, reference, entry_mode, claimant_id, key_hash, claim_id, answer,
    foreseen_tries, ordinal
  )
),
matched as materialized (
  select asked.*, counter.remaining
  from asked
  cross join lateral (
    select counter.try_limit - (counter.spent - counter.restored) + 1 as remaining
    from try_counter as counter
    where counter.public_token = asked.public_token and counter.kind = asked.kind
      and counter.epoch = asked.epoch and not counter.block_reported
      and counter.outstanding_tries = array[asked.try_number]
    for no key update skip locked
  ) as counter
  where asked.comparison = 'match'
),
-- The answer is stored where as many tries remain as it says.
settled as materialized (
  select matched.*, key.is_free and matched.remaining = matched.foreseen_tries as is_stored
  from matched
  left join lateral (
    select true as is_free
    from idempotency_record as record
    where record.client_id = matched.claimant_id and record.key_hash = matched.key_hash
      and record.claim_id = matched.claim_id and record.answer is null
    for no key update
  ) as key on true
  where matched.key_hash is null or key.is_free
),
restored as (
  update try_counter as counter
  set restored = counter.restored + 1,
    outstanding_tries = '{}',
    open_since = '{}'
  from settled
  where counter.public_token = any (array[settled.public_token])
    and counter.kind = settled.kind
),
stored as (
  update idempotency_record as record
  set answer = settled.answer
  from settled
  where settled.is_stored and record.client_id = any (array[settled.claimant_id])
    and record.key_hash = settled.key_hash
),
recorded as (
  update authorization_request as request
  set result = 'match',
    restored = true,
    remaining_tries = settled.remaining,
    response_code = settled.response_code,
    checks = settled.checks,
    duration_ms = settled.duration_ms,
    decided_at = case when settled.response_code is not null then clock_timestamp() end
  from settled
  where request.public_token = any (array[settled.public_token])
    and request.authorization_id = settled.authorization_id
)
select settled.ordinal::integer as "ordinal", settled.remaining,
  case when settled.is_stored then settled.answer end as answer, settled.is_stored as "isOwn"
from settled;

-- The PIN has matched, and its authorization goes on: the CVV2's try opens the row that is
-- answered.
-- name: settle_match_and_spend
select settled.remaining as "left", spent.try_number as "tryNumber", spent.epoch, spent.remaining
from settle_authorization(
  p_public_token => :publicToken,
  p_authorization_id => :authorizationId,
  p_kind => :kind,
  p_try_number => :tryNumber,
  p_epoch => :epoch,
  p_comparison => 'match',
  p_response_code => null,
  p_checks => null,
  p_duration_ms => null,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => null,
  p_key_hash => null,
  p_claim_id => null,
  p_answer => null,
  p_foreseen_tries => null
) as settled
cross join spend_try(
  p_public_token => :publicToken,
  p_kind => :nextKind,
  p_authorization_id => :nextAuthorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode
) as spent;

-- name: answer_authorization
select answered.is_answered as "isAnswered", answered.is_guessing as "isGuessing"
from answer_authorization(
  p_public_token => :publicToken,
  p_authorization_id => :authorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_response_code => :responseCode,
  p_checks => :checks,
  p_duration_ms => :durationMs,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer,
  p_transaction_hashes => string_to_array(:transactionHashes, ',')::bytea[],
  p_message_class => :messageClass,
  p_trace => :trace,
  p_transmitted_at => :transmittedAt,
  p_acquirer => :acquirer,
  p_mistakes => :mistakes,
  p_window => :windowLength
) as answered;

-- A key is that of one card: in this order two shared calls wait for each other's keys and wrong
-- expiries, and never both.
-- name: answer_authorization_several
select asked.ordinal::integer as "ordinal", answered.is_answered as "isAnswered",
  answered.is_guessing as "isGuessing"
from (
  select *
  from unnest(
    :publicTokens::text[], :authorizationIds::uuid[], :networkIds::text[], :requestIds::text[],
    :references::text[], :entryModes::text[], :responseCodes::text[], :checks::text[],
    :durationMs::integer[], :claimantIds::text[], :keyHashes::text[],
    :requestFingerprints::bytea[], :claimIds::uuid[], :answers::bytea[],
    :transactionHashes::text[], :messageClass::text[], :traces::text[], :transmittedAts::text[],
    :acquirers::text[], :mistakes::integer[], :windowLengths::bigint[]
  ) with ordinality as caller (
    public_token, authorization_id, network_id, request_id, reference, entry_mode, response_code,
    checks, duration_ms, claimant_id, key_hashes, request_fingerprint, claim_id, answer,
    transaction_hashes, message_class, trace, transmitted_at, acquirer, mistakes, window_length,
    ordinal
  )
  order by public_token, key_hashes
) as asked
cross join lateral answer_authorization(
  p_public_token => asked.public_token,
  p_authorization_id => asked.authorization_id,
  p_network_id => asked.network_id,
  p_request_id => asked.request_id,
  p_reference => asked.reference,
  p_entry_mode => asked.entry_mode,
  p_response_code => asked.response_code,
  p_checks => asked.checks,
  p_duration_ms => asked.duration_ms,
  p_claimant_id => asked.claimant_id,
  p_key_hashes => string_to_array(asked.key_hashes, ',')::bytea[],
  p_request_fingerprint => asked.request_fingerprint,
  p_claim_id => asked.claim_id,
  p_answer => asked.answer,
  p_transaction_hashes => string_to_array(asked.transaction_hashes, ',')::bytea[],
  p_message_class => asked.message_class,
  p_trace => asked.trace,
  p_transmitted_at => asked.transmitted_at,
  p_acquirer => asked.acquirer,
  p_mistakes => asked.mistakes,
  p_window => asked.window_length
) as answered;

-- What is about no card leaves no row of an authorization.
-- name: answer_unknown_card
select case
    when begin_network_transaction(
      :networkId, string_to_array(:transactionHashes, ',')::bytea[], :messageClass, :trace,
      :transmittedAt, :acquirer
    )
    then claim_idempotency_key(
      :claimantId, string_to_array(:keyHashes, ',')::bytea[], :requestFingerprint, :claimId,
      :answer
    )
    else false
  end as "isAnswered";
