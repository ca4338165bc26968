-- Authorization requests of card networks: the tries that they spent, and their answers.

-- A request of a card network about a card: the try that it spent, the result of each check, and
-- the answer. The row is written when the try is spent, and completed when the try is settled; for
-- a request that spends no try, it is written with the answer. If a request has a PIN and a CVV2,
-- the CVV2 is tried after the PIN has matched: its try opens the row with the answer.
--
-- Old rows are deleted: no decision depends on them. A recent row says what a reversal gives back
-- to the limits (move_spending), and whether the original of a reversal was declined. No foreign
-- key: it would lock the card's row, which is a write to another page.
create table authorization_request (
  public_token text not null,
  -- A version 7 UUID (RFC 9562): the ids of a card are in chronological order.
  authorization_id uuid not null,
  -- Of the card, which never changes.
  client_id text not null,
  network_id text not null,
  request_id text not null,
  reference text not null,
  entry_mode text not null,
  transaction_type text not null default 'purchase' check (
    transaction_type in (
      'purchase', 'cash', 'cashback', 'quasiCash', 'refund', 'funding', 'credit', 'inquiry'
    )
  ),
  -- In the smallest unit of the currency; null where the network gave no amount.
  amount bigint check (amount between 0 and 999999999999),
  currency_code text check (currency_code ~ '^[A-Z]{3}$'),
  -- The amount that the cardholder is charged, as the network converted it; null if not sent.
  billing_amount bigint check (billing_amount between 0 and 999999999999),
  billing_currency_code text check (billing_currency_code ~ '^[A-Z]{3}$'),
  -- The part of the amount that is paid out in cash, of a purchase with cash.
  cashback_amount bigint check (cashback_amount between 0 and amount),
  -- The merchant as the network describes it, as one value: it is read whole, and its members are
  -- texts of the acquirer that no statement compares.
  merchant jsonb check (jsonb_typeof(merchant) = 'object' and length(merchant::text) <= 600),
  network_transaction_id text check (length(network_transaction_id) <= 15),
  -- The approved part of the amount, in its currency; null unless it was approved in part.
  approved_amount bigint check (approved_amount > 0 and approved_amount < amount),
  -- The payment that the approval opened or raised: null if it holds nothing.
  payment_id uuid,
  requested_at timestamptz not null default clock_timestamp(),
  -- The try: all null if none was spent.
  kind text check (kind in ('pin', 'cvv')),
  -- The value of try_counter.spent after this try: it never repeats.
  try_number integer,
  epoch integer,
  result text check (result in ('unresolved', 'match', 'mismatch')),
  -- Whether the try was restored: by its own match, by a later match, or because the HSM did not
  -- answer.
  restored boolean not null default false,
  -- From the counter's row: after the spend, and after the result once it is known.
  remaining_tries integer,
  -- The answer: null until it is given, and permanently if a process was lost before.
  response_code text,
  -- The checks in the order in which they ran, as JSON, without the checked values.
  checks text,
  duration_ms integer,
  decided_at timestamptz,
  -- The versions of the controls that decided; null without controls.
  product_controls_version integer,
  card_controls_version integer,
  -- The share of the authorization in the windows of limits that was not given back, and the basis
  -- of its later changes (move_payment_spending); null if no limit counted it:
  -- {"amount": 1234, "count": 1, "windows": {"day": "2026-11-27"}, "basis": "authorized"}.
  spending jsonb check (jsonb_typeof(spending) = 'object'),
  primary key (public_token, authorization_id),
  check ((amount is null) = (currency_code is null)),
  check ((billing_amount is null) = (billing_currency_code is null)),
  check (billing_amount is null or amount is not null)
)
-- Leaves room for the answers on the page of the requests, so that an answer changes no index: a
-- row is twice as long with its answer.
with (fillfactor = 50);

create index authorization_request_by_try on authorization_request (public_token, kind, try_number)
  where try_number is not null;
-- A client's authorizations over all its cards, newest first.
create index authorization_request_by_client on authorization_request (client_id, authorization_id);
-- A network's references mostly ascend, as time does: both indexes are written at their end.
create index authorization_request_by_reference
  on authorization_request (reference, authorization_id);
create index authorization_request_by_time on authorization_request (requested_at);

-- The authorization requests that spent a try.
create view attempt as
select public_token, kind, try_number, epoch, requested_at as attempted_at, result, restored,
  remaining_tries, entry_mode, reference, network_id, request_id
from authorization_request
where try_number is not null;

-- The answered ones, as they are read. Rows without an answer are in progress, their process was
-- lost, or their CVV2 was tried next.
create view answered_authorization as
select public_token as "publicToken", client_id as "clientId",
  authorization_id as "authorizationId", network_id as "networkId", request_id as "requestId",
  reference, entry_mode as "entryMode", transaction_type as "transactionType",
  amount::double precision as "amount", currency_code as "currencyCode",
  billing_amount::double precision as "billingAmount",
  billing_currency_code as "billingCurrencyCode",
  cashback_amount::double precision as "cashbackAmount",
  approved_amount::double precision as "approvedAmount",
  merchant::text as "merchant", network_transaction_id as "networkTransactionId",
  payment_id as "paymentId",
  response_code as "responseCode", checks, remaining_tries as "remainingTries",
  duration_ms as "durationMs",
  -- The arrival: requested_at is the time of the row, which a request without a try gets last.
  to_char(
    (decided_at - duration_ms * interval '1 millisecond') at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
  ) as "requestedAt",
  to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"
from authorization_request
where response_code is not null;

-- The answered ones, as controls see them: a back-test decides them again. "cashCharge" is that of
-- findCashCharge (src/domain/transaction.ts). "control" is the one that declined: only the last
-- check can have objected.
create view decided_authorization as
select client_id as "clientId", public_token as "publicToken",
  authorization_id as "authorizationId",
  entry_mode as "entryMode", transaction_type as "transactionType",
  coalesce(billing_amount, amount)::double precision as "amount",
  coalesce(billing_currency_code, currency_code) as "currency",
  (case
    when billing_amount is null or amount = 0 then cashback_amount
    else div(cashback_amount::numeric * billing_amount + amount - 1, amount)
  end)::double precision as "cashCharge",
  merchant ->> 'id' as "merchantId", merchant ->> 'categoryCode' as "categoryCode",
  merchant ->> 'country' as "country", response_code as "responseCode",
  approved_amount::double precision as "approvedAmount",
  case
    when response_code in ('00', '10') then null
    when response_code = checks::jsonb -> -1 ->> 'responseCode'
    then checks::jsonb -> -1 ->> 'control'
  end as "control"
from authorization_request
where response_code is not null;

-- The number of authorization requests by client, code and past minute: the cost of a chart depends
-- on what it shows. The next count repeats the newest minute, which completes it.
create table authorization_count (
  minute timestamptz not null,
  client_id text not null,
  response_code text not null,
  -- The currency that the cardholder is charged in; empty if the network gave no amount.
  currency_code text not null default '',
  count bigint not null check (count > 0),
  -- The sum that the approvals held, in the smallest unit of the currency.
  held_amount bigint not null default 0 check (held_amount >= 0),
  primary key (minute, client_id, response_code, currency_code)
);

-- The sums of complete hours: a chart of a month would read 43,200 minutes.
create table authorization_hour_count (
  hour timestamptz not null,
  client_id text not null,
  response_code text not null,
  currency_code text not null default '',
  count bigint not null check (count > 0),
  held_amount bigint not null default 0 check (held_amount >= 0),
  primary key (hour, client_id, response_code, currency_code)
);
