-- Makes a batch of plastics that no batch has taken yet, for the bureau's client, at
-- p_now. Two calls at once share the plastics: each is in one batch.
--
-- The rows are locked in the order of the list, so that two calls cannot wait for each other.
--
-- Returns how many plastics it took; without any, it makes no batch.
create or replace function take_plastics(
  p_batch_id uuid,
  p_client_id text,
  p_public_tokens text[],
  p_plastic_numbers integer[],
  p_now timestamptz
) returns integer
language plpgsql
as $function$
declare
  v_taken integer := 0;
  v_public_token text;
  v_plastic_number integer;
begin
  for v_index in 1..coalesce(cardinality(p_public_tokens), 0) loop
    v_public_token := p_public_tokens[v_index];
    v_plastic_number := p_plastic_numbers[v_index];
    update plastic
    set batch_id = p_batch_id
    where public_token = v_public_token and plastic_number = v_plastic_number
      and delivery_status = 'Ordered' and batch_id is null;
    if found then
      v_taken := v_taken + 1;
    end if;
  end loop;
  if v_taken > 0 then
    insert into bureau_batch (batch_id, client_id, taken_at, plastic_count)
    values (p_batch_id, p_client_id, p_now, v_taken);
  end if;
  return v_taken;
end
$function$;
