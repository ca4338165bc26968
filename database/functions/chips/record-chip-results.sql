-- Records what a message of a chip and its answer changed: the commands that the answer carried
-- (p_sent), those that the chip has carried out or refused (p_done, p_failed) or that were sent too
-- often without a result (p_unconfirmed), and the tries that remain for the PIN in the chip, null
-- if the message does not say it. An older message than the last one does not change them.
--
-- A change of the PIN and an unblock restore the tries in the chip. Once one of them is done,
-- reports up to the counter of the answer that carried it are out of date, also ones that come
-- later.
--
-- A command for the first chip that comes is for the chip that it was sent to.
--
-- A command that has ended stays as it is, so the call may be repeated. A command may be done or
-- failed before it counts as sent, because the process that sent it may have been lost. Only the
-- first sending is an event. Lock order: card, command.
--
-- Returns whether anything changed.
--
-- Distributed by p_public_token, beside card.
create or replace function record_chip_results(
  p_public_token text,
  p_pan_sequence_number text,
  p_atc integer,
  p_sent integer[],
  p_done integer[],
  p_failed integer[],
  p_unconfirmed integer[],
  p_remaining_offline_tries integer
) returns boolean
language plpgsql
as $function$
declare
  v_card card;
  v_command chip_command;
  v_state text;
  v_is_changed boolean := false;
  v_restored_atc integer;
  v_now timestamptz := clock_timestamp();
begin
  v_card := lock_card(p_public_token);
  for v_command in
    select *
    from chip_command
    where public_token = p_public_token and state in ('pending', 'sent')
    order by command_number
  loop
    v_state := case
      when v_command.command_number = any (p_done) then 'done'
      when v_command.command_number = any (p_failed) then 'failed'
      when v_command.command_number = any (p_unconfirmed) then 'unconfirmed'
      when v_command.command_number = any (p_sent) then 'sent'
    end;
    continue when v_state is null;
    v_is_changed := true;
    if v_state = 'done' and v_command.command in ('change_pin', 'unblock_pin') then
      v_restored_atc := greatest(v_restored_atc, coalesce(v_command.sent_atc, p_atc));
    end if;
    if v_state = 'sent' then
      update chip_command
      set state = 'sent',
        sent_at = v_now,
        sent_count = sent_count + 1,
        sent_to = p_pan_sequence_number,
        -- A slower answer to an older transaction of the same chip changes nothing.
        sent_atc = case
          when sent_to = p_pan_sequence_number then greatest(sent_atc, p_atc)
          else p_atc
        end,
        pan_sequence_number = case
          when command not in ('change_pin', 'unblock_pin')
          then coalesce(pan_sequence_number, p_pan_sequence_number)
        end
      where public_token = p_public_token and command_number = v_command.command_number;
    else
      update chip_command
      set state = v_state,
        pin_block = null,
        pin_key = null,
        ended_at = v_now
      where public_token = p_public_token and command_number = v_command.command_number;
    end if;
    if v_state <> v_command.state then
      v_card.last_sequence := v_card.last_sequence + 1;
      update card
      set last_sequence = v_card.last_sequence
      where public_token = p_public_token;
      perform record_event(
        p_public_token, v_card.last_sequence, v_card.client_id, 'chip.command_' || v_state, null,
        json_build_object(
          'commandNumber', v_command.command_number, 'command', v_command.command
        )::text,
        null, null
      );
    end if;
  end loop;
  if v_restored_atc is not null then
    update chip
    set restored_atc = greatest(restored_atc, v_restored_atc),
      remaining_offline_tries = case
        when offline_tries_atc > v_restored_atc then remaining_offline_tries
      end,
      offline_tries_at = case when offline_tries_atc > v_restored_atc then offline_tries_at end,
      offline_tries_atc = case when offline_tries_atc > v_restored_atc then offline_tries_atc end
    where public_token = p_public_token and pan_sequence_number = p_pan_sequence_number;
  end if;
  if p_remaining_offline_tries is not null then
    update chip
    set remaining_offline_tries = p_remaining_offline_tries,
      offline_tries_at = v_now,
      offline_tries_atc = p_atc
    where public_token = p_public_token and pan_sequence_number = p_pan_sequence_number
      and highest_atc <= p_atc and coalesce(restored_atc, -1) < p_atc;
    v_is_changed := v_is_changed or found;
  end if;
  return v_is_changed;
end
$function$;
