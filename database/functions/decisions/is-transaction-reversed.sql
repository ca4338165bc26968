-- Whether a network reversed a transaction that it began with a request: 90 of ISO 8583 named it,
-- and perhaps no card. The row is locked until the transaction ends, so that a concurrent reversal
-- finds what this one commits.
--
-- p_transaction_hashes are in ascending order; null if the request began no transaction.
create or replace function is_transaction_reversed(
  p_network_id text,
  p_transaction_hashes bytea[]
) returns boolean
language plpgsql
as $function$
declare
  v_hash bytea;
  v_reversed_at timestamptz;
  v_is_reversed boolean := false;
begin
  foreach v_hash in array coalesce(p_transaction_hashes, '{}') loop
    select reversed_at into v_reversed_at
    from network_transaction
    where transaction_hash = v_hash and network_id = p_network_id
    for no key update;
    v_is_reversed := v_is_reversed or v_reversed_at is not null;
  end loop;
  return v_is_reversed;
end
$function$;
