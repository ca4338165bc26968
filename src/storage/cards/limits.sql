-- Uses of limits: a row for each limit of a card, and of a client over all its cards. Instants are
-- whole microseconds, so that all that is reckoned with them is immutable. `forget_on_day` is
-- counted from 1970, in days of 86400000000 microseconds.

-- A use joins the newest instant while that counts and is not full; else it begins another. Of two
-- that race the one that waited may have read the clock first: instants never go back.
-- name: spend_card_limit
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), asked as (
  select :subject::text as public_token
), used as (
  insert into card_limit (public_token, limit_name, last_uses, newest_uses, forget_on_day)
  select asked.public_token, :limitName::text, array[at], 1,
    (at + :windowLength::bigint) / 86400000000 + 1
  from asked
  cross join clock
  where 1 <= :usesEach::integer
  on conflict (public_token, limit_name) do update
  set last_uses = case
      when (card_limit.last_uses[1] is not null
        and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (card_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then greatest(excluded.last_uses[1], card_limit.last_uses[1])
        || card_limit.last_uses[2 : :instants::integer]
      when (card_limit.last_uses[1] is not null
        and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and card_limit.newest_uses < :usesEach::integer
      then array[
          greatest(excluded.last_uses[1], card_limit.last_uses[1]),
          greatest(excluded.last_uses[1], card_limit.last_uses[1])
        ] || card_limit.last_uses[2 : :instants::integer - 1]
      else greatest(excluded.last_uses[1], card_limit.last_uses[1])
        || card_limit.last_uses[1 : :instants::integer - 1] end,
    newest_uses = case
      when (card_limit.last_uses[1] is not null
        and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (card_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then (card_limit.newest_uses + excluded.newest_uses)
      when (card_limit.last_uses[1] is not null
        and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and card_limit.newest_uses < :usesEach::integer
      then (card_limit.newest_uses + excluded.newest_uses) - :usesEach::integer
      else excluded.newest_uses end,
    forget_on_day = greatest(excluded.forget_on_day, card_limit.forget_on_day)
  where case
      when (card_limit.last_uses[1] is not null
        and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (card_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then not (card_limit.last_uses[:instants::integer] is not null
          and card_limit.last_uses[:instants::integer]
            > excluded.last_uses[1] - :windowLength::bigint)
        or (card_limit.newest_uses + excluded.newest_uses) <= :newestMost::integer
      else not (card_limit.last_uses[:instants::integer] is not null
          and card_limit.last_uses[:instants::integer]
            > excluded.last_uses[1] - :windowLength::bigint)
        and (
          not (card_limit.last_uses[:instants::integer - 1] is not null
            and card_limit.last_uses[:instants::integer - 1]
              > excluded.last_uses[1] - :windowLength::bigint)
          or case
            when (card_limit.last_uses[1] is not null
              and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
              and (card_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
            then (card_limit.newest_uses + excluded.newest_uses)
            when (card_limit.last_uses[1] is not null
              and card_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
              and card_limit.newest_uses < :usesEach::integer
            then (card_limit.newest_uses + excluded.newest_uses) - :usesEach::integer
            else excluded.newest_uses end <= :newestMost::integer
        ) end
  returning public_token
)
select public_token
from used;

-- A use joins the newest instant while that counts and is not full; else it begins another. Of two
-- that race the one that waited may have read the clock first: instants never go back.
-- name: spend_client_limit
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), asked as (
  select :subject::text as client_id
), used as (
  insert into client_limit (client_id, limit_name, last_uses, newest_uses, forget_on_day)
  select asked.client_id, :limitName::text, array[at], 1,
    (at + :windowLength::bigint) / 86400000000 + 1
  from asked
  cross join clock
  where 1 <= :usesEach::integer
  on conflict (client_id, limit_name) do update
  set last_uses = case
      when (client_limit.last_uses[1] is not null
        and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (client_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then greatest(excluded.last_uses[1], client_limit.last_uses[1])
        || client_limit.last_uses[2 : :instants::integer]
      when (client_limit.last_uses[1] is not null
        and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and client_limit.newest_uses < :usesEach::integer
      then array[
          greatest(excluded.last_uses[1], client_limit.last_uses[1]),
          greatest(excluded.last_uses[1], client_limit.last_uses[1])
        ] || client_limit.last_uses[2 : :instants::integer - 1]
      else greatest(excluded.last_uses[1], client_limit.last_uses[1])
        || client_limit.last_uses[1 : :instants::integer - 1] end,
    newest_uses = case
      when (client_limit.last_uses[1] is not null
        and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (client_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then (client_limit.newest_uses + excluded.newest_uses)
      when (client_limit.last_uses[1] is not null
        and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and client_limit.newest_uses < :usesEach::integer
      then (client_limit.newest_uses + excluded.newest_uses) - :usesEach::integer
      else excluded.newest_uses end,
    forget_on_day = greatest(excluded.forget_on_day, client_limit.forget_on_day)
  where case
      when (client_limit.last_uses[1] is not null
        and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
        and (client_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
      then not (client_limit.last_uses[:instants::integer] is not null
          and client_limit.last_uses[:instants::integer]
            > excluded.last_uses[1] - :windowLength::bigint)
        or (client_limit.newest_uses + excluded.newest_uses) <= :newestMost::integer
      else not (client_limit.last_uses[:instants::integer] is not null
          and client_limit.last_uses[:instants::integer]
            > excluded.last_uses[1] - :windowLength::bigint)
        and (
          not (client_limit.last_uses[:instants::integer - 1] is not null
            and client_limit.last_uses[:instants::integer - 1]
              > excluded.last_uses[1] - :windowLength::bigint)
          or case
            when (client_limit.last_uses[1] is not null
              and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
              and (client_limit.newest_uses + excluded.newest_uses) <= :usesEach::integer
            then (client_limit.newest_uses + excluded.newest_uses)
            when (client_limit.last_uses[1] is not null
              and client_limit.last_uses[1] > excluded.last_uses[1] - :windowLength::bigint)
              and client_limit.newest_uses < :usesEach::integer
            then (client_limit.newest_uses + excluded.newest_uses) - :usesEach::integer
            else excluded.newest_uses end <= :newestMost::integer
        ) end
  returning client_id
)
select client_id
from used;

-- name: find_used_up_limit
with clock as materialized (
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at
), asked as (
  select *
  from unnest(:kinds::text[], :subjects::text[], :limitNames::text[], :instants::integer[],
    :newestMosts::integer[], :windowLengths::bigint[]) with ordinality
    as asked (kind, subject, limit_name, instants, newest_most, window_length, place)
)
select place::integer as "place", ceil(wait / 1e6)::integer as "seconds"
from (
  select place, last_uses[instants] + window_length - at as wait
  from asked
  join card_limit on card_limit.public_token = asked.subject
    and card_limit.limit_name = asked.limit_name
  cross join clock
  where kind = 'card' and last_uses[instants] > at - window_length
    and newest_uses >= newest_most
  union all
  select place, last_uses[instants] + window_length - at as wait
  from asked
  join client_limit on client_limit.client_id = asked.subject
    and client_limit.limit_name = asked.limit_name
  cross join clock
  where kind = 'client' and last_uses[instants] > at - window_length
    and newest_uses >= newest_most
) as used_up
order by wait desc
limit 1;

-- name: delete_old_card_limits
select delete_old_card_limits(p_limit => :limit) as "count";

-- name: delete_old_client_limits
select delete_old_client_limits(p_limit => :limit) as "count";
