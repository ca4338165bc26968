-- Does the same as restore_tries, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits two kinds of callers: one whose card is locked, and
-- the second caller of a card. Keys are claimed in the order of their hashes, so that two calls
-- never wait for each other's keys.
--
-- Commands to chips are queued by a statement of their own, which sees what others committed before
-- the cards were locked.
--
-- Returns the ordinals of the callers whose change was done. The others call restore_tries.
create or replace function restore_tries_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_kinds text[],
  p_todays date[],
  p_limit_names text[],
  p_uses integer[],
  p_window_seconds integer[],
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
      p_public_tokens, p_client_ids, p_kinds, p_todays, p_limit_names, p_uses, p_window_seconds,
      p_event_types, p_request_ids, p_details, p_notes, p_operator_ids, p_claimant_ids,
      p_key_hashes, p_request_fingerprints, p_claim_ids, p_answers
    ) with ordinality as caller (
      public_token, client_id, kind, today, limit_name, uses, window_seconds, event_type,
      request_id, details, note, operator_id, claimant_id, key_hashes, request_fingerprint,
      claim_id, answer, ordinal
    )
  ),
  claimed as materialized (
    select locked.*,
      case
        when locked.uses is not null and not has_card_use(
          locked.line_token, locked.limit_name, locked.uses, locked.window_seconds
        )
        then false
        when locked.key_hashes is not null and not claim_idempotency_key(
          locked.claimant_id, string_to_array(locked.key_hashes, ',')::bytea[],
          locked.request_fingerprint, locked.claim_id, locked.answer
        )
        then false
        when locked.uses is null or use_card_limit(
          locked.line_token, locked.limit_name, locked.uses, locked.window_seconds
        )
        then true
        else undo_act('A use of the limit is gone.')
      end as is_claimed
    from (
      select asked.*, card.line_token
      from asked
      cross join lateral (
        select card.line_token
        from card
        where card.public_token = asked.public_token and card.client_id = asked.client_id
          and is_changeable(card, asked.today)
        for no key update skip locked
      ) as card
      where asked.ordinal = array_position(p_public_tokens, asked.public_token)
      order by asked.key_hashes
    ) as locked
  ),
  restored as (
    update try_counter as counter
    set restored = spent,
      epoch = epoch + 1,
      is_withdrawn = false,
      block_reported = false
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
  select array_agg(ordinal::integer)
  into v_done
  from changed;
  perform queue_chip_command(
    chipped.public_token, p_client_ids[chipped.ordinal], 'unblock_pin', null, null, null, null,
    p_request_ids[chipped.ordinal], p_operator_ids[chipped.ordinal]
  )
  from (
    select done.ordinal, p_public_tokens[done.ordinal] as public_token
    from unnest(v_done) as done (ordinal)
    cross join lateral (
      select card.product_id
      from card
      where card.public_token = any (array[p_public_tokens[done.ordinal]])
        and card.card_type = 'Physical'
      limit 1
    ) as card
    cross join lateral (
      select
      from product
      where product.product_id = any (array[card.product_id]) and product.chip is not null
      limit 1
    ) as product
    where p_kinds[done.ordinal] = 'pin'
    offset 0
  ) as chipped;
  return query
    select unnest(v_done);
end
$function$;
