-- Does the same as set_pin, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits two kinds of callers: one whose card is locked, and
-- the second caller of a card. Keys are claimed in the order of their hashes, so that two calls
-- never wait for each other's keys.
--
-- Returns the ordinals of the callers whose change was done. The others call set_pin, and so does a
-- caller whose PIN came in an envelope.
--
-- Commands to chips are queued and ended by statements of their own, which see what others
-- committed before the cards were locked.
create or replace function set_pin_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_todays date[],
  p_pin_blocks bytea[],
  p_pvvs text[],
  p_pin_keys text[],
  p_chip_pin_blocks bytea[],
  p_chip_pin_keys text[],
  p_jti_hashs bytea[],
  p_envelope_expires_ats timestamptz[],
  p_event_types text[],
  p_request_ids text[],
  p_details text[],
  p_notes bytea[],
  p_operator_ids text[],
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
declare
  v_done integer[];
begin
  with asked as materialized (
    select *
    from unnest(
      p_public_tokens, p_client_ids, p_todays, p_pin_blocks, p_pvvs, p_pin_keys, p_jti_hashs,
      p_envelope_expires_ats, p_event_types, p_request_ids, p_details, p_notes, p_operator_ids,
      p_claimant_ids, p_key_hashes, p_request_fingerprints, p_claim_ids, p_answers
    ) with ordinality as caller (
      public_token, client_id, today, pin_block, pvv, pin_key, jti_hash, envelope_expires_at,
      event_type, request_id, details, note, operator_id, claimant_id, key_hashes,
      request_fingerprint, claim_id, answer, ordinal
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
        from card
        where card.public_token = asked.public_token and card.client_id = asked.client_id
          and is_changeable(card, asked.today)
        for no key update skip locked
      ) as card
      where asked.jti_hash is null
        and asked.ordinal = array_position(p_public_tokens, asked.public_token)
      order by asked.key_hashes
    ) as locked
  ),
  changed as (
    update card
    set pin_block = claimed.pin_block,
      pvv = claimed.pvv,
      pin_key = claimed.pin_key,
      pin_version = card.pin_version + 1,
      pin_source_token = null,
      carried_pin_version = null,
      last_sequence = card.last_sequence + 1
    from claimed
    where claimed.is_claimed and card.public_token = any (array[claimed.public_token])
    returning claimed.ordinal, card.last_sequence
  ),
  recorded as (
    insert into event (
      public_token, sequence, client_id, type, request_id, details, note, operator_id
    )
    select asked.public_token, changed.last_sequence, asked.client_id, asked.event_type,
      asked.request_id, asked.details, asked.note, asked.operator_id
    from changed
    join asked using (ordinal)
  )
  select array_agg(ordinal::integer)
  into v_done
  from changed;
  perform queue_chip_command(
    p_public_tokens[done.ordinal], p_client_ids[done.ordinal], 'change_pin',
    p_chip_pin_blocks[done.ordinal], p_chip_pin_keys[done.ordinal], null, null,
    p_request_ids[done.ordinal], p_operator_ids[done.ordinal]
  )
  from unnest(v_done) as done (ordinal)
  where p_chip_pin_blocks[done.ordinal] is not null;
  perform supersede_pin_commands(
    array(
      select p_public_tokens[done.ordinal]
      from unnest(v_done) as done (ordinal)
      where p_chip_pin_blocks[done.ordinal] is null
    )
  );
  return query
    select unnest(v_done);
end
$function$;
