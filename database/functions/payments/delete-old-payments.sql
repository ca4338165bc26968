-- Deletes some of the payments that are over and were opened more than p_days days ago, with their
-- messages; and some messages of that age that have no payment.
--
-- Each is deleted by its key, so that no plan reads more than its rows. A payment that gets a
-- message meanwhile stays, because its message_count has changed. A later message finds no payment.
--
-- Returns how many payments, and messages without one, were deleted.
create or replace function delete_old_payments(p_days integer, p_limit integer) returns integer
language plpgsql
as $function$
declare
  v_before timestamptz := date_trunc('day', now(), 'UTC') - make_interval(days => p_days);
  v_tokens text[];
  v_payment_ids uuid[];
  v_message_counts integer[];
  v_messages integer;
  v_count integer := 0;
begin
  with old as materialized (
    select public_token, payment_id, message_count
    from payment
    where opened_at < (select v_before)
      and (is_final or is_expired or cleared = 0 and approved = reversed)
    order by opened_at
    limit p_limit
  )
  select array_agg(public_token), array_agg(payment_id), array_agg(message_count)
  into v_tokens, v_payment_ids, v_message_counts
  from old;
  for v_place in 1 .. coalesce(cardinality(v_tokens), 0) loop
    delete from payment
    where public_token = v_tokens[v_place] and payment_id = v_payment_ids[v_place]
      and message_count = v_message_counts[v_place];
    if found then
      v_count := v_count + 1;
      delete from payment_message
      where payment_id = v_payment_ids[v_place] and public_token = v_tokens[v_place];
    end if;
  end loop;
  with old as materialized (
    select public_token, message_id
    from payment_message
    where payment_id is null and received_at < (select v_before)
    order by received_at
    limit p_limit
  )
  delete from payment_message
  using old
  where payment_message.public_token = any(array[old.public_token])
    and payment_message.message_id between old.message_id and old.message_id;
  get diagnostics v_messages = row_count;
  return v_count + v_messages;
end
$function$;
