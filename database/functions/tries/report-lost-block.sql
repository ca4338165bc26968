-- Records that the tries of a card are used up, if the process that spent the last one was lost
-- before it recorded that.
--
-- The block is recorded once in an epoch, and not while a try may still match: a try that is older
-- than 30 seconds was lost with its process. Another process may have recorded the block already,
-- or an unblock removed it, so the counter is read under its lock. Lock order: card, counter.
--
-- Returns whether this call recorded it.
--
-- Distributed by p_public_token, beside card.
create or replace function report_lost_block(
  p_public_token text,
  p_kind text
) returns boolean
language plpgsql
as $function$
declare
  v_card card := lock_card(p_public_token);
  v_counter try_counter;
  v_pending_since bigint := extract(epoch from clock_timestamp()) * 1000000 - 30000000;
begin
  select * into v_counter
  from try_counter
  where public_token = p_public_token and kind = p_kind
  for no key update;
  if not v_counter.is_unreported_block or v_pending_since < any (v_counter.open_since) then
    return false;
  end if;
  update try_counter
  set block_reported = true
  where public_token = p_public_token and kind = p_kind;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, v_card.client_id, p_kind || '.blocked', null,
    json_build_object('blockedBy', 'tries')::text, null, null
  );
  return true;
end
$function$;
