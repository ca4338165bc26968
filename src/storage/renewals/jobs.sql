-- Jobs that renew the cards of a client together.

-- name: lock_client_for_jobs
select client_id as "clientId"
from client
where client_id = :clientId
for no key update;

-- The order is that of the index, so that no plan reads the jobs of other clients.
-- name: count_undone_jobs
select count(*)::integer as "count"
from (
  select client_id
  from renewal_job
  where (client_id) >= (:clientId::text) and (client_id) <= (:clientId::text)
    and state <> 'Done'
  order by client_id
  limit :limit
) as undone;

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
  -- The place before the first card, in descending order, without a card.
  coalesce(listed_card_type, '~') as "listedCardType",
  coalesce(
    to_char(listed_created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'infinity'
  ) as "listedCreatedAt",
  coalesce(listed_token, '') as "listedToken"
from renewal_job
where state <> 'Done'
order by requested_at, job_id
limit :limit;

-- One step of a walk over all cards of the product, and whether each is due. The order has no
-- column that an act of a card changes, except that a conversion makes a virtual card physical: it
-- then comes later. So no card that is due all the time is missed. The limit is a number, because
-- the planner would assume a tenth of all cards for a parameter, and sort them.
-- name: list_cards_of_job
select public_token as "publicToken", card_type as "cardType",
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt",
  status_code not in ('41', '43', '46', '54', '83') and valid_until >= :today::date
    and valid_until < :expiringBefore::date as "isDue"
from card
where (product_id, client_id, card_type, created_at, public_token) < (
    :productId, :clientId, :afterCardType::text, :afterCreatedAt::timestamptz, :afterToken::text
  )
  and (product_id, client_id) >= (:productId, :clientId)
order by product_id desc, client_id desc, card_type desc, created_at desc, public_token desc
limit 500;

-- name: insert_job_cards
insert into renewal_job_card (public_token, job_id)
select listed.public_token, :jobId
from unnest(:publicTokens::text[]) as listed (public_token)
on conflict (public_token, job_id) do nothing;

-- Moves a job on from the place where its step began. It does nothing if another process was
-- faster.
-- name: move_job
update renewal_job
set listed_card_type = :cardType, listed_created_at = :createdAt::timestamptz,
  listed_token = :publicToken
where job_id = :jobId and state = 'Listing'
  and coalesce(listed_card_type, '~') = :afterCardType
  and coalesce(listed_token, '') = :afterToken
returning true as "isDone";

-- name: begin_work
update renewal_job
set state = 'Working'
where job_id = :jobId and state = 'Listing';

-- All columns of the index are in its order, so that no plan reads and sorts all cards of a job.
-- name: list_job_cards
select public_token as "publicToken"
from renewal_job_card
where job_id = :jobId and outcome is null
order by job_id, outcome, public_token
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
order by job_id, outcome, public_token
limit :limit;

-- name: delete_job_cards
delete from renewal_job_card
where public_token = any(:publicTokens::text[]) and job_id = :jobId;

-- name: delete_job
delete from renewal_job
where job_id = :jobId;
