-- Disclosures of cards: their rule is in database/functions/disclosures/record-disclosure.sql.
-- Those who share it are taken in the order of their clients, so that two shared disclosures never
-- wait for each other's limits.

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
select asked.ordinal::integer as "ordinal", done.encrypted_pan as "encryptedPan",
  done.expiry_date as "expiryDate", done.pin_block as "pinBlock", done.pin_key as "pinKey",
  done.cvk as "cvk"
from (
  select *
  from unnest(
    :publicTokens::text[], :clientIds::text[], :todays::date[], :includesPins::boolean[],
    :cardLimitNames::text[], :cardUses::integer[], :cardWindowSeconds::integer[],
    :clientLimitNames::text[], :clientUses::integer[], :clientWindowSeconds::integer[],
    :eventIds::uuid[], :eventTypes::text[], :requestIds::text[], :details::text[],
    :notes::bytea[]
  ) with ordinality as caller (
    public_token, client_id, today, includes_pin, card_limit_name, card_uses,
    card_window_seconds, client_limit_name, client_uses, client_window_seconds, event_id,
    event_type, request_id, details, note, ordinal
  )
  order by client_id
) as asked
cross join lateral record_disclosure(
  p_public_token => asked.public_token,
  p_client_id => asked.client_id,
  p_today => asked.today,
  p_includes_pin => asked.includes_pin,
  p_card_limit_name => asked.card_limit_name,
  p_card_uses => asked.card_uses,
  p_card_window_seconds => asked.card_window_seconds,
  p_client_limit_name => asked.client_limit_name,
  p_client_uses => asked.client_uses,
  p_client_window_seconds => asked.client_window_seconds,
  p_event_id => asked.event_id,
  p_event_type => asked.event_type,
  p_request_id => asked.request_id,
  p_details => asked.details,
  p_note => asked.note,
  p_skip_locked => true
) as done;
