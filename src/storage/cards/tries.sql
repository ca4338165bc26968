-- Attempts on cards, and blocks that a lost process did not record.

-- Through the primary key, so that no try writes to an index for the sake of this list. Two tries
-- at once may have their times in the other order: then the later number stands where the earlier
-- time does, and none is left out. A scan is of the longest page, and of one more that shows
-- whether there is a next one.
-- name: list_attempts
select attempted_at as "at", kind, result, remaining_tries as "remainingTries",
  entry_mode as "entryMode", reference, try_number as "tryNumber"
from lateral (
  select client_id
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
cross join (
  select *, min(attempted_at) over (order by try_number desc) as listed_at
  from (
    select kind, try_number, attempted_at, result, remaining_tries, entry_mode, reference
    from attempt
    where public_token = any(array[:publicToken])
      and (public_token, kind, try_number) < (:publicToken, 'pin', :pin::integer)
      and (public_token, kind) >= (:publicToken, 'pin')
    order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc
    limit 101
  ) as scanned
  union all
  select *, min(attempted_at) over (order by try_number desc) as listed_at
  from (
    select kind, try_number, attempted_at, result, remaining_tries, entry_mode, reference
    from attempt
    where public_token = any(array[:publicToken])
      and (public_token, kind, try_number) < (:publicToken, 'cvv', :cvv::integer)
      and (public_token, kind) >= (:publicToken, 'cvv')
    order by attempt.public_token desc, attempt.kind desc, attempt.try_number desc
    limit 101
  ) as scanned
) as attempt
where card.client_id = :clientId
order by listed_at desc, kind desc, try_number desc
limit :limit;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_attempts
with old as materialized (
  select public_token, kind, try_number
  from attempt
  where ((attempted_at at time zone 'UTC')::date)
      < (select (now() at time zone 'UTC')::date - :days::integer)
  order by ((attempted_at at time zone 'UTC')::date)
  limit :limit
)
delete from attempt
using old
where attempt.public_token = any(array[old.public_token])
  and attempt.kind between old.kind and old.kind
  and attempt.try_number between old.try_number and old.try_number
  and now() - attempted_at > make_interval(days => :days)
  and (
    select attempt_to_enter.try_number
    from attempt_to_enter
    where attempt_to_enter.public_token = attempt.public_token
      and attempt_to_enter.kind = attempt.kind
      and attempt_to_enter.try_number = attempt.try_number
  ) is null
returning attempt.try_number;

-- A try that is older than 30 seconds was lost with its process: it matches no more.
-- name: list_unreported_blocks
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
)
select public_token as "publicToken", kind
from try_counter
cross join clock
where is_unreported_block
  and (:publicToken::text is null or (public_token, kind) > (:publicToken, :kind))
  and not at - 30000000 < any(open_since)
order by public_token, kind
limit :limit;

-- Another process may have recorded it by now, or an unblock undone it: it is looked at again under
-- its lock. Locks are taken in the order of card, counter.
-- name: report_lost_block
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), locked as materialized (
  select epoch, try_limit, spent, restored, block_reported, outstanding_tries, open_since
  from try_counter
  join card using (public_token)
  where try_counter.public_token = any(array[:publicToken]) and kind = :kind
    and card.public_token = any(array[:publicToken])
  limit 1
  for no key update of card, try_counter
), due as materialized (
  select 1 as one
  from locked
  cross join clock
  where spent - restored = try_limit and not block_reported
    and not at - 30000000 < any(open_since)
), reported as (
  update try_counter
  set block_reported = true
  from due
  where public_token = :publicToken and kind = :kind
  returning kind
), numbered as (
  update card
  set last_sequence = last_sequence + 1
  from reported
  where public_token = :publicToken
  returning public_token, last_sequence, client_id, kind
)
insert into event (public_token, sequence, client_id, type, details)
select public_token, last_sequence, client_id, kind || '.blocked',
  json_build_object('blockedBy', 'tries')
from numbered;
