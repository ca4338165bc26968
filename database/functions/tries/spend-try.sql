-- Spends one try of a card's PIN or CVV, if one is left, and records it.
--
-- A try is spent and committed before its value is compared, so that neither a burst of requests
-- nor a crash allows an extra guess. Concurrent spends take turns on the counter's row, and each
-- sees the result of the previous one. spent and restored only grow, and spent numbers the tries:
-- no number repeats. The try is recorded as unresolved in the row of its authorization, which is
-- answered later.
--
-- Returns the number and the epoch of the try, and how many tries remain; nulls if none was left.
create or replace function spend_try(
  p_public_token text,
  p_client_id text,
  p_kind text,
  p_authorization_id uuid,
  p_network_id text,
  p_request_id text,
  p_reference text,
  p_entry_mode text,
  p_transaction_type text,
  p_amount bigint,
  p_currency_code text,
  p_billing_amount bigint,
  p_billing_currency_code text,
  p_cashback_amount bigint,
  p_merchant jsonb,
  p_network_transaction_id text,
  out try_number integer,
  out epoch integer,
  out remaining integer
)
language plpgsql
as $function$
declare
  v_at bigint := extract(epoch from clock_timestamp()) * 1000000;
begin
  -- If no try is outstanding, the lists belong to an epoch that has ended.
  update try_counter as counter
  set spent = counter.spent + 1,
    outstanding_tries = case
      when counter.spent = counter.restored then array[counter.spent + 1]
      else counter.outstanding_tries || (counter.spent + 1)
    end,
    open_since = case
      when counter.spent = counter.restored then array[v_at]
      else counter.open_since || v_at
    end
  where counter.public_token = p_public_token
    and counter.kind = p_kind
    and counter.spent - counter.restored < counter.try_limit
  returning counter.spent, counter.epoch,
    counter.try_limit - (counter.spent - counter.restored)
  into try_number, epoch, remaining;
  if not found then
    return;
  end if;
  insert into authorization_request (
    public_token, authorization_id, client_id, network_id, request_id, reference, entry_mode,
    transaction_type, amount, currency_code, billing_amount, billing_currency_code,
    cashback_amount, merchant, network_transaction_id, kind, try_number, epoch, result,
    remaining_tries
  )
  values (
    p_public_token, p_authorization_id, p_client_id, p_network_id, p_request_id, p_reference,
    p_entry_mode, p_transaction_type, p_amount, p_currency_code, p_billing_amount,
    p_billing_currency_code, p_cashback_amount, p_merchant, p_network_transaction_id, p_kind,
    try_number, epoch, 'unresolved', remaining
  );
end
$function$;
