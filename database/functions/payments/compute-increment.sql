-- Computes what an approved increment adds to the payment that it would raise, and what it takes
-- from the limits: p_spending for reserve_spending, null without controls. If it would open a
-- payment of its own, it adds p_amount, and p_spending stays. p_public_token is the card of the
-- payment. The caller has locked it, so that no other message is counted twice.
--
-- With p_is_new_total, p_amount is the new total, and the increment adds the difference, at least
-- nothing. If limits count what is open and cleared, as the first approval of the payment or else
-- p_spending says, they have counted a clearing beyond the hold already: only the rest is counted.
-- The cash of a new total is counted less the cash of the first approval.
create or replace function compute_increment(
  p_public_token text,
  p_network_id text,
  p_network_transaction_id text,
  p_payment_id uuid,
  p_amount bigint,
  p_is_new_total boolean,
  p_currency_code text,
  p_spending jsonb,
  out added bigint,
  out spending jsonb
)
language plpgsql
as $function$
declare
  v_payment payment := find_payment_to_change(
    p_public_token, p_network_id, p_payment_id, p_network_transaction_id
  );
  v_first jsonb;
  v_counted bigint;
  v_held bigint := v_payment.approved - v_payment.reversed;
begin
  added := p_amount;
  spending := p_spending;
  if coalesce(derive_payment_state(v_payment), 'none') not in ('open', 'partlyCleared')
    or v_payment.currency_code <> p_currency_code
  then
    return;
  end if;
  v_first := find_first_spending(v_payment);
  if p_is_new_total then
    added := greatest(0, p_amount - v_held);
  end if;
  v_counted := case coalesce(v_first ->> 'basis', p_spending ->> 'basis')
    when 'cleared' then greatest(0, added - greatest(0, v_payment.cleared - v_held))
    else added
  end;
  spending := p_spending || jsonb_build_object('amount', v_counted, 'count', least(1, v_counted));
  if p_is_new_total and p_spending ? 'cash' then
    spending := spending || jsonb_build_object(
      'cash',
      greatest(0, (p_spending ->> 'cash')::bigint - coalesce((v_first ->> 'cash')::bigint, 0))
    );
  end if;
end
$function$;
