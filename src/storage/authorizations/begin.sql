-- How an authorization begins. The rule is in database/functions/authorizations.

-- name: begin_authorization
select begun.outcome, begun.public_token as "publicToken", begun.client_id as "clientId",
  begun.encrypted_pan as "encryptedPan", begun.status_code as "statusCode",
  begun.expiry_date as "expiryDate", begun.pin_block as "pinBlock", begun.pvv,
  begun.pin_key as "pinKey", begun.cvk, begun.pin_length as "pinLength",
  begun.pin_limit as "pinLimit", begun.pin_remaining as "pinRemaining",
  begun.cvv_limit as "cvvLimit", begun.cvv_remaining as "cvvRemaining",
  begun.try_number as "tryNumber", begun.epoch, begun.remaining
from begin_authorization(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_kind => :kind,
  p_current_month => :currentMonth,
  p_expiry_month => :expiryMonth,
  p_zone_key_name => :zoneKeyName,
  p_zone_key_block => :zoneKeyBlock,
  p_authorization_id => :authorizationId,
  p_network_id => :networkId,
  p_request_id => :requestId,
  p_reference => :reference,
  p_entry_mode => :entryMode,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_transaction_hashes => string_to_array(:transactionHashes, ',')::bytea[],
  p_message_class => :messageClass,
  p_trace => :trace,
  p_transmitted_at => :transmittedAt,
  p_acquirer => :acquirer
) as begun;

-- The same for several callers, as one statement over all of them. It waits for no card: a caller
-- whose counter is locked, or is spent by another of these callers, is left out, and so is one who
-- finds no try left any more; each of them calls the function alone. Keys are claimed in the order
-- of their hashes, so that two shared calls never wait for each other's keys.
-- name: begin_authorization_several
with asked as materialized (
  select caller.*, coalesce(given_token, (
      select known.public_token
      from pan_fingerprint as known
      where known.pan_fingerprint = any (string_to_array(pan_fingerprints, ',')::bytea[])
      limit 1
    )) as public_token
  from unnest(
    :publicTokens::text[], :panFingerprints::text[], :kinds::text[], :currentMonths::text[],
    :expiryMonths::text[], :zoneKeyNames::text[], :zoneKeyBlocks::text[],
    :authorizationIds::uuid[], :networkIds::text[], :requestIds::text[], :references::text[],
    :entryModes::text[], :claimantIds::text[], :keyHashes::text[], :requestFingerprints::bytea[],
    :claimIds::uuid[], :transactionHashes::text[], :messageClass::text[], :traces::text[],
    :transmittedAts::text[], :acquirers::text[]
  ) with ordinality as caller (
    given_token, pan_fingerprints, kind, current_month, expiry_month, zone_key_name,
    zone_key_block, authorization_id, network_id, request_id, reference, entry_mode, claimant_id,
    key_hashes, request_fingerprint, claim_id, transaction_hashes, message_class, trace,
    transmitted_at, acquirer, ordinal
  )
),
-- The card as it is, and what can be said before a try is spent: null where one is to be spent.
read as materialized (
  select asked.ordinal, known.*,
    row_number() over (partition by known.public_token, asked.kind) as place,
    case
      when asked.kind is null or known.public_token is null or known.status_code <> '00'
        or known.expiry_month < asked.current_month or asked.expiry_month <> known.expiry_month
      then 'unspent'
      when asked.zone_key_name is not null and not exists (
        select
        from zone_key
        where zone_key.client_id = asked.network_id and zone_key.key_name = asked.zone_key_name
          and zone_key.key_block = asked.zone_key_block and zone_key.retired_at is null
      )
      then 'stale_zone_key'
      when asked.kind = 'pin' and known.pin_remaining = 0
        or asked.kind = 'cvv' and known.cvv_remaining = 0
      then 'unspent'
    end as outcome
  from asked
  left join lateral (
    select card.public_token, card.client_id, card.encrypted_pan, card.status_code,
      card.expiry_date, to_char(card.expiry_date, 'YYYY-MM') as expiry_month, card.pin_block,
      card.pvv, card.pin_key, card.cvk, product.pin_length, pin.try_limit as pin_limit,
      pin.try_limit - (pin.spent - pin.restored) as pin_remaining, cvv.try_limit as cvv_limit,
      cvv.try_limit - (cvv.spent - cvv.restored) as cvv_remaining
    from card
    join product on product.product_id = card.product_id
    join try_counter as pin on pin.public_token = asked.public_token and pin.kind = 'pin'
    join try_counter as cvv on cvv.public_token = asked.public_token and cvv.kind = 'cvv'
    where card.public_token = asked.public_token
    limit 1
  ) as known on true
),
-- Those whose counter is locked now, and whose key was free.
claimed as materialized (
  select triable.*,
    triable.key_hashes is null
    or begin_network_transaction(
      triable.network_id, string_to_array(triable.transaction_hashes, ',')::bytea[],
      triable.message_class, triable.trace, triable.transmitted_at, triable.acquirer
    )
    and claim_idempotency_key(
      triable.claimant_id, string_to_array(triable.key_hashes, ',')::bytea[],
      triable.request_fingerprint, triable.claim_id, null
    ) as is_claimed
  from (
    select asked.*, counter.row_id
    from read
    join asked using (ordinal)
    cross join lateral (
      select counter.ctid as row_id
      from try_counter as counter
      where counter.public_token = asked.public_token and counter.kind = asked.kind
        and counter.spent - counter.restored < counter.try_limit
      for no key update skip locked
    ) as counter
    where read.outcome is null and read.place = 1
    order by asked.key_hashes
  ) as triable
),
spent as (
  update try_counter as counter
  set spent = counter.spent + 1,
    outstanding_tries = case
      when counter.spent = counter.restored then array[counter.spent + 1]
      else counter.outstanding_tries || (counter.spent + 1)
    end,
    open_since = case
      when counter.spent = counter.restored then array[spent_at]
      else counter.open_since || spent_at
    end
  from claimed
  cross join (
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint as spent_at
  ) as clock
  where claimed.is_claimed and counter.public_token = any (array[claimed.public_token])
    and counter.kind = claimed.kind
  returning claimed.ordinal, counter.spent as try_number, counter.epoch,
    counter.try_limit - (counter.spent - counter.restored) as remaining
),
recorded as (
  insert into authorization_request (
    public_token, authorization_id, network_id, request_id, reference, entry_mode, kind,
    try_number, epoch, result, remaining_tries, to_enter
  )
  select asked.public_token, asked.authorization_id, asked.network_id, asked.request_id,
    asked.reference, asked.entry_mode, asked.kind, spent.try_number, spent.epoch, 'unresolved',
    spent.remaining, true
  from spent
  join asked using (ordinal)
)
select read.ordinal::integer as "ordinal",
  case
    when read.outcome is not null then read.outcome
    when claimed.is_claimed then 'spent'
    else 'taken'
  end as outcome,
  read.public_token as "publicToken", read.client_id as "clientId",
  read.encrypted_pan as "encryptedPan", read.status_code as "statusCode",
  read.expiry_date as "expiryDate", read.pin_block as "pinBlock", read.pvv,
  read.pin_key as "pinKey", read.cvk, read.pin_length as "pinLength",
  read.pin_limit as "pinLimit", read.pin_remaining as "pinRemaining",
  read.cvv_limit as "cvvLimit", read.cvv_remaining as "cvvRemaining",
  spent.try_number as "tryNumber", spent.epoch, spent.remaining
from read
left join claimed using (ordinal)
left join spent using (ordinal)
where read.outcome is not null or claimed.ordinal is not null;

-- name: find_card_reference
select card.public_token as "publicToken", card.client_id as "clientId",
  card.encrypted_pan as "encryptedPan"
from card
where card.public_token = :publicToken;

-- name: find_card_reference_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken",
  found.client_id as "clientId", found.encrypted_pan as "encryptedPan"
from unnest(:publicTokens::text[]) with ordinality as asked (public_token, ordinal)
cross join lateral (
  select card.public_token, card.client_id, card.encrypted_pan
  from card
  where card.public_token = any(array[asked.public_token])
  limit 1
) as found;

-- A cluster is told by the list, before it reads it, which node has the row.
-- name: find_token_by_pan
select known.public_token as "publicToken"
from pan_fingerprint as known
where known.pan_fingerprint = any(string_to_array(:panFingerprints, ',')::bytea[])
limit 1;

-- name: find_token_by_pan_several
select asked.ordinal::integer as "ordinal", found.public_token as "publicToken"
from unnest(:panFingerprints::text[]) with ordinality as asked (pan_fingerprints, ordinal)
cross join lateral (
  select known.public_token
  from pan_fingerprint as known
  where known.pan_fingerprint = any(string_to_array(asked.pan_fingerprints, ',')::bytea[])
  limit 1
) as found;
