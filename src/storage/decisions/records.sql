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

-- The bound of the id of its own makes the planner expect few rows of a table that it takes for an
-- empty one: it then reads the index in order, and no more than the page.
-- name: list_decisions_of_purpose
select *
from (
  select *
  from described_decision
  where "clientId" = :clientId and "decisionId" < :before::uuid
    and (purpose, "decisionId") < (:purpose::text, :before::uuid) and purpose >= :purpose::text
  order by "clientId" desc, purpose desc, "decisionId" desc
  limit 101
) as record
order by "decisionId" desc
limit :limit;

-- Without a purpose, the caller merges the pages of all purposes.
-- name: list_decisions_by_decider
select *
from (
  select *
  from described_decision
  where "clientId" = :clientId and "decisionId" < :before::uuid
    and ("purposeAndDecider", "decisionId")
      < (:purpose::text || ' ' || :decidedBy::text, :before::uuid)
    and "purposeAndDecider" >= :purpose::text || ' ' || :decidedBy::text
  order by "clientId" desc, "purposeAndDecider" desc, "decisionId" desc
  limit 101
) as record
order by "decisionId" desc
limit :limit;

-- A card has few decisions: those of a purpose and a decider are searched among them. No index can
-- search for "is not distinct from", so that no plan reads all decisions of the client.
-- name: list_decisions_of_card
select *
from described_decision
where "publicToken" = :publicToken and "decisionId" < :before::uuid
  and "clientId" is not distinct from :clientId
  and (:purpose::text is null or purpose = :purpose::text)
  and (:decidedBy::text is null or "decidedBy" = :decidedBy::text)
order by "publicToken" desc, "decisionId" desc
limit :limit;

-- name: find_decision_of_client
select *
from described_decision
where "clientId" = :clientId and "decisionId" = :decisionId::uuid
limit 1;
