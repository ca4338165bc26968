-- People who have signed in to the console.

-- name: upsert_person
insert into person (person_id, issuer, subject, display_name, roles)
values (:personId, :issuer, :subject, :name, :roles)
on conflict (person_id) do update
set display_name = excluded.display_name, roles = excluded.roles,
  last_signed_in_at = clock_timestamp();

-- name: find_person
select person_id as "personId", issuer, subject, display_name as "name", roles,
  first_signed_in_at as "firstSignedInAt", last_signed_in_at as "lastSignedInAt",
  (
    select count(*)::int
    from console_session
    where console_session.person_id = person.person_id
      and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
      and started_at > clock_timestamp() - interval '8 hours'
  ) as "openSessions"
from person
where person_id = :personId;

-- name: list_people
select person_id as "personId", issuer, subject, display_name as "name", roles,
  first_signed_in_at as "firstSignedInAt", last_signed_in_at as "lastSignedInAt",
  (
    select count(*)::int
    from console_session
    where console_session.person_id = person.person_id
      and ended_at is null and seen_at > clock_timestamp() - interval '15 minutes'
      and started_at > clock_timestamp() - interval '8 hours'
  ) as "openSessions"
from person
where person_id > :after
order by person_id
limit :limit;
