-- Records an act on a product, a client, a key, a card, a person, a setting or the log itself.
--
-- Acts are numbered without gaps (next_audit_act_number). Recorded acts never change: no function
-- updates or deletes one.
--
-- Returns the id of the act.
create or replace function record_act(
  p_act text,
  p_subject_kind text,
  p_subject text,
  p_details text,
  p_client_id text,
  p_request_id text
) returns uuid
language plpgsql
as $function$
declare
  v_act_id uuid;
begin
  insert into audit_act (act, subject_kind, subject, details, client_id, request_id)
  values (p_act, p_subject_kind, p_subject, p_details, p_client_id, p_request_id)
  returning act_id into v_act_id;
  return v_act_id;
end
$function$;
