-- Derives what is still held of a payment, as deriveOpenAmount of src/domain/payment.ts does.
create or replace function derive_open_amount(p_payment payment) returns bigint
language sql
immutable
as $function$
select case
  when p_payment.is_final or p_payment.is_expired then 0
  else greatest(0, p_payment.approved - p_payment.reversed - p_payment.cleared)
end
$function$;
