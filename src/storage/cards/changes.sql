-- Changes of many cards, and the PIN envelopes that cards have had. Where a list is joined to its
-- table, it is materialized and joined row by row, so that no plan reads more than its rows.

-- name: find_pin_envelope
select jti_hash as "jtiHash"
from pin_envelope
where public_token = :publicToken and jti_hash = :jtiHash;

-- name: expire_cards
with due as materialized (
  select public_token, status_code
  from card
  where status_code in ('00', '02', '62') and expiry_date < (select :today::date)
  order by expiry_date
  limit :limit
), expired as (
  update card
  set status_code = '54', last_sequence = last_sequence + 1
  from due
  where card.public_token = any(array[due.public_token])
    and card.status_code between due.status_code and due.status_code
    and :today::date - card.expiry_date > 0
  returning card.public_token, last_sequence, client_id, due.status_code
)
insert into event (public_token, sequence, client_id, type, details)
select public_token, last_sequence, client_id, 'card.status_changed',
  json_build_object('from', status_code, 'to', '54')
from expired
returning public_token as "publicToken";

-- name: prune_pin_envelopes
with expired as materialized (
  select public_token, jti_hash
  from pin_envelope
  where expires_at < (select :expiredBefore::timestamptz)
  order by expires_at
  limit :limit
)
delete from pin_envelope
using expired
where pin_envelope.public_token = any(array[expired.public_token])
  and pin_envelope.jti_hash between expired.jti_hash and expired.jti_hash
  and :expiredBefore::timestamptz - expires_at > interval '0'
returning pin_envelope.public_token as "publicToken";
