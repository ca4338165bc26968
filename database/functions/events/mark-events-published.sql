-- Marks events of the outbox as published, once they are in the feeds.
--
-- The list is materialized and joined row by row, so that no plan reads more than its rows.
create or replace function mark_events_published(
  p_times timestamptz[],
  p_public_tokens text[],
  p_sequences integer[]
) returns void
language plpgsql
as $function$
begin
  with done as materialized (
    select *
    from unnest(p_times, p_public_tokens, p_sequences)
      as done (occurred_at, public_token, sequence)
  )
  update event
  set published = true
  from done
  where event.occurred_at = any(array[done.occurred_at])
    and event.public_token between done.public_token and done.public_token
    and event.sequence between done.sequence and done.sequence;
end
$function$;
