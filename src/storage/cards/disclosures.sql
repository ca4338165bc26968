-- Disclosures of cards. Their rule is in database/functions/disclosures.

-- name: record_disclosure
select encrypted_pan as "encryptedPan", expiry_date as "expiryDate", pin_block as "pinBlock",
  pin_key as "pinKey", cvk as "cvk"
from record_disclosure(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_today => :today,
  p_includes_pin => :includesPin,
  p_card_limit_name => :cardLimitName,
  p_card_uses => :cardUses,
  p_card_window_seconds => :cardWindowSeconds,
  p_client_limit_name => :clientLimitName,
  p_client_uses => :clientUses,
  p_client_window_seconds => :clientWindowSeconds,
  p_event_id => :eventId,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note
);

-- name: record_disclosure_several
select done.ordinal, done.encrypted_pan as "encryptedPan", done.expiry_date as "expiryDate",
  done.pin_block as "pinBlock", done.pin_key as "pinKey", done.cvk
from record_disclosure_several(
  p_public_tokens => :publicTokens,
  p_client_ids => :clientIds,
  p_todays => :todays,
  p_includes_pins => :includesPins,
  p_card_limit_names => :cardLimitNames,
  p_card_uses => :cardUses,
  p_card_window_seconds => :cardWindowSeconds,
  p_client_limit_names => :clientLimitNames,
  p_client_uses => :clientUses,
  p_client_window_seconds => :clientWindowSeconds,
  p_event_ids => :eventIds,
  p_event_types => :eventTypes,
  p_request_ids => :requestIds,
  p_details => :details,
  p_notes => :notes
) as done;
