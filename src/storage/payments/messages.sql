-- Messages about payments, and expiries of holds. The rules are in database/functions/payments.

-- name: record_payment_message
select recorded.outcome, recorded.card_token as "publicToken", recorded.message_id as "messageId",
  recorded.payment_id as "paymentId",
  recorded.effect, recorded.amount::double precision as "amount",
  recorded.applied::double precision as "applied"
from record_payment_message(
  p_public_token => :publicToken,
  p_network_id => :networkId,
  p_message_id => :messageId,
  p_kind => :kind,
  p_message_key => :messageKey,
  p_is_key_shared => :isKeyShared,
  p_payment_id => :paymentId,
  p_network_transaction_id => :networkTransactionId,
  p_amount => :amount,
  p_is_remaining => :isRemaining,
  p_currency_code => :currencyCode,
  p_is_final => :isFinal,
  p_hold_expires_at => :holdExpiresAt,
  p_network_expires_at => :networkExpiresAt,
  p_now => :now,
  p_merchant => :merchant::text::jsonb,
  p_reference => :reference,
  p_request_id => :requestId
) as recorded;

-- name: list_due_holds
select public_token as "publicToken", payment_id as "paymentId"
from payment
where hold_expires_at <= :now and not is_final and not is_expired and approved > reversed
order by hold_expires_at
limit :limit;

-- name: expire_payment
select expire_payment(
  p_public_token => :publicToken,
  p_payment_id => :paymentId,
  p_message_id => :messageId,
  p_now => :now
) as "isExpired";
