-- Does the same as spend_all_tries, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits two kinds of callers: one whose card is locked, and
-- the second caller of a card. Keys are claimed in the order of their hashes, so that two calls
-- never wait for each other's keys.
--
-- Returns the ordinals of the callers whose change was done. The others call spend_all_tries.
create or replace function spend_all_tries_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_kinds text[],
  p_todays date[],
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
begin
  return query
    with asked as materialized (
      select *
      from unnest(
        p_public_tokens, p_client_ids, p_kinds, p_todays, p_event_types, p_request_ids, p_details,
        p_notes, p_operator_ids, p_claimant_ids, p_key_hashes, p_request_fingerprints, p_claim_ids,
        p_answers
      ) with ordinality as caller (
        public_token, client_id, kind, today, event_type, request_id, details, note, operator_id,
        claimant_id, key_hashes, request_fingerprint, claim_id, answer, ordinal
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
        where asked.ordinal = array_position(p_public_tokens, asked.public_token)
        order by asked.key_hashes
      ) as locked
    ),
    spent as (
      update try_counter as counter
      set spent = restored + try_limit,
        epoch = epoch + 1,
        is_withdrawn = true,
        block_reported = true
      from claimed
      where claimed.is_claimed and counter.public_token = any (array[claimed.public_token])
        and counter.kind = claimed.kind
    ),
    changed as (
      update card
      set last_sequence = card.last_sequence + 1
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
    select ordinal::integer
    from changed;
end
$function$;
