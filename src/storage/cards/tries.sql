-- The tries of a card, in the form of the reads in cards.sql.

-- name: find_tries
select try_counter.try_limit as "limit", try_counter.spent as "spent",
  try_counter.restored as "restored", try_counter.blocked_by_client as "blockedByClient"
from (
  select *
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
cross join lateral (
  select *
  from try_counter
  where public_token = any(array[:publicToken]) and kind = :kind
  limit 1
) as try_counter
where card.client_id = :clientId;

-- name: find_tries_several
select asked.ordinal::integer as "ordinal", found.*
from unnest(:publicTokens::text[], :kinds::text[], :clientIds::text[])
  with ordinality as asked (public_token, kind, client_id, ordinal)
cross join lateral (
  select try_counter.try_limit as "limit", try_counter.spent as "spent",
    try_counter.restored as "restored", try_counter.blocked_by_client as "blockedByClient"
  from (
    select *
    from card
    where public_token = any(array[asked.public_token])
    limit 1
  ) as card
  cross join lateral (
    select *
    from try_counter
    where public_token = any(array[asked.public_token]) and kind = asked.kind
    limit 1
  ) as try_counter
  where card.client_id = asked.client_id
  limit 1
) as found;
