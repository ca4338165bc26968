-- Records an event of a card in the outbox.
--
-- The caller has locked the card's row and raised its last_sequence to p_sequence in the same
-- transaction: so the events of a card have no gap, and each event commits with its change.
create or replace function record_event(
  p_public_token text,
  p_sequence integer,
  p_client_id text,
  p_type text,
  p_request_id text,
  p_details text,
  p_note bytea,
  p_operator_id text
) returns void
language plpgsql
as $function$
begin
  insert into event (
    public_token, sequence, client_id, type, request_id, details, note, operator_id
  )
  values (
    p_public_token, p_sequence, p_client_id, p_type, p_request_id, p_details, p_note,
    p_operator_id
  );
end
$function$;
