-- The start of an authorization. The rule is in database/functions/authorizations.

-- name: begin_authorization
select begun.outcome, begun.public_token as "publicToken", begun.client_id as "clientId",
  begun.encrypted_pan as "encryptedPan", begun.status_code as "statusCode",
  begun.expiry_date as "expiryDate", begun.pin_block as "pinBlock", begun.pvv,
  begun.pin_key as "pinKey", begun.cvk, begun.pin_length as "pinLength",
  begun.card_currency_code as "currencyCode",
  begun.pin_limit as "pinLimit", begun.pin_remaining as "pinRemaining",
  begun.cvv_limit as "cvvLimit", begun.cvv_remaining as "cvvRemaining",
  begun.try_number as "tryNumber", begun.epoch, begun.remaining, begun.controls::text as "controls",
  begun.product_id as "productId", begun.last_four as "lastFour",
  begun.customer_reference as "customerReference",
  begun.has_decision_endpoint as "hasDecisionEndpoint", begun.product_chip::text as "productChip",
  begun.valid_until as "validUntil", begun.waiting_expiry_date as "waitingExpiryDate",
  begun.plastic_number as "plasticNumber", begun.last_plastic_number as "lastPlasticNumber",
  begun.is_plastic_inactive as "isPlasticInactive"
from begin_authorization(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_kind => :kind,
  p_current_month => :currentMonth,
  p_expiry_month => :expiryMonth,
  p_zone_key_name => :zoneKeyName,
  p_zone_key_block => :zoneKeyBlock,
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
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_transaction_hashes => string_to_array(:transactionHashes, ',')::bytea[],
  p_message_class => :messageClass,
  p_trace => :trace,
  p_transmitted_at => :transmittedAt,
  p_acquirer => :acquirer,
  p_chip => :chip::text::jsonb,
  p_missing_data => string_to_array(:missingData, ','),
  p_is_plastic_used => :isPlasticUsed
) as begun;

-- name: begin_authorization_several
select done.ordinal, done.outcome, done.public_token as "publicToken",
  done.client_id as "clientId", done.encrypted_pan as "encryptedPan",
  done.status_code as "statusCode", done.expiry_date as "expiryDate",
  done.pin_block as "pinBlock", done.pvv, done.pin_key as "pinKey", done.cvk,
  done.pin_length as "pinLength", done.card_currency_code as "currencyCode",
  done.pin_limit as "pinLimit",
  done.pin_remaining as "pinRemaining", done.cvv_limit as "cvvLimit",
  done.cvv_remaining as "cvvRemaining", done.try_number as "tryNumber", done.epoch,
  done.remaining, done.controls::text as "controls", done.product_id as "productId",
  done.last_four as "lastFour", done.customer_reference as "customerReference",
  done.has_decision_endpoint as "hasDecisionEndpoint",
  done.product_chip::text as "productChip", done.valid_until as "validUntil",
  done.waiting_expiry_date as "waitingExpiryDate", done.plastic_number as "plasticNumber",
  done.last_plastic_number as "lastPlasticNumber", done.is_plastic_inactive as "isPlasticInactive"
from begin_authorization_several(
  p_public_tokens => :publicTokens,
  p_pan_fingerprints => :panFingerprints,
  p_kinds => :kinds,
  p_current_months => :currentMonths,
  p_expiry_months => :expiryMonths,
  p_zone_key_names => :zoneKeyNames,
  p_zone_key_blocks => :zoneKeyBlocks,
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
  p_claimant_ids => :claimantIds,
  p_key_hashes => :keyHashes,
  p_request_fingerprints => :requestFingerprints,
  p_claim_ids => :claimIds,
  p_transaction_hashes => :transactionHashes,
  p_message_class => :messageClass,
  p_traces => :traces,
  p_transmitted_ats => :transmittedAts,
  p_acquirers => :acquirers,
  p_chips => :chips,
  p_missing_data => :missingDatas,
  p_are_plastics_used => :isPlasticUseds
) as done;

-- name: find_card_reference
select card.public_token as "publicToken", card.client_id as "clientId",
  card.encrypted_pan as "encryptedPan"
from card
where card.public_token = :publicToken;

-- name: find_card_reference_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken",
  found.client_id as "clientId", found.encrypted_pan as "encryptedPan"
from unnest(:publicTokens::text[]) with ordinality as asked (public_token, ordinal)
cross join lateral (
  select card.public_token, card.client_id, card.encrypted_pan
  from card
  where card.public_token = any(array[asked.public_token])
  limit 1
) as found;

-- The list tells a cluster which node has the row before the statement runs.
-- name: find_token_by_pan
select known.public_token as "publicToken"
from pan_fingerprint as known
where known.pan_fingerprint = any(string_to_array(:panFingerprints, ',')::bytea[])
limit 1;

-- name: find_token_by_pan_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken"
from unnest(:panFingerprints::text[]) with ordinality as asked (pan_fingerprints, ordinal)
cross join lateral (
  select known.public_token
  from pan_fingerprint as known
  where known.pan_fingerprint = any(string_to_array(asked.pan_fingerprints, ',')::bytea[])
  limit 1
) as found;
