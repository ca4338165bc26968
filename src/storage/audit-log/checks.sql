-- The check of rows against the entries of the audit log: its progress, and digests of the rows.

-- name: find_audit_check
select followed_log as "followedLog", followed_index::float8 as "followedIndex",
  has_baseline as "hasBaseline", started_at as "startedAt", finished_at as "finishedAt",
  after_token as "afterToken", cards::float8 as "cards", findings::float8 as "findings",
  kept_fold as "keptFold", new_fold as "newFold", digested_act as "digestedAct",
  digested_fold as "digestedFold", acts_number::float8 as "actsNumber", rows_fold as "rowsFold",
  state_signature as "signature"
from audit_check;

-- name: lock_audit_check
select followed_log as "followedLog", followed_index::float8 as "followedIndex",
  has_baseline as "hasBaseline", started_at as "startedAt", finished_at as "finishedAt",
  after_token as "afterToken", cards::float8 as "cards", findings::float8 as "findings",
  kept_fold as "keptFold", new_fold as "newFold", digested_act as "digestedAct",
  digested_fold as "digestedFold", acts_number::float8 as "actsNumber", rows_fold as "rowsFold",
  state_signature as "signature", clock_timestamp() as "now"
from audit_check
for update skip locked;

-- name: write_audit_check
update audit_check
set followed_log = :followedLog, followed_index = :followedIndex::bigint,
  has_baseline = :hasBaseline, started_at = :startedAt, finished_at = :finishedAt,
  after_token = :afterToken, cards = :cards::bigint, findings = :findings::bigint,
  kept_fold = :keptFold, new_fold = :newFold, digested_act = :digestedAct::uuid,
  digested_fold = :digestedFold, acts_number = :actsNumber::bigint, rows_fold = :rowsFold,
  state_signature = :signature;

-- name: find_newest_check_result
select act_id as "actId", number::float8 as "number", details, acted_at as "at", exists (
    select 1
    from audit_act
    where act = 'check.digested' and details like '%"rowsDigest"%'
  ) as "isStateSigned"
from audit_act
where act = 'check.digested'
order by number desc
limit 1;

-- Rows whose changes are all numbered acts. A digest covers every column whose changes all have an
-- entry, and does not depend on the settings of a session.

-- name: list_digested_rows_of_client
select client_id as "rowKey", client_id as "subject",
  sha256(convert_to(json_build_array(client_name, kind, scopes, encode(secret_hash, 'hex'),
    encode(previous_secret_hash, 'hex'), previous_secret_until at time zone 'UTC', jwks,
    certificate_bound_tokens, credentials_version, active, created_at at time zone 'UTC'
  )::text, 'UTF8')) as "digest"
from client
where client_id > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_client_product
select client_id || ' ' || product_id as "rowKey", client_id as "subject",
  sha256(convert_to(json_build_array(client_id, product_id)::text, 'UTF8')) as "digest"
from client_product
where client_id || ' ' || product_id > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_product
select product_id::text as "rowKey", product_id::text as "subject",
  sha256(convert_to(json_build_array(product_name, scheme_name, bin, currency_code, card_types,
    validity_months, pin_length, pin_revealable, refuse_weak_pins, pin_try_limit, cvv_try_limit,
    cvk, pvk, active, controls, controls_version, chip, renewal_type, renewal_earliest_days,
    renewal_lead_days, renewal_grace_months
  )::text, 'UTF8')) as "digest"
from product
where product_id::text > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_hsm_key
select key_name || '/' || key_version as "rowKey", key_name || '/' || key_version as "subject",
  sha256(convert_to(json_build_array(state, key_check_value, created_at at time zone 'UTC'
  )::text, 'UTF8')) as "digest"
from hsm_key
where key_name || '/' || key_version > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_zone_key
select client_id || '/' || key_name as "rowKey", client_id || '/' || key_name as "subject",
  sha256(convert_to(json_build_array(algorithm, pin_block_formats, key_check_value,
    created_at at time zone 'UTC', retired_at at time zone 'UTC'
  )::text, 'UTF8')) as "digest"
from zone_key
where client_id || '/' || key_name > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_zone_master_key
select key_name as "rowKey", key_name as "subject",
  sha256(convert_to(json_build_array(key_check_value, created_at at time zone 'UTC',
    retired_at at time zone 'UTC'
  )::text, 'UTF8')) as "digest"
from zone_master_key
where key_name > :after
order by 1
limit :limit;

-- name: list_digested_rows_of_link
select link_name as "rowKey", network_id as "subject",
  sha256(convert_to(json_build_array(network_id, direction, host, port, profile, tls, certificates,
    peers, zone_master_key, active
  )::text, 'UTF8')) as "digest"
from link
where link_name > :after
order by 1
limit :limit;

-- name: list_row_digests
select row_key as "rowKey", digest as "kept"
from row_digest
where kind = :table and row_key > :after and (:upTo::text is null or row_key <= :upTo)
order by row_key;

-- name: write_row_digests
insert into row_digest (kind, row_key, digest)
select :table, row_key, digest
from unnest(:rowKeys::text[], :digests::bytea[]) as given (row_key, digest)
on conflict (kind, row_key) do update
set digest = excluded.digest;

-- name: remove_row_digests
delete from row_digest
where kind = :table and row_key = any(:rowKeys::text[]);

-- name: remove_card_digests_of_all
delete from card_digest;

-- name: remove_row_digests_of_all
delete from row_digest;

-- By their bytes, whatever the collation of the database is.
-- name: fold_row_digests
select sha256(coalesce(string_agg(
    sha256(convert_to(json_build_array(kind, row_key, encode(digest, 'hex'))::text, 'UTF8')),
    ''::bytea order by kind collate "C", row_key collate "C"
  ), ''::bytea)) as "fold"
from row_digest;

-- name: find_newest_act_number
select coalesce(max(number), 0)::float8 as "number"
from audit_act;

-- name: list_act_subjects
select distinct subject_kind as "subjectKind", subject
from audit_act
where number > :after::bigint;

-- During a re-encryption, a card gets another key without an event.
-- name: has_recent_re_encryption
select exists (
  select 1
  from re_encryption
  where finished_at is null or finished_at > clock_timestamp() - interval '3 days'
) as "isThere";

-- name: has_event_unpublished_since
select exists (
  select 1
  from event
  where not published and occurred_at <= :at::timestamptz
) as "isThere";

-- name: has_event_unentered_since
select exists (
  select 1
  from feed_head
  left join audit_feed on audit_feed.client_id = feed_head.client_id
  join published_event on published_event.client_id = feed_head.client_id
    and published_event.position > coalesce(audit_feed.position, 0)
  where last_position > coalesce(audit_feed.position, 0)
    and published_event.occurred_at <= :at::timestamptz
) as "isThere";

-- name: list_act_number_gaps
select after::float8 as "after", number::float8 as "number"
from (
  select number, lag(number, 1, 0::bigint) over (order by number) as after
  from audit_act
) as numbered
where number <> after + 1
order by 1
limit :limit;

-- name: list_recent_findings
select subject, details, acted_at as "at"
from audit_act
where subject_kind <> 'key'
  and acted_at > clock_timestamp() - make_interval(days => :days)
  and act = 'check.found'
order by acted_at desc, number desc
limit :limit;
