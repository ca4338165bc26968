-- Supersedes the waiting commands that change or unblock the PIN in the chips of cards, and deletes
-- their PINs: the cards have a PIN that does not go to a chip. The caller has locked the rows of
-- the cards in the same transaction.
create or replace function supersede_pin_commands(p_public_tokens text[]) returns void
language plpgsql
as $function$
declare
  -- Citus rejects clock functions in an update.
  v_now timestamptz := clock_timestamp();
begin
  update chip_command
  set state = 'superseded',
    pin_block = null,
    pin_key = null,
    ended_at = v_now
  where public_token = any (p_public_tokens)
    and state in ('pending', 'sent')
    and command in ('change_pin', 'unblock_pin');
end
$function$;
