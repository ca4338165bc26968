-- The end of an authorization. The rules are in database/functions/authorizations.

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

-- name: settle_authorization_several
select done.ordinal, done.remaining, done.answer, done.is_own as "isOwn"
from settle_authorization_several(
  p_public_tokens => :publicTokens,
  p_authorization_ids => :authorizationIds,
  p_kinds => :kinds,
  p_try_numbers => :tryNumbers,
  p_epochs => :epochs,
  p_comparisons => :comparisons,
  p_response_codes => :responseCodes,
  p_checks => :checks,
  p_duration_ms => :durationMs,
  p_request_ids => :requestIds,
  p_references => :references,
  p_entry_modes => :entryModes,
  p_claimant_ids => :claimantIds,
  p_claim_keys => :claimKeys,
  p_claim_ids => :claimIds,
  p_answers => :answers,
  p_foreseen_tries => :foreseenTries
) as done;

-- The PIN has matched, and its authorization continues: the CVV2's try opens the row with the
-- answer.
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
  p_client_id => :clientId,
  p_kind => :nextKind,
  p_authorization_id => :nextAuthorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_transaction_type => :transactionType,
  p_amount => :amount,
  p_currency_code => :currencyCode,
  p_merchant => :merchant::text::jsonb,
  p_network_transaction_id => :networkTransactionId
) as spent;

-- name: answer_authorization
select answered.is_answered as "isAnswered", answered.is_guessing as "isGuessing"
from answer_authorization(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_authorization_id => :authorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_transaction_type => :transactionType,
  p_amount => :amount,
  p_currency_code => :currencyCode,
  p_merchant => :merchant::text::jsonb,
  p_network_transaction_id => :networkTransactionId,
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

-- A key belongs to one card. In this order, two shared calls never deadlock on keys and wrong
-- expiries.
-- name: answer_authorization_several
select asked.ordinal::integer as "ordinal", answered.is_answered as "isAnswered",
  answered.is_guessing as "isGuessing"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :authorizationIds::uuid[], :networkIds::text[],
    :requestIds::text[], :references::text[], :entryModes::text[], :transactionTypes::text[],
    :amounts::bigint[], :currencyCodes::text[], :merchants::text[],
    :networkTransactionIds::text[], :responseCodes::text[], :checks::text[],
    :durationMs::integer[], :claimantIds::text[], :keyHashes::text[],
    :requestFingerprints::bytea[], :claimIds::uuid[], :answers::bytea[],
    :transactionHashes::text[], :messageClass::text[], :traces::text[], :transmittedAts::text[],
    :acquirers::text[], :mistakes::integer[], :windowLengths::bigint[]
  ) with ordinality as caller (
    public_token, client_id, authorization_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, merchant, network_transaction_id, response_code,
    checks, duration_ms, claimant_id, key_hashes, request_fingerprint, claim_id, answer,
    transaction_hashes, message_class, trace, transmitted_at, acquirer, mistakes, window_length,
    ordinal
  )
  order by public_token, key_hashes
) as asked
cross join lateral answer_authorization(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_authorization_id => asked.authorization_id,
  p_network_id => asked.network_id,
  p_request_id => asked.request_id,
  p_reference => asked.reference,
  p_entry_mode => asked.entry_mode,
  p_transaction_type => asked.transaction_type,
  p_amount => asked.amount,
  p_currency_code => asked.currency_code,
  p_merchant => asked.merchant::jsonb,
  p_network_transaction_id => asked.network_transaction_id,
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

-- A request about an unknown card has no authorization row.
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
