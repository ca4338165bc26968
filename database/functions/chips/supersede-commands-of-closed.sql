-- Supersedes the waiting commands of cards that have closed or expired, and deletes their PINs. The
-- commands that block a chip stay, because such a chip must still stop. The caller has locked the
-- rows of the cards in the same transaction.
create or replace function supersede_commands_of_closed(p_public_tokens text[]) returns void
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
    and command not in ('block_application', 'block_card');
end
$function$;
