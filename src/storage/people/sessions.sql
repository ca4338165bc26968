-- Sessions of the console. An open session has not ended, was used within 15 minutes and began
-- within 8 hours. Its person is looked up session by session, whatever sizes the planner expects.

-- name: insert_console_session
insert into console_session (secret_hash, sign_in_hash, person_id, roles, authenticated_at)
values (:secretHash, :signInHash, :personId, :roles, :authenticatedAt)
on conflict (sign_in_hash) do nothing
returning session_id::text as "sessionId";

-- name: find_console_session
select session_id::text as "sessionId", console_session.person_id as "personId", issuer, subject,
  display_name as "name", console_session.roles, authenticated_at as "authenticatedAt",
  started_at as "startedAt", seen_at as "seenAt", notice,
  seen_at < clock_timestamp() - interval '20 seconds' as "isToBeSeen"
from console_session
cross join lateral (
  select issuer, subject, display_name
  from person
  where person.person_id = console_session.person_id
  limit 1
) as person
where secret_hash = :secretHash
  and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours';

-- name: see_console_session
update console_session
set seen_at = clock_timestamp()
where secret_hash = :secretHash
  and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours';

-- A session that is over by time keeps a notice for the next sign-in of its person.
-- name: keep_console_notice
update console_session
set notice = :notice
where secret_hash = :secretHash and ended_at is null;

-- name: find_console_notice
select notice
from console_session
where secret_hash = :secretHash and person_id = :personId and ended_at is null;

-- name: take_console_notice
update console_session
set notice = null
where secret_hash = :secretHash and notice = :notice
returning 1 as "one";

-- name: list_console_sessions
select session_id::text as "sessionId", console_session.person_id as "personId", issuer, subject,
  display_name as "name", console_session.roles, authenticated_at as "authenticatedAt",
  started_at as "startedAt", seen_at as "seenAt", notice,
  seen_at < clock_timestamp() - interval '20 seconds' as "isToBeSeen"
from console_session
cross join lateral (
  select issuer, subject, display_name
  from person
  where person.person_id = console_session.person_id
  limit 1
) as person
where console_session.person_id = :personId
  and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours'
limit 100;

-- name: end_console_session
update console_session
set ended_at = clock_timestamp()
where secret_hash = :secretHash
  and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours'
returning person_id as "personId";

-- name: end_console_sessions
update console_session
set ended_at = clock_timestamp()
where person_id = :personId
  and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
  and started_at > clock_timestamp() - interval '8 hours'
returning session_id;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_console_sessions
with over as materialized (
  select secret_hash
  from console_session
  where started_at < (select clock_timestamp() - interval '1 day')
  order by started_at
  limit :limit
)
delete from console_session
using over
where console_session.secret_hash = any(array[over.secret_hash])
returning 1 as "one";
