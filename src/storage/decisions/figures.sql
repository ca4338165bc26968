-- Figures of a client's decisions for operators. Ids are ordered by time: each statement reads the
-- newest :limit of them, at most. Row comparisons bound both ends in the index.

-- name: measure_decisions
with recent as materialized (
  select purpose, decided_by, duration_ms
  from decision
  where (client_id, decision_id) >= (:clientId, :after::uuid)
    and (client_id, decision_id) <= (:clientId, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
  order by client_id desc, decision_id desc
  limit :limit
)
select count(*)::integer as "decisions",
  percentile_cont(0.5) within group (order by duration_ms)::double precision as "p50Ms",
  percentile_cont(0.99) within group (order by duration_ms)::double precision as "p99Ms"
from recent
where purpose = 'authorize' and decided_by is not null;

-- name: count_deciders
with recent as materialized (
  select purpose, decided_by
  from decision
  where (client_id, decision_id) >= (:clientId, :after::uuid)
    and (client_id, decision_id) <= (:clientId, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
  order by client_id desc, decision_id desc
  limit :limit
)
select decided_by as "decidedBy", count(*)::integer as "decisions"
from recent
where purpose = 'authorize' and decided_by is not null
group by decided_by
order by count(*) desc, decided_by;

-- name: list_failed_decisions
with recent as materialized (
  select decision_id, public_token, authorization_id, purpose, decided_by, error, status_code,
    duration_ms, asked_at, endpoint_product_id, endpoint_version
  from decision
  where (client_id, decision_id) >= (:clientId, :after::uuid)
    and (client_id, decision_id) <= (:clientId, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
  order by client_id desc, decision_id desc
  limit :limit
)
select decision_id as "decisionId", public_token as "publicToken",
  authorization_id as "authorizationId", decided_by as "decidedBy", error,
  status_code as "statusCode", duration_ms as "durationMs", asked_at as "askedAt",
  nullif(endpoint_product_id, 0) as "productId", endpoint_version as "version"
from recent
where purpose = 'authorize' and decided_by <> 'endpoint'
order by decision_id desc
limit :failuresMost;
