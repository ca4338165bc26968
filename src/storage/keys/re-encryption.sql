-- Re-encryptions of all data under the newest version of a key. A process holds one until 15
-- seconds after its last step.

-- name: list_re_encryptions
select key_name as "keyName", key_version as "keyVersion", column_name as "columnName", position,
  round, round_started_at as "roundStartedAt", examined::float8 as "examined",
  re_encrypted::float8 as "reEncrypted", remaining_in_round::float8 as "leftInRound",
  started_at as "startedAt", finished_at as "finishedAt"
from re_encryption
where (key_name, key_version) > (:keyName, :keyVersion)
order by key_name, key_version
limit :limit;

-- name: start_re_encryption
insert into re_encryption (key_name, key_version)
values (:keyName, :keyVersion)
on conflict (key_name, key_version) do nothing;

-- name: claim_re_encryption
update re_encryption
set holder = :holder, leased_until = now() + make_interval(secs => 15)
where key_name = :keyName and key_version = :keyVersion and finished_at is null
  and round_started_at <= now() and (holder = :holder or leased_until < now())
returning key_name as "keyName", key_version as "keyVersion", column_name as "columnName",
  position, round, round_started_at as "roundStartedAt", examined::float8 as "examined",
  re_encrypted::float8 as "reEncrypted", remaining_in_round::float8 as "leftInRound",
  started_at as "startedAt", finished_at as "finishedAt";

-- name: record_re_encryption_step
update re_encryption
set column_name = :columnName, position = :position, examined = examined + :examined,
  re_encrypted = re_encrypted + :reEncrypted, remaining_in_round = remaining_in_round + :left,
  leased_until = now() + make_interval(secs => 15)
where key_name = :keyName and key_version = :keyVersion and holder = :holder
  and finished_at is null
returning key_name as "keyName", key_version as "keyVersion", column_name as "columnName",
  position, round, round_started_at as "roundStartedAt", examined::float8 as "examined",
  re_encrypted::float8 as "reEncrypted", remaining_in_round::float8 as "leftInRound",
  started_at as "startedAt", finished_at as "finishedAt";

-- name: begin_re_encryption_round
update re_encryption
set column_name = '', position = '', round = round + 1, remaining_in_round = 0,
  holder = null, leased_until = '-infinity',
  round_started_at = greatest(now(), (
    select activated_at
    from hsm_key
    where key_name = :keyName and key_version = :keyVersion
  ) + make_interval(secs => :settleSeconds))
where key_name = :keyName and key_version = :keyVersion and holder = :holder
  and finished_at is null;

-- name: finish_re_encryption
update re_encryption
set finished_at = now(), holder = null
where key_name = :keyName and key_version = :keyVersion and holder = :holder
  and finished_at is null and remaining_in_round = 0 and round_started_at >= (
    select activated_at
    from hsm_key
    where key_name = :keyName and key_version = :keyVersion
  ) + make_interval(secs => :settleSeconds)
returning key_name as "keyName";
