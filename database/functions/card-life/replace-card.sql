-- Replaces a card: creates its successor, with another number, as the next card of its line, once
-- for an idempotency key.
--
-- p_public_token is the first card of the line, on whose node all its cards are. The replaced card
-- must have the status p_from, and no successor that was or can still be active: a retired card
-- whose successor was closed unused is replaced again, and stays retired. It moves to p_to in the
-- same transaction if that is another status (41, 43); if p_is_retired, it is retired. An expired
-- card must have been valid on p_expired_since. A successor that expired unused, and is passed
-- over, is retired.
--
-- The replaced card must still have the type, the reference, the design and the personal data that
-- the caller read, so that a change of its record is not lost. The reference, the design and the
-- type are those of the successor; p_former_personal_data is that of the replaced card.
--
-- The successor has the controls and the metadata of the replaced card. What the line has spent
-- under limits, and the limits of disclosures and unblocks, lie on the first card, so that nothing
-- moves.
--
-- p_pin_source_token is null unless the successor has the PIN of that card of the line, which must
-- still have the version p_pin_source_version. The PIN is carried again at the activation if that
-- version has changed. Without p_is_pin_requested, the PIN of a stolen card does not move, at the
-- activation either. p_limit_name is that of the unblocks of a PIN, null without one
-- (finish_activation). A successor that is created active retires the cards before it at once
-- (finish_activation), and has the controls of the card in use (carry_controls).
--
-- The events of the replaced card have p_note, which is sealed for its token, and the creation of
-- the successor has p_created_note, which is the same note sealed for its own.
--
-- Lock order: grant, line, key, number, limit. Returns whether it was done. It is not done if a
-- condition does not hold, the grant of the product was removed or changed, or the key was not
-- free. Raises PF001 if the number or the token is taken, which undoes everything.
--
-- Distributed by p_public_token, beside card.
create or replace function replace_card(
  p_public_token text,
  p_replaced_token text,
  p_client_id text,
  p_from text,
  p_to text,
  p_is_retired boolean,
  p_today date,
  p_expired_since date,
  p_reason text,
  p_successor_token text,
  p_product_id integer,
  p_product_version uuid,
  p_card_type text,
  p_customer_reference text,
  p_design_id text,
  p_masked_pan text,
  p_pan_fingerprints bytea[],
  p_fingerprint_key_versions integer[],
  p_encrypted_pan bytea,
  p_former_personal_data bytea,
  p_personal_data bytea,
  p_free_texts bytea,
  p_start_date date,
  p_expiry_date date,
  p_status_code text,
  p_pin_block bytea,
  p_pvv text,
  p_pin_key text,
  p_pin_source_token text,
  p_pin_source_version integer,
  p_is_pin_requested boolean,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer,
  p_cvk text,
  p_pin_try_limit integer,
  p_cvv_try_limit integer,
  p_request_id text,
  p_replaced_details text,
  p_created_details text,
  p_note bytea,
  p_created_note bytea,
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
  v_version uuid;
  v_line text[];
  v_card card;
  v_pin_version integer;
  v_source_status text;
  v_generation integer;
  v_sequence integer;
  v_new_token text;
  v_passed_token text;
  v_carried_version integer;
  v_controls jsonb;
begin
  select product_version into v_version
  from client_product
  where client_id = p_client_id and product_id = p_product_id
  for share;
  if v_version is distinct from p_product_version then
    return false;
  end if;
  v_line := lock_line(p_public_token, 2147483647);
  select * into v_card
  from card
  where public_token = p_replaced_token;
  if v_card.client_id is distinct from p_client_id
    or v_card.line_token <> p_public_token
    or v_card.status_code <> p_from
    or v_card.card_type <> p_card_type
    or v_card.customer_reference is distinct from p_customer_reference
    or v_card.design_id is distinct from p_design_id
    or v_card.personal_data <> p_former_personal_data
    or v_card.status_code = '46'
    or v_card.status_code in ('02', '00', '62', '54') and v_card.valid_until < p_expired_since
    or find_successor(p_public_token, v_card.generation, p_today) is not null
  then
    return false;
  end if;
  if p_pin_source_token is not null then
    if p_pin_source_token <> coalesce(
      find_pin_source(p_public_token, v_card.generation, v_card.pin_source_token),
      p_replaced_token
    )
    then
      return false;
    end if;
    select pin_version, status_code into v_pin_version, v_source_status
    from card
    where public_token = p_pin_source_token and line_token = p_public_token;
    if v_pin_version is distinct from p_pin_source_version
      or v_source_status = '43' and not p_is_pin_requested
    then
      return false;
    end if;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  for v_place in 1 .. cardinality(p_pan_fingerprints) loop
    v_new_token := null;
    insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
    values (
      p_pan_fingerprints[v_place], p_successor_token, p_fingerprint_key_versions[v_place]
    )
    on conflict (pan_fingerprint) do nothing
    returning public_token into v_new_token;
    if v_new_token is null then
      perform undo_act('The card number is taken.');
    end if;
  end loop;
  select coalesce(max(generation), 0) + 1 into v_generation
  from card_line
  where public_token = p_public_token;
  insert into card (
    public_token, client_id, product_id, card_type, customer_reference, design_id, masked_pan,
    encrypted_pan, personal_data, start_date, expiry_date, line_token, generation,
    replacement_for, status_code, pin_block, pvv, pin_key, pin_source_token, carried_pin_version,
    cvk, renewal_type, last_sequence, controls_version
  )
  values (
    p_successor_token, p_client_id, p_product_id, p_card_type, p_customer_reference, p_design_id,
    p_masked_pan, p_encrypted_pan, p_personal_data, p_start_date, p_expiry_date, p_public_token,
    v_generation, p_replaced_token, p_status_code, p_pin_block, p_pvv, p_pin_key,
    case when p_status_code = '02' then p_pin_source_token end,
    case when p_status_code = '02' then p_pin_source_version end, p_cvk, v_card.renewal_type,
    1, least(v_card.controls_version, 1)
  )
  on conflict (public_token) do nothing
  returning public_token into v_new_token;
  if v_new_token is null then
    perform undo_act('The token is taken.');
  end if;
  -- A successor that was never active passes on the controls that it was given itself. Read before
  -- the insert: Citus rejects subqueries among its values.
  select case
    when count(*) = 0 then least(v_card.controls_version, 1)
  end
  into v_carried_version
  from card_line
  where public_token = p_public_token and generation = v_card.generation
    and activated_at is null
    and carried_controls_version is distinct from v_card.controls_version;
  insert into card_line (
    public_token, generation, successor_token, replaced_token, reason, is_pin_requested,
    carried_controls_version
  )
  values (
    p_public_token, v_generation, p_successor_token, p_replaced_token, p_reason,
    p_is_pin_requested, v_carried_version
  );
  insert into plastic (
    public_token, plastic_number, card_type, reason, state, start_date, expiry_date,
    delivery_status, free_texts
  )
  values (
    p_successor_token, 0, p_card_type, 'Issue', 'Current', p_start_date, p_expiry_date,
    case when p_card_type = 'Physical' then 'Ordered' end, p_free_texts
  );
  insert into try_counter (public_token, kind, try_limit)
  values (p_successor_token, 'pin', p_pin_try_limit), (p_successor_token, 'cvv', p_cvv_try_limit);
  if v_card.controls_version > 0 then
    select controls into v_controls
    from card_controls
    where public_token = p_replaced_token and version = v_card.controls_version;
    insert into card_controls (public_token, version, controls, changed_at)
    values (p_successor_token, 1, v_controls, clock_timestamp());
  end if;
  insert into card_metadata (public_token, key, value, client_id, created_at)
  select successor.public_token, entry.key, entry.value, successor.client_id, successor.created_at
  from card as successor
  join card_metadata as entry on entry.public_token = p_replaced_token
  where successor.public_token = p_successor_token;
  perform record_event(
    p_successor_token, 1, p_client_id, 'card.created', p_request_id, p_created_details,
    p_created_note, p_operator_id
  );
  v_sequence := v_card.last_sequence + 1;
  if p_to <> p_from then
    perform record_event(
      p_replaced_token, v_sequence, p_client_id, 'card.status_changed', p_request_id,
      json_build_object('from', p_from, 'to', p_to)::text, p_note, p_operator_id
    );
    v_sequence := v_sequence + 1;
    perform supersede_commands_of_closed(array[p_replaced_token]);
  end if;
  update card
  set status_code = p_to, replaced_by = p_successor_token, last_sequence = v_sequence
  where public_token = p_replaced_token;
  perform record_event(
    p_replaced_token, v_sequence, p_client_id, 'card.replaced', p_request_id, p_replaced_details,
    p_note, p_operator_id
  );
  if p_to <> p_from and p_to not in ('02', '00', '62') then
    perform cancel_orders(p_replaced_token, p_request_id, p_operator_id);
  end if;
  if p_status_code = '00' then
    perform finish_activation(
      v_line || p_successor_token, p_pin_source_token, p_limit_name, p_uses, p_window_seconds,
      p_today, p_request_id, p_operator_id
    );
    perform carry_controls(p_public_token, p_successor_token, p_request_id, p_operator_id);
  elsif p_is_retired then
    perform retire_card(
      p_replaced_token, p_successor_token, p_today, p_request_id, p_operator_id
    );
  end if;
  -- Card by card: Citus joins tables only by the columns that distribute them.
  for v_passed_token in
    select successor_token
    from card_line
    where public_token = p_public_token
      and generation > v_card.generation and generation < v_generation
    order by generation
  loop
    if exists (
      select
      from card
      where public_token = v_passed_token and (status_code = '54' or valid_until < p_today)
    )
    then
      perform retire_card(
        v_passed_token, p_successor_token, p_today, p_request_id, p_operator_id
      );
    end if;
  end loop;
  return true;
end
$function$;
