-- Records the transaction that a network begins with a request, unless a reversal overtook it.
--
-- Hashes identify the transaction, one for each version of a key, in ascending order. A transaction
-- and a concurrent reversal of it wait for each other on the row. A row older than 24 hours is
-- treated as new.
--
-- Returns whether no reversal came first. A request without a transaction has null hashes.
create or replace function begin_network_transaction(
  p_network_id text,
  p_transaction_hashes bytea[],
  p_message_class text,
  p_trace text,
  p_transmitted_at text,
  p_acquirer text,
  p_network_transaction_id text
) returns boolean
language plpgsql
as $function$
declare
  v_hash bytea;
begin
  if p_transaction_hashes is null then
    return true;
  end if;
  foreach v_hash in array p_transaction_hashes loop
    insert into network_transaction as known (
      network_id, transaction_hash, message_class, trace, transmitted_at, acquirer,
      network_transaction_id
    )
    values (
      p_network_id, v_hash, p_message_class, p_trace, p_transmitted_at, p_acquirer,
      p_network_transaction_id
    )
    on conflict (transaction_hash, network_id) do update
    set message_class = excluded.message_class,
      trace = excluded.trace,
      transmitted_at = excluded.transmitted_at,
      acquirer = excluded.acquirer,
      network_transaction_id = excluded.network_transaction_id,
      reversed_at = case
        when not excluded.created_at - known.created_at > interval '24 hours'
        then known.reversed_at
      end,
      created_at = case
        when excluded.created_at - known.created_at > interval '24 hours'
        then excluded.created_at
        else known.created_at
      end
    where known.message_class is not null
      or excluded.created_at - known.created_at > interval '24 hours'
    returning known.transaction_hash into v_hash;
    if v_hash is null then
      return false;
    end if;
  end loop;
  return true;
end
$function$;
