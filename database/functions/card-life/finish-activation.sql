-- Makes a successor the active card of its line, after its row has the status 00: retires every
-- card of a lower generation that is not closed, and gives it the tries of the PIN that it was
-- given.
--
-- A PIN of a lost or stolen card comes with all tries. If some of them were spent, that is an
-- unblock of the PIN, and takes a use of its limit (restore_tries). Otherwise each replacement of a
-- lost card would allow as many guesses at the same PIN again. If no use is left, the spent tries
-- stay spent.
--
-- p_line has the tokens of the line up to the successor, whose rows the caller has locked.
create or replace function finish_activation(
  p_line text[],
  p_pin_source_token text,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer,
  p_today date,
  p_request_id text,
  p_operator_id text
) returns void
language plpgsql
as $function$
declare
  v_public_token text;
  v_line_token text := p_line[1];
  v_successor_token text := p_line[cardinality(p_line)];
  v_activated_at timestamptz := clock_timestamp();
  v_is_retired_now boolean;
  v_is_source_retired_now boolean := false;
  v_source_status text;
  v_has_spent_tries boolean;
  v_is_carried boolean;
begin
  foreach v_public_token in array p_line loop
    continue when v_public_token = v_successor_token;
    v_is_retired_now := retire_card(
      v_public_token, v_successor_token, p_today, p_request_id, p_operator_id
    );
    if v_public_token = p_pin_source_token then
      v_is_source_retired_now := v_is_retired_now;
    end if;
  end loop;
  if p_pin_source_token is not null then
    select status_code into v_source_status
    from card
    where public_token = p_pin_source_token;
    -- Read before the call: Citus runs a statement with both on a shard, and rejects the call
    -- there.
    v_has_spent_tries := exists (
      select
      from try_counter
      where public_token = p_pin_source_token and kind = 'pin'
        and (spent > restored or is_withdrawn)
    );
    v_is_carried := v_source_status not in ('41', '43');
    if not v_is_carried and v_has_spent_tries then
      v_is_carried := not use_card_limit(v_line_token, p_limit_name, p_uses, p_window_seconds);
    end if;
    if v_is_carried then
      perform carry_tries(p_pin_source_token, v_successor_token, v_is_source_retired_now);
    end if;
  end if;
  update card_line
  set activated_at = v_activated_at
  where public_token = v_line_token and successor_token = v_successor_token;
end
$function$;
