-- Lists the cards of a line, newest first, each with all its plastics: one row for each plastic.
--
-- p_public_token is the first card of the line. The cards are those of a generation below p_before,
-- at most p_limit. replaced_token, reason and activated_at are null for the first card.
-- activated_at is null also for a successor that was never activated. is_inactive is true for the
-- plastic of a converted card until it is activated.
--
-- Distributed by p_public_token, beside card.
create or replace function list_line(
  p_public_token text,
  p_before integer,
  p_limit integer
) returns table (
  public_token text,
  generation integer,
  replaced_token text,
  replacement_reason text,
  activated_at timestamptz,
  product_id integer,
  masked_pan text,
  status_code text,
  valid_until date,
  retired_at timestamptz,
  created_at timestamptz,
  plastic_number integer,
  card_type text,
  plastic_reason text,
  state text,
  is_inactive boolean,
  start_date date,
  expiry_date date,
  delivery_status text,
  delivery_changed_at timestamptz,
  notices_given smallint,
  ordered_at timestamptz,
  ended_at timestamptz
)
language plpgsql
stable
as $function$
#variable_conflict use_column
declare
  v_place record;
  v_cards integer := 0;
begin
  for v_place in
    (
      select place.successor_token, place.generation, place.replaced_token, place.reason,
        place.activated_at
      from card_line as place
      where (place.public_token, place.generation) < (p_public_token, p_before)
        and place.public_token >= p_public_token
      order by place.public_token desc, place.generation desc
      limit p_limit
    )
    union all
    select p_public_token, 0, null, null, null
    where p_before > 0
  loop
    exit when v_cards = p_limit;
    v_cards := v_cards + 1;
    return query
    select card.public_token, v_place.generation, v_place.replaced_token, v_place.reason,
      v_place.activated_at, card.product_id, card.masked_pan, card.status_code,
      card.valid_until, card.retired_at, card.created_at, made.plastic_number, made.card_type,
      made.reason, made.state, made.state = 'Current' and card.is_plastic_inactive,
      made.start_date, made.expiry_date, made.delivery_status, made.delivery_changed_at,
      made.notices_given, made.ordered_at, made.ended_at
    from card
    join plastic as made on made.public_token = card.public_token
    where card.public_token = v_place.successor_token
      and made.public_token = v_place.successor_token
    order by made.plastic_number;
  end loop;
end
$function$;
