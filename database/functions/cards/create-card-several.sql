-- Does the same as create_card, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no grant: a caller whose grant is locked is omitted. Keys are claimed
-- in the order of their hashes, so that two calls never wait for each other's keys.
--
-- Returns the ordinals of the callers whose card was created. The others call create_card. Raises
-- PF001 if a number or a token is taken, which undoes everything: then each caller calls
-- create_card.
create or replace function create_card_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_product_ids integer[],
  p_product_versions uuid[],
  p_card_types text[],
  p_customer_references text[],
  p_design_ids text[],
  p_metadatas text[],
  p_masked_pans text[],
  p_pan_fingerprints text[],
  p_fingerprint_key_versions text[],
  p_encrypted_pans bytea[],
  p_personal_datas bytea[],
  p_start_dates date[],
  p_expiry_dates date[],
  p_status_codes text[],
  p_pin_blocks bytea[],
  p_pvvs text[],
  p_pin_keys text[],
  p_cvks text[],
  p_pin_try_limits integer[],
  p_cvv_try_limits integer[],
  p_event_types text[],
  p_request_ids text[],
  p_details text[],
  p_notes bytea[],
  p_claimant_ids text[],
  p_key_hashes text[],
  p_request_fingerprints bytea[],
  p_claim_ids uuid[],
  p_answers bytea[]
) returns table (
  ordinal integer
)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
    with asked as materialized (
      select *
      from unnest(
        p_public_tokens, p_client_ids, p_product_ids, p_product_versions, p_card_types,
        p_customer_references, p_design_ids, p_metadatas, p_masked_pans, p_pan_fingerprints,
        p_fingerprint_key_versions, p_encrypted_pans, p_personal_datas, p_start_dates,
        p_expiry_dates, p_status_codes, p_pin_blocks, p_pvvs, p_pin_keys, p_cvks, p_pin_try_limits,
        p_cvv_try_limits, p_event_types, p_request_ids, p_details, p_notes, p_claimant_ids,
        p_key_hashes, p_request_fingerprints, p_claim_ids, p_answers
      ) with ordinality as caller (
        public_token, client_id, product_id, product_version, card_type, customer_reference,
        design_id, metadata, masked_pan, pan_fingerprints, fingerprint_key_versions,
        encrypted_pan, personal_data, start_date, expiry_date, status_code, pin_block, pvv,
        pin_key, cvk, pin_try_limit, cvv_try_limit, event_type, request_id, details, note,
        claimant_id,
        key_hashes, request_fingerprint, claim_id, answer, ordinal
      )
    ),
    claimed as materialized (
      select locked.*,
        locked.key_hashes is null
        or claim_idempotency_key(
          locked.claimant_id, string_to_array(locked.key_hashes, ',')::bytea[],
          locked.request_fingerprint, locked.claim_id, locked.answer
        ) as is_claimed
      from (
        select asked.*
        from asked
        cross join lateral (
          select
          from client_product as product
          where product.client_id = asked.client_id and product.product_id = asked.product_id
            and product.product_version = asked.product_version
          for share skip locked
        ) as product
        order by asked.key_hashes
      ) as locked
    ),
    numbered as (
      insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
      select number.pan_fingerprint, claimed.public_token, number.key_version
      from claimed
      cross join lateral unnest(
        string_to_array(claimed.pan_fingerprints, ',')::bytea[],
        string_to_array(claimed.fingerprint_key_versions, ',')::integer[]
      ) as number (pan_fingerprint, key_version)
      where claimed.is_claimed
      order by number.pan_fingerprint
      on conflict (pan_fingerprint) do nothing
      returning public_token
    ),
    created as (
      insert into card (
        public_token, client_id, product_id, card_type, customer_reference, design_id, masked_pan,
        encrypted_pan, personal_data, start_date, expiry_date, line_token, status_code, pin_block,
        pvv, pin_key, cvk, last_sequence
      )
      select public_token, client_id, product_id, card_type, customer_reference, design_id,
        masked_pan, encrypted_pan, personal_data, start_date, expiry_date, public_token,
        status_code, pin_block, pvv, pin_key, cvk, 1
      from claimed
      where is_claimed
      on conflict (public_token) do nothing
      returning public_token, created_at
    ),
    plastics as (
      insert into plastic (
        public_token, plastic_number, card_type, reason, state, start_date, expiry_date,
        delivery_status
      )
      select claimed.public_token, 0, claimed.card_type, 'Issue', 'Current', claimed.start_date,
        claimed.expiry_date, case when claimed.card_type = 'Physical' then 'Ordered' end
      from created
      join claimed using (public_token)
    ),
    noted as (
      insert into card_metadata (public_token, key, value, client_id, created_at)
      select claimed.public_token, entry.key, entry.value, claimed.client_id, created.created_at
      from created
      join claimed using (public_token)
      cross join lateral json_each_text(claimed.metadata::json) as entry
    ),
    counted as (
      insert into try_counter (public_token, kind, try_limit)
      select claimed.public_token, counter.kind, counter.try_limit
      from created
      join claimed using (public_token)
      cross join lateral (
        values ('pin', claimed.pin_try_limit), ('cvv', claimed.cvv_try_limit)
      ) as counter (kind, try_limit)
    ),
    recorded as (
      insert into event (public_token, sequence, client_id, type, request_id, details, note)
      select claimed.public_token, 1, claimed.client_id, claimed.event_type, claimed.request_id,
        claimed.details, claimed.note
      from created
      join claimed using (public_token)
    )
    select claimed.ordinal::integer
    from claimed
    left join created using (public_token)
    where claimed.is_claimed
      and case
        when created.public_token is null then undo_act('The token is taken.')
        when (select count(*) from numbered where numbered.public_token = claimed.public_token)
          < cardinality(string_to_array(claimed.pan_fingerprints, ','))
        then undo_act('The card number is taken.')
        else true
      end;
end
$function$;
