-- Advices and reversals of networks.

-- name: record_network_advice
insert into network_advice (network_id, advice_hash, link_name, message_type, public_token, trace,
  transmitted_at, reference, amount, currency, response_code, is_matched)
values (:networkId, :adviceHash, :linkName, :messageType, :publicToken, :trace, :transmittedAt,
  :reference, :amount, :currency, :responseCode, :isMatched)
on conflict (advice_hash, network_id) do nothing
returning network_id as "networkId";

-- name: list_network_advices
select network_id as "networkId", encode(advice_hash, 'hex') as "adviceHash",
  link_name as "linkName", message_type as "messageType", public_token as "publicToken", trace,
  transmitted_at as "transmittedAt", reference, amount, currency,
  response_code as "responseCode", is_matched as "isMatched",
  to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "receivedAt"
from network_advice
where (link_name, received_at, advice_hash)
    < (:linkName, :receivedAt::timestamptz, decode(:adviceHash, 'hex'))
  and link_name >= :linkName
order by network_advice.link_name desc, network_advice.received_at desc,
  network_advice.advice_hash desc
limit :limit;

-- The list is materialized and joined row by row, so that no plan reads more than its rows.
-- name: prune_network_advices
with old as materialized (
  select network_id, advice_hash
  from network_advice
  where received_at < (select now() - interval '30 days')
  order by received_at
  limit :limit
)
delete from network_advice
using old
where network_advice.advice_hash = any(array[old.advice_hash])
  and network_advice.network_id between old.network_id and old.network_id
  and now() - received_at > interval '30 days'
returning network_advice.network_id as "networkId";
