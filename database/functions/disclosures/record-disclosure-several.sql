-- Does the same as record_disclosure, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits two kinds of callers: one whose card is locked, and
-- the second caller of a card. Limits are used in the order of their clients and names, so that two
-- calls never wait for each other's limits.
--
-- Returns the ordinals of the callers whose disclosure was recorded, with the data. The others call
-- record_disclosure.
create or replace function record_disclosure_several(
  p_public_tokens text[],
  p_client_ids text[],
  p_todays date[],
  p_includes_pins boolean[],
  p_card_limit_names text[],
  p_card_uses integer[],
  p_card_window_seconds integer[],
  p_client_limit_names text[],
  p_client_uses integer[],
  p_client_window_seconds integer[],
  p_event_ids uuid[],
  p_event_types text[],
  p_request_ids text[],
  p_details text[],
  p_notes bytea[]
) returns table (
  ordinal integer,
  encrypted_pan bytea,
  expiry_date date,
  pin_block bytea,
  pin_key text,
  cvk text
)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
    with asked as materialized (
      select *
      from unnest(
        p_public_tokens, p_client_ids, p_todays, p_includes_pins, p_card_limit_names, p_card_uses,
        p_card_window_seconds, p_client_limit_names, p_client_uses, p_client_window_seconds,
        p_event_ids, p_event_types, p_request_ids, p_details, p_notes
      ) with ordinality as caller (
        public_token, client_id, today, includes_pin, card_limit_name, card_uses,
        card_window_seconds, client_limit_name, client_uses, client_window_seconds, event_id,
        event_type, request_id, details, note, ordinal
      )
    ),
    allowed as materialized (
      select locked.*,
        case
          when locked.card_uses is not null and not has_card_use(
            locked.line_token, locked.card_limit_name, locked.card_uses,
            locked.card_window_seconds
          )
          then false
          when locked.client_uses is not null and not use_client_limit(
            locked.client_id, locked.client_limit_name, locked.client_uses,
            locked.client_window_seconds
          )
          then false
          when locked.card_uses is null or use_card_limit(
            locked.line_token, locked.card_limit_name, locked.card_uses,
            locked.card_window_seconds
          )
          then true
          else undo_act('A use of the limit is gone.')
        end as is_allowed
      from (
        select asked.*, card.line_token
        from asked
        cross join lateral (
          select card.line_token
          from card
          where card.public_token = asked.public_token and card.client_id = asked.client_id
            and is_changeable(card, asked.today)
            and (card.pin_block is not null or not asked.includes_pin)
          for no key update skip locked
        ) as card
        where asked.ordinal = array_position(p_public_tokens, asked.public_token)
        order by asked.client_id, asked.client_limit_name
      ) as locked
    ),
    changed as (
      update card
      set last_sequence = card.last_sequence + 1
      from allowed
      where allowed.is_allowed and card.public_token = any (array[allowed.public_token])
      returning allowed.ordinal, card.last_sequence, card.encrypted_pan, card.expiry_date,
        card.pin_block, card.pin_key, card.cvk
    ),
    recorded as (
      insert into event (
        event_id, public_token, sequence, client_id, type, request_id, details, note
      )
      select asked.event_id, asked.public_token, changed.last_sequence, asked.client_id,
        asked.event_type, asked.request_id, asked.details, asked.note
      from changed
      join asked using (ordinal)
    )
    select ordinal::integer, encrypted_pan,
      expiry_date, pin_block, pin_key, cvk
    from changed;
end
$function$;
