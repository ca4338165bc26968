-- Lists cards of a client that are in one of some statuses, which are not final, and of which the
-- last day lies from p_from until before p_before: of each expiry and status the newest after a
-- card, at most the longest page and one more.
--
-- Scans each expiry separately, as there are as many as months. Without statistics, a planner would
-- rather sort all cards of an expiry than read their index in its order: so sorting is off here.
create or replace function list_open_cards(
  p_client_id text,
  p_status_codes text[],
  p_from date,
  p_before date,
  p_created_at timestamptz,
  p_public_token text
) returns table (listed_token text, listed_at timestamptz)
language plpgsql stable
set enable_sort = off
set enable_incremental_sort = off
as $function$
declare
  v_from date := p_from;
  v_client_id text;
  v_valid_until date;
  v_status_code text;
begin
  loop
    -- The next card in the order of the index, of any client: a card of another client shows that
    -- the client has no such card.
    select client_id, valid_until
    into v_client_id, v_valid_until
    from card
    where (client_id, valid_until) >= (p_client_id, v_from)
      and status_code not in ('41', '43', '46', '54', '83')
    order by client_id, valid_until
    limit 1;
    exit when not found or v_client_id <> p_client_id or v_valid_until >= p_before;
    foreach v_status_code in array p_status_codes loop
      return query
      select public_token, created_at
      from card
      where (client_id, valid_until, status_code, created_at, public_token)
          < (p_client_id, v_valid_until, v_status_code, p_created_at, p_public_token)
        and (client_id, valid_until, status_code) >= (p_client_id, v_valid_until, v_status_code)
        and status_code not in ('41', '43', '46', '54', '83')
      order by client_id desc, valid_until desc, status_code desc, created_at desc,
        public_token desc
      limit 101;
    end loop;
    v_from := v_valid_until + 1;
  end loop;
end
$function$;
