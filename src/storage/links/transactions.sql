-- Transactions of networks, and which of them were reversed. After 24 hours, a row no longer counts
-- and can be reused. If a list is joined to its table, it is materialized and joined row by row, so
-- that no plan reads more than its rows.

-- name: find_mark_of_reversal
select reversed_at as "reversedAt"
from network_transaction
where transaction_hash = any(array[:transactionHash::bytea]) and network_id = :networkId
  and message_class is null and clock_timestamp() - created_at <= interval '24 hours'
limit 1;

-- A trace number is reused after a million messages: the newest match is used.
-- name: reverse_by_original_elements
with named as materialized (
  select network_id, transaction_hash, created_at
  from network_transaction
  where trace = any(array[:trace]) and network_id = :networkId
    and (:messageClass = '' or message_class = :messageClass)
    and (:transmittedAt = '' or transmitted_at = :transmittedAt)
    and (:acquirer = '' or acquirer = :acquirer)
    and message_class is not null and clock_timestamp() - created_at <= interval '24 hours'
), original as materialized (
  select network_id, transaction_hash, clock_timestamp() as now
  from named
  order by created_at desc
  limit 1
)
update network_transaction
set reversed_at = least(reversed_at, original.now)
from original
where network_transaction.transaction_hash = any(array[original.transaction_hash])
  and network_transaction.network_id between original.network_id and original.network_id
returning network_transaction.network_transaction_id as "networkTransactionId";

-- name: reverse_network_transaction
insert into network_transaction (network_id, transaction_hash, reversed_at)
values (:networkId, :transactionHash, clock_timestamp())
on conflict (transaction_hash, network_id) do update
set message_class = case
    when not excluded.created_at - network_transaction.created_at > interval '24 hours'
    then network_transaction.message_class end,
  reversed_at = case
    when excluded.created_at - network_transaction.created_at > interval '24 hours'
    then excluded.reversed_at
    else coalesce(network_transaction.reversed_at, excluded.reversed_at) end,
  created_at = case
    when excluded.created_at - network_transaction.created_at > interval '24 hours'
    then excluded.created_at
    else network_transaction.created_at end
returning message_class is not null as "isMatched",
  network_transaction_id as "networkTransactionId";

-- The newest payment of an id; a reversal may name no card.
-- name: find_card_of_network_transaction
select payment.public_token as "publicToken"
from payment
where payment.network_transaction_id = :networkTransactionId
  and payment.network_id = :networkId
order by payment.public_token desc, payment.payment_id desc
limit 1;

-- name: prune_network_transactions
with old as materialized (
  select network_id, transaction_hash
  from network_transaction
  where created_at < (select now() - interval '24 hours')
  order by created_at
  limit :limit
)
delete from network_transaction
using old
where network_transaction.transaction_hash = any(array[old.transaction_hash])
  and network_transaction.network_id between old.network_id and old.network_id
  and now() - created_at > interval '24 hours'
returning network_transaction.network_id as "networkId";
