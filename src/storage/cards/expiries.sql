-- Reads the first rows of the index of open cards by expiry, within a month.
-- name: count_cards_expiring
select count(*)::integer as "cards"
from (
  select valid_until
  from card
  where valid_until >= :from::date and valid_until <= :until::date
    and status_code not in ('41', '43', '46', '54', '83')
  order by valid_until
  limit :limit
) as expiring;
