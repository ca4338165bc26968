-- Does the same as change_card_status, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits two kinds of callers: one whose card is locked, and
-- the second caller of a card. Keys are claimed in the order of their hashes, so that two calls
-- never wait for each other's keys.
--
-- Commands to chips are ended by a statement of their own, which sees what others committed before
-- the cards were locked.
--
-- Returns the ordinals of the callers whose change was done. The others call change_card_status.
create or replace function change_card_status_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_froms text[],
  p_tos text[],
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
      p_public_tokens, p_client_ids, p_froms, p_tos, p_event_types, p_request_ids, p_details,
      p_notes, p_operator_ids, p_claimant_ids, p_key_hashes, p_request_fingerprints, p_claim_ids,
      p_answers
    ) with ordinality as caller (
      public_token, client_id, from_code, to_code, event_type, request_id, details, note,
      operator_id, claimant_id, key_hashes, request_fingerprint, claim_id, answer, ordinal
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
          and card.status_code = asked.from_code
          and (
            asked.to_code <> '00'
            or card.retired_at is null and (asked.from_code <> '02' or card.generation = 0)
          )
        for no key update skip locked
      ) as card
      where asked.ordinal = array_position(p_public_tokens, asked.public_token)
      order by asked.key_hashes
    ) as locked
  ),
  changed as (
    update card
    set status_code = claimed.to_code, last_sequence = card.last_sequence + 1
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
  perform supersede_commands_of_closed(
    array(
      select p_public_tokens[done.ordinal]
      from unnest(v_done) as done (ordinal)
      where p_tos[done.ordinal] not in ('00', '02', '62')
    )
  );
  perform cancel_orders(
    p_public_tokens[done.ordinal], p_request_ids[done.ordinal], p_operator_ids[done.ordinal]
  )
  from unnest(v_done) as done (ordinal)
  where p_tos[done.ordinal] not in ('00', '02', '62');
  return query
    select unnest(v_done);
end
$function$;
