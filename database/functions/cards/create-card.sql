-- Creates a card with its tries and its first event, once for an idempotency key.
--
-- The client's grant of the product must still have the version that was read for the card. A card
-- number is issued once. Its fingerprints identify it, one for each version of their key, and a
-- number that was issued under any of them is not issued again. Lock order: grant, key, number,
-- card.
--
-- p_metadata is a JSON object of texts, or null.
--
-- Returns whether it was done. It is not done if the grant was removed or changed, or if the key
-- was not free. Raises PF001 if the number or the token is taken, which undoes everything.
--
-- Distributed by p_public_token, beside card.
create or replace function create_card(
  p_public_token text,
  p_client_id text,
  p_product_id integer,
  p_product_version uuid,
  p_card_type text,
  p_customer_reference text,
  p_design_id text,
  p_metadata text,
  p_masked_pan text,
  p_pan_fingerprints bytea[],
  p_fingerprint_key_versions integer[],
  p_encrypted_pan bytea,
  p_personal_data bytea,
  p_start_date date,
  p_expiry_date date,
  p_status_code text,
  p_pin_block bytea,
  p_pvv text,
  p_pin_key text,
  p_cvk text,
  p_pin_try_limit integer,
  p_cvv_try_limit integer,
  p_event_type text,
  p_request_id text,
  p_details text,
  p_note bytea,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_version uuid;
  v_taken_token text;
  v_new_token text;
begin
  select product_version into v_version
  from client_product
  where client_id = p_client_id and product_id = p_product_id
  for share;
  if v_version is distinct from p_product_version then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  for v_place in 1 .. cardinality(p_pan_fingerprints) loop
    insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
    values (
      p_pan_fingerprints[v_place], p_public_token, p_fingerprint_key_versions[v_place]
    )
    on conflict (pan_fingerprint) do nothing
    returning public_token into v_taken_token;
    if v_taken_token is null then
      perform undo_act('The card number is taken.');
    end if;
  end loop;
  insert into card (
    public_token, client_id, product_id, card_type, customer_reference, design_id, masked_pan,
    encrypted_pan, personal_data, start_date, expiry_date, line_token, status_code,
    pin_block, pvv, pin_key, cvk, last_sequence
  )
  values (
    p_public_token, p_client_id, p_product_id, p_card_type, p_customer_reference, p_design_id,
    p_masked_pan, p_encrypted_pan, p_personal_data, p_start_date, p_expiry_date,
    p_public_token, p_status_code, p_pin_block, p_pvv, p_pin_key, p_cvk, 1
  )
  on conflict (public_token) do nothing
  returning public_token into v_new_token;
  if v_new_token is null then
    perform undo_act('The token is taken.');
  end if;
  insert into plastic (
    public_token, plastic_number, card_type, reason, state, start_date, expiry_date, delivery_status
  )
  values (
    p_public_token, 0, p_card_type, 'Issue', 'Current', p_start_date, p_expiry_date,
    case when p_card_type = 'Physical' then 'Ordered' end
  );
  if p_metadata is not null then
    insert into card_metadata (public_token, key, value, client_id, created_at)
    select card.public_token, entry.key, entry.value, card.client_id, card.created_at
    from card
    cross join json_each_text(p_metadata::json) as entry
    where card.public_token = p_public_token;
  end if;
  insert into try_counter (public_token, kind, try_limit)
  values (p_public_token, 'pin', p_pin_try_limit), (p_public_token, 'cvv', p_cvv_try_limit);
  perform record_event(
    p_public_token, 1, p_client_id, p_event_type, p_request_id, p_details, p_note, null
  );
  return true;
end
$function$;
