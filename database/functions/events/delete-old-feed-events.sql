-- Reads p_limit events of a client's feed after a position, and deletes those that were published
-- more than p_days days ago.
--
-- An event that is not yet in the audit log stays, regardless of its age. So does an event with a
-- pending delivery, and an event that happened on p_before_day (since 1970) or later, which is
-- deleted with its slice.
--
-- Returns the position of the last old event that it read; null if it read none.
--
-- Distributed by p_client_id, beside feed_head.
create or replace function delete_old_feed_events(
  p_client_id text,
  p_after bigint,
  p_days integer,
  p_before_day double precision,
  p_limit integer
) returns bigint
language plpgsql
as $function$
declare
  v_position bigint;
begin
  with looked as materialized (
    select position, published_at, occurred_at
    from published_event
    where client_id = p_client_id and position > p_after
      and position <= coalesce(
        (select audit_feed.position from audit_feed where client_id = p_client_id), 0
      )
    order by position
    limit p_limit
  ), step as materialized (
    select position
    from looked
    where published_at < now() - make_interval(days => p_days)
      and occurred_at < to_timestamp(p_before_day * 86400)
  ), queued as materialized (
    select position, status
    from delivery
    where client_id = p_client_id
      and webhook_id = any(array(select webhook_id from webhook where client_id = p_client_id))
      and position = any(array(select position from step))
  ), gone as (
    delete from published_event
    where client_id = p_client_id and position > p_after
      and position <= (select max(position) from step)
      and now() - published_at > make_interval(days => p_days)
      and occurred_at < to_timestamp(p_before_day * 86400)
      and position <> all(array(select position from queued where status = 'Pending'))
  )
  select max(position)
  into v_position
  from step;
  return v_position;
end
$function$;
