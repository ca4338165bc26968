-- Decisions as clients read them. A page has at most 101 rows.

-- name: list_decisions_of_client
select *
from (
  select *
  from described_decision
  where ("clientId", "decisionId") < (:clientId, :before::uuid) and "clientId" >= :clientId
  order by "clientId" desc, "decisionId" desc
  limit 101
) as record
order by "decisionId" desc
limit :limit;

-- name: list_decisions_of_purpose
select *
from (
  select *
  from described_decision
  where "clientId" = :clientId and (purpose, "decisionId") < (:purpose::text, :before::uuid)
    and purpose >= :purpose::text
  order by "clientId" desc, purpose desc, "decisionId" desc
  limit 101
) as record
order by "decisionId" desc
limit :limit;

-- What stood in decides for no trial, so that few decisions of a decider have another purpose.
-- name: list_decisions_by_decider
select *
from described_decision
where "clientId" = :clientId and ("decidedBy", "decisionId") < (:decidedBy::text, :before::uuid)
  and "decidedBy" >= :decidedBy::text
  and (:purpose::text is null or purpose = :purpose::text)
order by "clientId" desc, "decidedBy" desc, "decisionId" desc
limit :limit;

-- A card has few decisions: those of a purpose and a decider are searched among them.
-- name: list_decisions_of_card
select *
from described_decision
where "publicToken" = :publicToken and "clientId" = :clientId and "decisionId" < :before::uuid
  and (:purpose::text is null or purpose = :purpose::text)
  and (:decidedBy::text is null or "decidedBy" = :decidedBy::text)
order by "publicToken" desc, "decisionId" desc
limit :limit;

-- name: find_decision_of_client
select *
from described_decision
where "clientId" = :clientId and "decisionId" = :decisionId::uuid
limit 1;
