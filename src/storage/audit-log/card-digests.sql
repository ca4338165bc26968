-- Digests of the columns of cards, and the state of each card by the entries of the audit log.

-- name: list_card_entries
select public_token as "publicToken", array_agg(sequence order by sequence) as "sequences",
  array_agg(act order by sequence) as "acts"
from (
  select public_token, act, (text::json ->> 'sequence')::integer as sequence
  from audit_entry
  where log = :log and entry_index >= :from::bigint and entry_index < :end::bigint
    and public_token is not null and text is not null
) as entered
where sequence is not null
group by public_token
order by public_token;

-- name: find_card_digests
select public_token as "publicToken", entered_sequence as "enteredSequence",
  changed_at as "changedAt", digests, digested_sequence as "digestedSequence",
  awaited_sequence as "awaitedSequence"
from card_digest
where public_token = any(:publicTokens::text[]);

-- name: list_card_digests
select public_token as "publicToken", entered_sequence as "enteredSequence",
  changed_at as "changedAt", digests, digested_sequence as "digestedSequence",
  awaited_sequence as "awaitedSequence"
from card_digest
where public_token > :after and (:upTo::text is null or public_token <= :upTo)
order by public_token
limit :limit;

-- name: list_awaited_cards
select public_token as "publicToken", entered_sequence as "enteredSequence",
  changed_at as "changedAt", digests, digested_sequence as "digestedSequence",
  awaited_sequence as "awaitedSequence"
from card_digest
where awaited_sequence is not null
order by public_token
limit :limit;

-- Lists of lists are sent as JSON, because unnest would flatten nested arrays.
-- name: write_card_digests
insert into card_digest (public_token, entered_sequence, changed_at, digests, digested_sequence,
  awaited_sequence)
select public_token, entered_sequence,
  array(select value::integer from json_array_elements_text(changed_at::json)),
  array(select decode(value, 'hex') from json_array_elements_text(digests::json)),
  digested_sequence, awaited_sequence
from unnest(:publicTokens::text[], :enteredSequences::integer[], :changes::text[],
  :digests::text[], :digestedSequences::integer[], :awaitedSequences::integer[])
  as given (public_token, entered_sequence, changed_at, digests, digested_sequence,
    awaited_sequence)
on conflict (public_token) do update
set entered_sequence = excluded.entered_sequence, changed_at = excluded.changed_at,
  digests = excluded.digests, digested_sequence = excluded.digested_sequence,
  awaited_sequence = excluded.awaited_sequence;

-- name: remove_card_digests
delete from card_digest
where public_token = any(:publicTokens::text[]);

-- A digest of each group of columns whose changes all have an entry, in the order of
-- `cardColumnGroups`. It does not depend on the settings of a session.
-- name: list_digested_cards
select card.public_token as "publicToken", card.last_sequence as "lastSequence",
  array[
    sha256(convert_to(json_build_array(card.client_id, card.product_id, card.masked_pan, card.cvk,
      card.line_token, card.generation, card.replacement_for,
      card.created_at at time zone 'UTC')::text, 'UTF8')),
    sha256(convert_to(json_build_array(card.customer_reference, card.design_id,
      card.renewal_type)::text, 'UTF8')),
    sha256(convert_to(json_build_array(card.card_type, card.start_date, card.expiry_date,
      card.waiting_expiry_date, card.plastic_number, card.last_plastic_number,
      card.is_plastic_inactive)::text, 'UTF8')),
    sha256(convert_to(json_build_array(card.status_code, card.status_before_expiry,
      card.retired_at at time zone 'UTC')::text, 'UTF8')),
    sha256(convert_to(json_build_array(encode(card.pin_block, 'hex'), card.pvv, card.pin_version,
      card.carried_pin_version, card.pin_source_token)::text, 'UTF8')),
    sha256(convert_to(json_build_array(card.pin_key)::text, 'UTF8')),
    sha256(convert_to(
      json_build_array(pin.try_limit, pin.epoch, pin.is_withdrawn)::text, 'UTF8')),
    sha256(convert_to(
      json_build_array(cvv.try_limit, cvv.epoch, cvv.is_withdrawn)::text, 'UTF8')),
    sha256(convert_to(json_build_array(own.controls, card.controls_version)::text, 'UTF8'))
  ] as "digests"
from card
left join try_counter as pin on pin.public_token = card.public_token and pin.kind = 'pin'
left join try_counter as cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
left join card_controls as own
  on own.public_token = card.public_token and own.version = card.controls_version
where card.public_token > :after
order by card.public_token
limit :limit;
