-- Payments: what each purchase or withdrawal holds and has moved, and the messages that changed it.

-- One purchase, withdrawal or refund, however many messages it takes. Amounts are in the smallest
-- unit of currency_code, up to 2^53 - 1. They only grow; but an advice sets approved to reversed +
-- cleared + its amount.
--
-- The open amount is approved - reversed - cleared, at least 0, and 0 once the payment is final or
-- expired. The state is derived from the sums (derive_payment_state), and never stored. An approved
-- authorization writes its payment with its answer: the row is narrow, and has few indexes. What
-- describes the purchase is in the row of the message that opened it.
create table payment (
  public_token text not null,
  -- The id of the authorization or of the message that opened it: a version 7 UUID (RFC 9562).
  payment_id uuid not null,
  -- Of the card, which never changes.
  client_id text not null,
  network_id text not null,
  network_transaction_id text,
  opened_by text not null
    check (opened_by in ('authorization', 'increment', 'advice', 'clearing', 'refund')),
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  approved bigint not null check (approved between 0 and 9007199254740991),
  -- The reversed part of the approved amount.
  reversed bigint not null default 0 check (reversed between 0 and approved),
  cleared bigint not null default 0 check (cleared between 0 and 9007199254740991),
  refunded bigint not null default 0 check (refunded between 0 and 9007199254740991),
  -- The payment holds nothing, and no further clearing is expected.
  is_final boolean not null default false,
  is_expired boolean not null default false,
  -- Whether an advice of the network held an amount again after nothing was held.
  is_reopened boolean not null default false,
  -- Null if it never held anything. On the clock of the service.
  hold_expires_at timestamptz,
  -- The number of its messages after the first, each of which has a position.
  message_count integer not null default 0 check (message_count >= 0),
  opened_at timestamptz not null default clock_timestamp(),
  primary key (public_token, payment_id),
  check (not (is_final and is_expired))
)
with (fillfactor = 90);

-- Its first columns differ from those of every other index, so that no plan confuses them.
create index payment_by_client on payment (client_id, payment_id);
-- Later messages name the payment by the network's id.
create index payment_by_network_transaction
  on payment (network_transaction_id, public_token, payment_id)
  where network_transaction_id is not null;
-- The open holds, by expiry.
create index payment_by_hold_expiry on payment (hold_expires_at)
  where not is_final and not is_expired and approved > reversed;
-- The payments that are over, by age, to be deleted.
create index payment_over_by_age on payment (opened_at)
  where is_final or is_expired or cleared = 0 and approved = reversed;

-- A message that came after the one that opened the payment, or opened it without being an
-- authorization. Rows are only inserted. Replayed by position, they give the payment's row.
create table payment_message (
  public_token text not null,
  -- A version 7 UUID.
  message_id uuid not null,
  -- Null for a reversal that came before its original, or whose original was declined.
  payment_id uuid,
  -- The card of the line that an increment was requested for; null for the card of its payment.
  increment_token text,
  position integer not null check (position >= 0),
  kind text not null
    check (kind in ('increment', 'reversal', 'advice', 'clearing', 'refund', 'expiry')),
  network_id text not null,
  -- The network's own key of the message; null for an expiry, and for an increment, whose
  -- authorization has a key.
  message_key text check (length(message_key) <= 64),
  network_transaction_id text,
  reference text,
  request_id text,
  -- The effect of the message on its payment (src/domain/payment.ts).
  effect text not null,
  -- The network's statement, which a repeat under the same key contains again.
  stated text,
  -- As the network states it, and what it changed: less if a reversal takes back more than is open.
  amount bigint not null check (amount >= 0),
  applied bigint not null,
  -- Null for a reversal of everything that came before its original.
  currency_code text,
  -- Of a clearing: whether no further one follows.
  is_final boolean not null default false,
  merchant jsonb check (jsonb_typeof(merchant) = 'object' and length(merchant::text) <= 600),
  -- Of a reversal that waits for its original: until when, on the clock of the service.
  remembered_until timestamptz,
  received_at timestamptz not null default clock_timestamp(),
  primary key (public_token, message_id)
);

-- One key of the network moves one message.
create unique index payment_message_by_key
  on payment_message (message_key, public_token, network_id, kind)
  where message_key is not null;
create index payment_message_of_payment on payment_message (payment_id, public_token, position)
  where payment_id is not null;
-- Reversals that wait for their originals: few.
create index payment_message_unmatched on payment_message (network_transaction_id, public_token)
  where effect = 'remember';
-- Messages that found no payment, by age: few.
create index payment_message_without_payment on payment_message (received_at)
  where payment_id is null;

-- Payments as they are read. The authorization of the same id describes those that it opened.
create view described_payment as
select payment.public_token as "publicToken", payment.payment_id as "paymentId",
  payment.client_id as "clientId", payment.opened_by as "openedBy",
  payment.currency_code as "currencyCode", payment.approved::double precision as "approved",
  payment.reversed::double precision as "reversed",
  payment.cleared::double precision as "cleared",
  payment.refunded::double precision as "refunded",
  payment.is_final as "isFinal", payment.is_expired as "isExpired",
  payment.is_reopened as "isReopened",
  payment.network_transaction_id as "networkTransactionId",
  payment.hold_expires_at as "holdExpiresAt", payment.opened_at as "openedAt",
  request.transaction_type as "transactionType", request.reference,
  request.merchant::text as "merchant"
from payment
left join authorization_request as request
  on request.public_token = payment.public_token
    and request.authorization_id = payment.payment_id;
