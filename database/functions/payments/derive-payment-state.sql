-- Derives the state of a payment from its row, as derivePaymentState of src/domain/payment.ts does.
--
-- Returns null for a row of nulls.
create or replace function derive_payment_state(p_payment payment) returns text
language sql
immutable
as $function$
select case
  when p_payment.is_final then 'cleared'
  when p_payment.is_expired then 'expired'
  when p_payment.cleared > 0 then 'partlyCleared'
  when p_payment.approved > p_payment.reversed then 'open'
  when p_payment.approved is not null then 'voided'
end
$function$;
