-- The end of an authorization. The rules are in database/functions/authorizations.

-- name: settle_authorization
select settled.remaining, settled.answer, settled.is_own as "isOwn",
  settled.is_reversed as "isReversed", settled.limit_code as "limitCode",
  settled.is_flagged as "isFlagged", settled.approved_amount::double precision as "approvedAmount",
  settled.reserved::text as "reserved"
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
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => :claimantId,
  p_key_hash => :claimKey,
  p_claim_id => :claimId,
  p_answer => :answer,
  p_foreseen_tries => :foreseenTries,
  p_event_type => :eventType,
  p_details => :details,
  p_network_transaction_id => :networkTransactionId,
  p_held_amount => :heldAmount,
  p_held_currency_code => :heldCurrencyCode,
  p_hold_expires_at => :holdExpiresAt,
  p_is_increment => :isIncrement,
  p_raised_payment_id => :raisedPaymentId,
  p_is_new_total => :isNewTotal,
  p_now => :now,
  p_spending => :spending::text::jsonb,
  p_decision => :decision::text::jsonb
) as settled;

-- name: settle_authorization_several
select done.ordinal, done.remaining, done.answer, done.is_own as "isOwn",
  done.is_reversed as "isReversed", done.limit_code as "limitCode", done.is_flagged as "isFlagged",
  null::double precision as "approvedAmount", null::text as "reserved"
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
  p_network_ids => :networkIds,
  p_request_ids => :requestIds,
  p_references => :references,
  p_entry_modes => :entryModes,
  p_claimant_ids => :claimantIds,
  p_claim_keys => :claimKeys,
  p_claim_ids => :claimIds,
  p_answers => :answers,
  p_foreseen_tries => :foreseenTries,
  p_event_types => :eventTypes,
  p_details => :details,
  p_network_transaction_ids => :networkTransactionIds,
  p_held_amounts => :heldAmounts,
  p_held_currency_codes => :heldCurrencyCodes,
  p_hold_expires_ats => :holdExpiresAts,
  p_is_increments => :isIncrements,
  p_raised_payment_ids => :raisedPaymentIds,
  p_is_new_totals => :isNewTotals,
  p_nows => :nows,
  p_spendings => :spendings,
  p_decisions => :decisions
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
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => null,
  p_key_hash => null,
  p_claim_id => null,
  p_answer => null,
  p_foreseen_tries => null,
  p_event_type => null,
  p_details => null,
  p_network_transaction_id => null,
  p_held_amount => null,
  p_held_currency_code => null,
  p_hold_expires_at => null,
  p_is_increment => false,
  p_raised_payment_id => null,
  p_is_new_total => false,
  p_now => null,
  p_spending => null,
  p_decision => null
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
  p_billing_amount => :billingAmount,
  p_billing_currency_code => :billingCurrencyCode,
  p_cashback_amount => :cashbackAmount,
  p_merchant => :merchant::text::jsonb,
  p_network_transaction_id => :networkTransactionId
) as spent;

-- name: answer_authorization
select answered.is_answered as "isAnswered", answered.is_reversed as "isReversed",
  answered.is_guessing as "isGuessing", answered.limit_code as "limitCode", answered.is_flagged as "isFlagged",
  answered.approved_amount::double precision as "approvedAmount",
  answered.reserved::text as "reserved"
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
  p_billing_amount => :billingAmount,
  p_billing_currency_code => :billingCurrencyCode,
  p_cashback_amount => :cashbackAmount,
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
  p_window => :windowLength,
  p_event_type => :eventType,
  p_details => :details,
  p_held_amount => :heldAmount,
  p_held_currency_code => :heldCurrencyCode,
  p_hold_expires_at => :holdExpiresAt,
  p_is_increment => :isIncrement,
  p_raised_payment_id => :raisedPaymentId,
  p_is_new_total => :isNewTotal,
  p_now => :now,
  p_spending => :spending::text::jsonb,
  p_decision => :decision::text::jsonb
) as answered;

-- name: answer_authorization_several
select done.ordinal, done.is_answered as "isAnswered", done.is_reversed as "isReversed",
  done.is_guessing as "isGuessing", done.limit_code as "limitCode", done.is_flagged as "isFlagged",
  null::double precision as "approvedAmount", null::text as "reserved"
from answer_authorization_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_authorization_ids => :authorizationIds,
  p_network_ids => :networkIds,
  p_request_ids => :requestIds,
  p_references => :references,
  p_entry_modes => :entryModes,
  p_transaction_types => :transactionTypes,
  p_amounts => :amounts,
  p_currency_codes => :currencyCodes,
  p_billing_amounts => :billingAmounts,
  p_billing_currency_codes => :billingCurrencyCodes,
  p_cashback_amounts => :cashbackAmounts,
  p_merchants => :merchants,
  p_network_transaction_ids => :networkTransactionIds,
  p_response_codes => :responseCodes,
  p_checks => :checks,
  p_duration_ms => :durationMs,
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_answers => :answers,
  p_transaction_hashes => :transactionHashes,
  p_message_class => :messageClass,
  p_traces => :traces,
  p_transmitted_ats => :transmittedAts,
  p_acquirers => :acquirers,
  p_mistakes => :mistakes,
  p_windows => :windowLengths,
  p_event_types => :eventTypes,
  p_details => :details,
  p_held_amounts => :heldAmounts,
  p_held_currency_codes => :heldCurrencyCodes,
  p_hold_expires_ats => :holdExpiresAts,
  p_is_increments => :isIncrements,
  p_raised_payment_ids => :raisedPaymentIds,
  p_is_new_totals => :isNewTotals,
  p_nows => :nows,
  p_spendings => :spendings,
  p_decisions => :decisions
) as done;

-- A request about an unknown card has no authorization row.
-- name: answer_unknown_card
select case
    when begin_network_transaction(
      :networkId, string_to_array(:transactionHashes, ',')::bytea[], :messageClass, :trace,
      :transmittedAt, :acquirer, null
    )
    then claim_idempotency_key(
      :claimantId, string_to_array(:keyHashes, ',')::bytea[], :requestFingerprint, :claimId,
      :answer
    )
    else false
  end as "isAnswered";
