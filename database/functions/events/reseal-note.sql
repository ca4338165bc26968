-- Replaces the sealed note of an event with the same note under another key, if it is still p_note.
--
-- Returns whether it was replaced.
create or replace function reseal_note(
  p_public_token text,
  p_sequence integer,
  p_note bytea,
  p_resealed bytea
) returns boolean
language plpgsql
as $function$
begin
  update event
  set note = p_resealed
  where public_token = p_public_token and sequence = p_sequence and note is not null
    and note = p_note;
  return found;
end
$function$;
