-- Jobs that renew the cards of a client together.

-- name: insert_job
insert into renewal_job (
  job_id, client_id, product_id, expiring_before, is_dry_run, request_id, requested_at
)
values (
  :jobId, :clientId, :productId, :expiringBefore, :isDryRun, :requestId, :requestedAt
);

-- name: find_job
select job_id::text as "jobId", product_id as "productId", expiring_before as "expiringBefore",
  is_dry_run as "isDryRun", state, requested_at as "requestedAt", finished_at as "finishedAt"
from renewal_job
where job_id = :jobId and client_id = :clientId;

-- name: count_outcomes
select outcome, count(*)::integer as "count"
from renewal_job_card
where job_id = :jobId
group by outcome
order by outcome;

-- name: list_jobs_to_do
select job_id::text as "jobId", client_id as "clientId", product_id as "productId",
  expiring_before as "expiringBefore", is_dry_run as "isDryRun", request_id as "requestId", state,
  coalesce(listed_valid_until, '0001-01-01') as "listedValidUntil",
  coalesce(listed_status_code, '') as "listedStatusCode",
  to_char(coalesce(listed_created_at, '0001-01-01') at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "listedCreatedAt",
  coalesce(listed_token, '') as "listedToken"
from renewal_job
where state <> 'Done'
order by requested_at, job_id
limit :limit;

-- The columns are those of card_by_client_expiry, so that a page is one walk of it.
-- name: list_cards_of_job
select public_token as "publicToken", product_id as "productId", valid_until as "validUntil",
  status_code as "statusCode",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"
from card
where client_id = :clientId and status_code not in ('41', '43', '46', '54', '83')
  and valid_until < :expiringBefore
  and (valid_until, status_code, created_at, public_token) > (
    :afterValidUntil::date, :afterStatusCode::text, :afterCreatedAt::timestamptz, :afterToken::text
  )
order by valid_until, status_code, created_at, public_token
limit :limit;

-- name: insert_job_cards
insert into renewal_job_card (public_token, job_id)
select listed.public_token, :jobId
from unnest(:publicTokens::text[]) as listed (public_token)
on conflict (public_token, job_id) do nothing;

-- name: move_job
update renewal_job
set listed_valid_until = :afterValidUntil, listed_status_code = :afterStatusCode,
  listed_created_at = :afterCreatedAt::timestamptz, listed_token = :afterToken
where job_id = :jobId;

-- name: begin_work
update renewal_job
set state = 'Working'
where job_id = :jobId and state = 'Listing';

-- name: list_job_cards
select public_token as "publicToken"
from renewal_job_card
where job_id = :jobId and outcome is null
order by public_token
limit :limit;

-- name: set_outcome
update renewal_job_card
set outcome = :outcome
where public_token = :publicToken and job_id = :jobId and outcome is null;

-- name: finish_job
update renewal_job
set state = 'Done', finished_at = :now
where job_id = :jobId and state = 'Working';

-- The job that finished first, of those that finished before a time.
-- name: find_old_job
select job_id::text as "jobId"
from renewal_job
where finished_at < :finishedBefore
order by finished_at
limit 1;

-- name: list_cards_of_old_job
select public_token as "publicToken"
from renewal_job_card
where job_id = :jobId
limit :limit;

-- name: delete_job_cards
delete from renewal_job_card
where public_token = any(:publicTokens::text[]) and job_id = :jobId;

-- name: delete_job
delete from renewal_job
where job_id = :jobId;
