-- Attempts on cards, and blocks that a lost process did not record.

-- Each kind is read separately through the index by try. Concurrent tries may have their times in
-- the other order: the page then has the later number at the earlier time, and omits none. A scan
-- reads the longest page, and one more row that shows whether there is a next page.
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

-- A try that is older than 30 seconds was lost with its process: it can no longer match.
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

-- name: report_lost_block
select report_lost_block(p_public_token => :publicToken, p_kind => :kind) as "isReported";
