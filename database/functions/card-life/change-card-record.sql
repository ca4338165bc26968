-- Changes the record of a client's card: its reference, design, kind of renewal, personal data and
-- metadata. Records the event, once for an idempotency key.
--
-- p_members names the members that are changed; the parameters of others are ignored. The sealed
-- personal data must still be p_former_personal_data. p_metadata is a JSON object: a text sets a
-- key, and null removes it. Other keys stay. A card has at most 50. Lock order: card, key. The call
-- does everything or nothing.
--
-- Returns whether it was done. It is not done if the card belongs to another client, if its
-- personal data was changed, or if the key was not free. Raises PF001 if a card would have more
-- than 50 keys, which undoes everything.
--
-- Distributed by p_public_token, beside card.
create or replace function change_card_record(
  p_public_token text,
  p_client_id text,
  p_members text[],
  p_customer_reference text,
  p_design_id text,
  p_renewal_type text,
  p_former_personal_data bytea,
  p_personal_data bytea,
  p_metadata text,
  p_event_type text,
  p_request_id text,
  p_details text,
  p_note bytea,
  p_operator_id text,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_keys integer;
begin
  if v_card.client_id is distinct from p_client_id
    or (p_personal_data is not null
      and v_card.personal_data is distinct from p_former_personal_data)
  then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  update card
  set customer_reference = case
      when 'customerReference' = any (p_members) then p_customer_reference
      else customer_reference
    end,
    design_id = case
      when 'designId' = any (p_members) then p_design_id
      else design_id
    end,
    renewal_type = case
      when 'renewalType' = any (p_members) then p_renewal_type
      else renewal_type
    end,
    personal_data = coalesce(p_personal_data, personal_data),
    last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  if p_metadata is not null then
    delete from card_metadata
    where public_token = p_public_token
      and key in (select json_object_keys(p_metadata::json));
    insert into card_metadata (public_token, key, value, client_id, created_at)
    select p_public_token, entry.key, entry.value, v_card.client_id, v_card.created_at
    from json_each_text(p_metadata::json) as entry
    where entry.value is not null;
    select count(*) into v_keys
    from card_metadata
    where public_token = p_public_token;
    if v_keys > 50 then
      perform undo_act('The card has too many keys of metadata.');
    end if;
  end if;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  return true;
end
$function$;
