-- Gives a notice that a card is to be renewed, once: the first at 60 days, the second at 30. A card
-- that is renewed already, replaced, closed or retired gets none, and is skipped permanently.
--
-- Returns whether the turn of the notice was taken: not if another process came first, or the
-- plastic is no longer the current one. Lock order: card, plastic.
--
-- Distributed by p_public_token, beside card.
create or replace function give_renewal_notice(
  p_public_token text,
  p_plastic_number integer,
  p_notices_given integer,
  p_today date
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_days_left integer := v_card.expiry_date - p_today;
begin
  update plastic
  set notices_given = case when v_days_left <= 30 then 2 else 1 end
  where public_token = p_public_token and plastic_number = p_plastic_number
    and state = 'Current' and notices_given = p_notices_given;
  if not found then
    return false;
  end if;
  if v_card.status_code not in ('02', '00', '62')
    or v_card.retired_at is not null
    or v_card.waiting_expiry_date > v_card.expiry_date
    or v_days_left < 0
    or find_successor(v_card.line_token, v_card.generation, p_today) is not null
  then
    return true;
  end if;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, v_card.client_id, 'card.renewal_due', null,
    json_build_object('daysLeft', v_days_left)::text, null, null
  );
  return true;
end
$function$;
