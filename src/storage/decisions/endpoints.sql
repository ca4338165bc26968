-- Decision endpoints: their versions, and which of them are in force. Product 0 stands for all
-- products of the client that have no endpoint of their own.

-- name: add_decision_endpoint_state
insert into decision_endpoint_state (client_id, product_id)
values (:clientId, :productId)
on conflict (client_id, product_id) do nothing;

-- name: lock_decision_endpoint_state
select draft_version as "draftVersion", enforced_version as "enforcedVersion",
  previous_version as "previousVersion", shadow_version as "shadowVersion",
  degraded_since as "degradedSince", changed_at as "changedAt"
from decision_endpoint_state
where client_id = :clientId and product_id = :productId
for update;

-- name: find_decision_endpoint_state
select draft_version as "draftVersion", enforced_version as "enforcedVersion",
  previous_version as "previousVersion", shadow_version as "shadowVersion",
  degraded_since as "degradedSince", changed_at as "changedAt"
from decision_endpoint_state
where client_id = :clientId and product_id = :productId;

-- name: update_decision_endpoint_state
update decision_endpoint_state
set draft_version = :draftVersion, enforced_version = :enforcedVersion,
  previous_version = :previousVersion, shadow_version = :shadowVersion,
  degraded_since = case
    when enforced_version is not distinct from :enforcedVersion then degraded_since
  end,
  degraded_version = case
    when enforced_version is not distinct from :enforcedVersion then degraded_version
  end,
  degraded_seen_at = case
    when enforced_version is not distinct from :enforcedVersion then degraded_seen_at
  end,
  changed_at = now()
where client_id = :clientId and product_id = :productId;

-- The number of the next version, and how many versions were registered in the last 24 hours: at
-- most :limit are read.
-- name: count_decision_endpoint_versions
with latest as materialized (
  select version, created_at
  from decision_endpoint
  where client_id = :clientId and product_id = :productId
  order by version desc
  limit :limit
)
select coalesce(max(version), 0)::integer + 1 as "nextVersion",
  (count(*) filter (where created_at > now() - interval '24 hours'))::integer as "recentVersions",
  greatest(
    1,
    ceil(extract(epoch from min(created_at) + interval '24 hours' - now()))
  )::integer as "waitSeconds"
from latest;

-- name: insert_decision_endpoint
insert into decision_endpoint
  (client_id, product_id, version, url, timeout_ms, max_in_flight, on_timeout, on_error, rule,
    mode, sample_percent, format, api_version)
values (:clientId, :productId, :version, :url, :timeoutMs, :maxInFlight, :onTimeout, :onError,
  :rule, :mode, :samplePercent, :format, :apiVersion);

-- The draft, and the versions in force.
-- name: list_decision_endpoint_versions
select found.*
from decision_endpoint_state as state
cross join unnest(
  array[draft_version, enforced_version, previous_version, shadow_version]
) as named (version)
cross join lateral (
  select *
  from described_decision_endpoint
  where "clientId" = state.client_id and "productId" = state.product_id
    and version = named.version
  limit 1
) as found
where state.client_id = :clientId and state.product_id = :productId;

-- name: find_decision_endpoint_version
select *
from described_decision_endpoint
where "clientId" = :clientId and "productId" = :productId and version = :version;

-- The drafts of a client, and the versions in force, with the state of their endpoint.
-- name: list_decision_endpoints_of_client
select found.*, state.draft_version as "draftVersion",
  state.enforced_version as "enforcedVersion", state.previous_version as "previousVersion",
  state.shadow_version as "shadowVersion", state.degraded_since as "degradedSince",
  state.changed_at as "changedAt"
from (
  select *
  from decision_endpoint_state
  where client_id = :clientId
  order by product_id
  limit :limit
) as state
cross join unnest(
  array[draft_version, enforced_version, previous_version, shadow_version]
) as named (version)
cross join lateral (
  select *
  from described_decision_endpoint
  where "clientId" = state.client_id and "productId" = state.product_id
    and version = named.version
  limit 1
) as found
order by state.product_id;

-- The endpoints of all clients that do not answer; those that have been silent for longest first.
-- name: list_degraded_endpoints
select client_id as "clientId", nullif(product_id, 0) as "productId",
  degraded_since as "degradedSince"
from decision_endpoint_state
where degraded_since is not null
order by degraded_since
limit :limit;

-- The versions in force for a product: its own, and those for all products of the client.
-- name: list_decision_endpoints_in_force
select found.*, named.role
from decision_endpoint_state as state
cross join lateral (
  values
    ('enforced', enforced_version),
    ('previous', previous_version),
    ('shadow', shadow_version)
) as named (role, version)
cross join lateral (
  select *
  from described_decision_endpoint
  where "clientId" = state.client_id and "productId" = state.product_id
    and version = named.version
  limit 1
) as found
where state.client_id = :clientId and state.product_id = any(array[0, :productId::integer]);
