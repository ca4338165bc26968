-- Disclosures in the audit log.

-- The condition on the act equals that of each list's index: no other plan is bounded. Erased
-- entries name no card and no client.

-- name: list_disclosures
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, entered_at as "enteredAt", text,
  entry_index < coalesce((
    select size
    from audit_checkpoint
    where audit_checkpoint.log = entry.log
    order by size desc
    limit 1
  ), 0) as "isSigned"
from audit_entry as entry
where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed')
  and (log, entry_index) < (:log::integer, :index::bigint)
order by log desc, entry_index desc
limit :limit;

-- name: list_disclosures_of_card
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, entered_at as "enteredAt", text,
  entry_index < coalesce((
    select size
    from audit_checkpoint
    where audit_checkpoint.log = entry.log
    order by size desc
    limit 1
  ), 0) as "isSigned"
from audit_entry as entry
where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed')
  and public_token = :publicToken
  and (log, entry_index) < (:log::integer, :index::bigint)
order by log desc, entry_index desc
limit :limit;

-- name: list_disclosures_of_client
select log, entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
  public_token as "publicToken", act, entered_at as "enteredAt", text,
  entry_index < coalesce((
    select size
    from audit_checkpoint
    where audit_checkpoint.log = entry.log
    order by size desc
    limit 1
  ), 0) as "isSigned"
from audit_entry as entry
where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed')
  and client_id = :clientId
  and (log, entry_index) < (:log::integer, :index::bigint)
order by log desc, entry_index desc
limit :limit;

-- The condition equals that of the index of a card's disclosures.
-- name: was_shown_card
select exists (
  select 1
  from audit_entry
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed')
    and public_token = :publicToken and client_id = any(:clientIds::text[])
) as "isThere";
