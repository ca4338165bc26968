-- Begins an authorization: reads the card and, if it can be authorized, spends a try of the value
-- to compare.
--
-- The card is named by p_public_token or by the fingerprints of its PAN, one for each version of
-- their key.
--
-- A try is spent if p_kind names the value to compare, the card is active and not expired in
-- p_current_month, p_expiry_month is the card's or null, an amount to charge is in the currency of
-- the card's product, no control without money objects, and the zone key p_zone_key_name is still
-- the one that opened the PIN block.
--
-- The try, its row of authorization_request and the claim of the idempotency key commit together,
-- before the comparison: so a repeat never spends again. Lock order: chip, counter, transaction,
-- key. If the card has no try left when it is read, nothing is locked.
--
-- p_chip is null unless the request has a right cryptogram, whose chip is used (lock_chip,
-- use_chip) with the spend. p_missing_data names the policies of the product's chip that decide on
-- what the request does not have: the data of a chip or of a stripe that was read. No try is spent
-- if one of them is to decline.
--
-- p_is_plastic_used: the request comes from the plastic, and not from its number. No try is spent
-- then if the card was converted and its plastic has not been activated. Nor is one for the chip of
-- a plastic that waits, is retired or was cancelled.
--
-- Returns the card, or nulls if no card was found, and one of these outcomes:
--   spent: a try was spent, and its number, epoch and remaining tries are returned.
--   none_left: concurrent requests spent the last try. The key is claimed.
--   unspent: the request has no value to compare, or the card cannot be tried; the caller
--     determines the reason.
--   replayed: the cryptogram was used before, and nothing was done.
--   stale_zone_key: the zone key was retired or replaced.
--   taken: the key was not free, or a reversal overtook the transaction.
-- controls is what apply_controls returns; null if neither the card nor its product has controls.
-- product_chip is how the chip of the card works; null for a card without a chip.
-- has_decision_endpoint says whether the card's client has registered an endpoint, in force or not:
-- all others take no further read.
--
-- Distributed by p_public_token, beside card.
create or replace function begin_authorization(
  p_public_token text,
  p_pan_fingerprints bytea[],
  p_kind text,
  p_current_month text,
  p_expiry_month text,
  p_zone_key_name text,
  p_zone_key_block text,
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
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_transaction_hashes bytea[],
  p_message_class text,
  p_trace text,
  p_transmitted_at text,
  p_acquirer text,
  p_chip jsonb,
  p_missing_data text[],
  p_is_plastic_used boolean,
  out outcome text,
  out public_token text,
  out client_id text,
  out encrypted_pan bytea,
  out status_code text,
  out expiry_date date,
  out pin_block bytea,
  out pvv text,
  out pin_key text,
  out cvk text,
  out pin_length integer,
  out card_currency_code text,
  out pin_limit integer,
  out pin_remaining integer,
  out cvv_limit integer,
  out cvv_remaining integer,
  out try_number integer,
  out epoch integer,
  out remaining integer,
  out controls jsonb,
  out product_id integer,
  out last_four text,
  out customer_reference text,
  out has_decision_endpoint boolean,
  out product_chip jsonb,
  out valid_until date,
  out waiting_expiry_date date,
  out plastic_number integer,
  out last_plastic_number integer,
  out is_plastic_inactive boolean
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  v_public_token text := p_public_token;
  v_line_token text;
  v_expiry_month text;
  v_is_zone_key boolean;
  v_product_controls jsonb;
  v_product_version integer;
  v_card_version integer;
  v_spent record;
begin
  outcome := 'unspent';
  if v_public_token is null then
    select known.public_token into v_public_token
    from pan_fingerprint as known
    where known.pan_fingerprint = any (p_pan_fingerprints)
    limit 1;
  end if;
  select card.public_token, card.client_id, card.encrypted_pan, card.status_code,
    card.expiry_date, card.pin_block, card.pvv, card.pin_key, card.cvk,
    product.pin_length, product.currency_code,
    pin.try_limit, pin.try_limit - (pin.spent - pin.restored),
    cvv.try_limit, cvv.try_limit - (cvv.spent - cvv.restored),
    p_zone_key_name is null or exists (
      select
      from zone_key
      where zone_key.client_id = p_network_id and zone_key.key_name = p_zone_key_name
        and zone_key.key_block = p_zone_key_block and zone_key.retired_at is null
    ),
    product.controls, product.controls_version, card.controls_version, card.product_id,
    right(card.masked_pan, 4), card.customer_reference, exists (
      select
      from decision_endpoint_state as state
      where state.client_id = any (array[card.client_id])
    ),
    -- The virtual form of a converted card works on without a chip.
    case when card.card_type = 'Physical' and not card.is_plastic_inactive then product.chip end,
    card.valid_until, card.waiting_expiry_date, card.plastic_number, card.last_plastic_number,
    card.is_plastic_inactive, card.line_token
  into public_token, client_id, encrypted_pan, status_code, expiry_date, pin_block, pvv, pin_key,
    cvk, pin_length, card_currency_code, pin_limit, pin_remaining, cvv_limit, cvv_remaining,
    v_is_zone_key, v_product_controls, v_product_version, v_card_version, product_id, last_four,
    customer_reference, has_decision_endpoint, product_chip, valid_until, waiting_expiry_date,
    plastic_number, last_plastic_number, is_plastic_inactive, v_line_token
  from card
  -- The limit keeps the planner from beginning with the cards of the product.
  cross join lateral (
    select product.pin_length, product.currency_code, product.controls, product.controls_version,
      product.chip
    from product
    where product.product_id = card.product_id
    limit 1
  ) as product
  join try_counter as pin on pin.public_token = v_public_token and pin.kind = 'pin'
  join try_counter as cvv on cvv.public_token = v_public_token and cvv.kind = 'cvv'
  where card.public_token = v_public_token;
  -- In a statement of its own: a cluster refuses reads of a function that is called for a row.
  if v_card_version > 0 or v_product_controls is not null then
    controls := apply_controls(
      public_token, v_line_token, v_product_controls, v_product_version, card_currency_code,
      v_card_version, p_entry_mode, p_transaction_type, p_merchant
    );
  end if;
  v_expiry_month := to_char(expiry_date, 'YYYY-MM');
  if p_kind is null or public_token is null or status_code <> '00'
    or v_expiry_month < p_current_month or p_expiry_month <> v_expiry_month
    or is_plastic_inactive and p_is_plastic_used
    or is_chip_of_other_plastic(
      p_chip ->> 'panSequenceNumber', product_chip, plastic_number, last_plastic_number
    )
    or coalesce(p_billing_amount, p_amount) > 0
    and coalesce(p_billing_currency_code, p_currency_code) <> card_currency_code
    or controls ? 'objection'
    or exists (
      select
      from unnest(p_missing_data) as policy
      where product_chip ->> policy = 'decline'
    )
  then
    return;
  end if;
  if not v_is_zone_key then
    outcome := 'stale_zone_key';
    return;
  end if;
  if (p_kind = 'pin' and pin_remaining = 0) or (p_kind = 'cvv' and cvv_remaining = 0) then
    return;
  end if;
  if p_chip is not null and not lock_chip(v_public_token, p_chip) then
    -- A repeat of the request has the same cryptogram, and gets the first answer.
    outcome := case
      when is_idempotency_key_known(p_claimant_id, p_key_hashes) then 'taken'
      else 'replayed'
    end;
    return;
  end if;
  if p_key_hashes is not null then
    outcome := 'taken';
    perform
    from try_counter as counter
    where counter.public_token = v_public_token and counter.kind = p_kind
    for no key update;
    if not begin_network_transaction(
      p_network_id, p_transaction_hashes, p_message_class, p_trace, p_transmitted_at, p_acquirer,
      p_network_transaction_id
    )
    then
      return;
    end if;
    if not claim_idempotency_key(
      p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, null
    )
    then
      return;
    end if;
  end if;
  if p_chip is not null then
    perform use_chip(v_public_token, p_chip);
  end if;
  v_spent := spend_try(
    v_public_token, client_id, p_kind, p_authorization_id, p_network_id, p_request_id,
    p_reference, p_entry_mode, p_transaction_type, p_amount, p_currency_code, p_billing_amount,
    p_billing_currency_code, p_cashback_amount, p_merchant, p_network_transaction_id
  );
  try_number := v_spent.try_number;
  epoch := v_spent.epoch;
  remaining := v_spent.remaining;
  outcome := case when try_number is null then 'none_left' else 'spent' end;
end
$function$;
