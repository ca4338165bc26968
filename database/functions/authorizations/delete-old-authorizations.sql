-- Deletes some of the authorization requests that are more than p_days days old.
--
-- A request that the audit log has not read yet stays. Old requests are deleted after their day has
-- ended. The list is materialized and joined row by row, so that no plan reads more than its rows.
--
-- Returns how many rows were deleted.
create or replace function delete_old_authorizations(
  p_days integer,
  p_limit integer
) returns integer
language plpgsql
as $function$
declare
  v_count integer;
begin
  with old as materialized (
    select public_token, authorization_id
    from authorization_request
    where requested_at < (select date_trunc('day', now(), 'UTC') - make_interval(days => p_days))
      and requested_at <= (
        select timestamptz 'epoch' + position * interval '1 microsecond'
        from audit_entered
        where source = 'tries'
      )
    order by requested_at
    limit p_limit
  )
  delete from authorization_request
  using old
  where authorization_request.public_token = any(array[old.public_token])
    and authorization_request.authorization_id
      between old.authorization_id and old.authorization_id
    and now() - requested_at > make_interval(days => p_days);
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;
