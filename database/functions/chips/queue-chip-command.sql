-- Queues a command to the chip of a card, and records its event. The caller has locked the card's
-- row in the same transaction.
--
-- The command has the number of its event. It supersedes the waiting commands that it makes
-- needless: one of its kind, an unblock by a change of the PIN, which unblocks, too, and an
-- application's unblock by its block, and the reverse. Commands that put different tags, or are for
-- different chips, stand beside each other.
--
-- p_pan_sequence_number names the chip; null: the newest that was seen, or without one the first
-- that comes. Commands for the PIN follow the newest chip.
--
-- Returns the number of the command.
create or replace function queue_chip_command(
  p_public_token text,
  p_client_id text,
  p_command text,
  p_pin_block bytea,
  p_pin_key text,
  p_data_object bytea,
  p_pan_sequence_number text,
  p_request_id text,
  p_operator_id text
) returns integer
language plpgsql
as $function$
declare
  v_number integer;
  v_now timestamptz := clock_timestamp();
  v_is_for_pin boolean := p_command in ('change_pin', 'unblock_pin');
  v_newest_chip text;
  v_chip text;
  v_superseded text[] := case p_command
    when 'change_pin' then array['change_pin', 'unblock_pin']
    when 'block_application' then array['block_application', 'unblock_application']
    when 'unblock_application' then array['block_application', 'unblock_application']
    else array[p_command]
  end;
begin
  update card
  set last_sequence = last_sequence + 1
  where public_token = p_public_token
  returning last_sequence into v_number;
  if not v_is_for_pin then
    select max(pan_sequence_number) into v_newest_chip
    from chip
    where public_token = p_public_token;
    v_chip := coalesce(p_pan_sequence_number, v_newest_chip);
  end if;
  update chip_command
  set state = 'superseded',
    pin_block = null,
    pin_key = null,
    ended_at = v_now
  where public_token = p_public_token
    and state in ('pending', 'sent')
    and command = any (v_superseded)
    and (
      v_is_for_pin
      or pan_sequence_number is not distinct from v_chip
      or pan_sequence_number is null and v_chip = v_newest_chip
    )
    and (
      p_command <> 'put_data'
      or substring(data_object from 1 for 2) = substring(p_data_object from 1 for 2)
    );
  insert into chip_command (
    public_token, command_number, command, pin_block, pin_key, data_object,
    pan_sequence_number
  )
  values (
    p_public_token, v_number, p_command, p_pin_block, p_pin_key, p_data_object, v_chip
  );
  perform record_event(
    p_public_token, v_number, p_client_id, 'chip.command_queued', p_request_id,
    json_build_object('commandNumber', v_number, 'command', p_command)::text, null, p_operator_id
  );
  return v_number;
end
$function$;
