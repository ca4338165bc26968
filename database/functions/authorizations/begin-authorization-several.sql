-- Does the same as begin_authorization, for several callers at once.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. It waits for no card and omits these callers: one whose counter or chip is locked,
-- the second caller of a counter or of the chips of a card, one whose last try was spent after the
-- card was read, and one whose cryptogram was used before or is the first of its chip.
-- Keys are claimed in the order of their hashes, so that two calls never wait for each other's
-- keys.
--
-- Returns the result of begin_authorization for each caller's ordinal. Omitted callers call
-- begin_authorization.
create or replace function begin_authorization_several(
  p_public_tokens text[],
  p_pan_fingerprints text[],
  p_kinds text[],
  p_current_months text[],
  p_expiry_months text[],
  p_zone_key_names text[],
  p_zone_key_blocks text[],
  p_authorization_ids uuid[],
  p_network_ids text[],
  p_request_ids text[],
  p_references text[],
  p_entry_modes text[],
  p_transaction_types text[],
  p_amounts bigint[],
  p_currency_codes text[],
  p_billing_amounts bigint[],
  p_billing_currency_codes text[],
  p_cashback_amounts bigint[],
  p_merchants text[],
  p_network_transaction_ids text[],
  p_claimant_ids text[],
  p_key_hashes text[],
  p_request_fingerprints bytea[],
  p_claim_ids uuid[],
  p_transaction_hashes text[],
  p_message_class text[],
  p_traces text[],
  p_transmitted_ats text[],
  p_acquirers text[],
  p_chips text[],
  p_missing_data text[],
  p_are_plastics_used boolean[]
) returns table (
  ordinal integer,
  outcome text,
  public_token text,
  client_id text,
  encrypted_pan bytea,
  status_code text,
  expiry_date date,
  pin_block bytea,
  pvv text,
  pin_key text,
  cvk text,
  pin_length integer,
  card_currency_code text,
  pin_limit integer,
  pin_remaining integer,
  cvv_limit integer,
  cvv_remaining integer,
  try_number integer,
  epoch integer,
  remaining integer,
  controls jsonb,
  product_id integer,
  last_four text,
  customer_reference text,
  has_decision_endpoint boolean,
  product_chip jsonb,
  valid_until date,
  waiting_expiry_date date,
  plastic_number integer,
  last_plastic_number integer,
  is_plastic_inactive boolean
)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
    with asked as materialized (
      select caller.*, caller.chip_text::jsonb as chip, coalesce(given_token, (
          select known.public_token
          from pan_fingerprint as known
          where known.pan_fingerprint = any (string_to_array(pan_fingerprints, ',')::bytea[])
          limit 1
        )) as public_token
      from unnest(
        p_public_tokens, p_pan_fingerprints, p_kinds, p_current_months, p_expiry_months,
        p_zone_key_names, p_zone_key_blocks, p_authorization_ids, p_network_ids, p_request_ids,
        p_references, p_entry_modes, p_transaction_types, p_amounts, p_currency_codes,
        p_billing_amounts, p_billing_currency_codes, p_cashback_amounts, p_merchants,
        p_network_transaction_ids,
        p_claimant_ids, p_key_hashes, p_request_fingerprints, p_claim_ids, p_transaction_hashes,
        p_message_class, p_traces, p_transmitted_ats, p_acquirers, p_chips, p_missing_data,
        p_are_plastics_used
      ) with ordinality as caller (
        given_token, pan_fingerprints, kind, current_month, expiry_month, zone_key_name,
        zone_key_block, authorization_id, network_id, request_id, reference, entry_mode,
        transaction_type, amount, currency_code, billing_amount, billing_currency_code,
        cashback_amount, merchant, network_transaction_id, claimant_id, key_hashes,
        request_fingerprint, claim_id,
        transaction_hashes, message_class, trace, transmitted_at, acquirer, chip_text,
        missing_data, is_plastic_used, ordinal
      )
    ),
    -- The card, and the outcome that is known before a try is spent: null if a try is to be spent.
    read as materialized (
      select asked.ordinal, known.*,
        row_number() over (partition by known.public_token, asked.kind) as place,
        case
          when asked.kind is null or known.public_token is null or known.status_code <> '00'
            or known.expiry_month < asked.current_month or asked.expiry_month <> known.expiry_month
            or known.is_plastic_inactive and asked.is_plastic_used
            or is_chip_of_other_plastic(
              asked.chip ->> 'panSequenceNumber', known.product_chip, known.plastic_number,
              known.last_plastic_number
            )
            or coalesce(asked.billing_amount, asked.amount) > 0
            and coalesce(asked.billing_currency_code, asked.currency_code)
              <> known.card_currency_code
            or known.controls ? 'objection'
            or exists (
              select
              from unnest(string_to_array(asked.missing_data, ',')) as policy
              where known.product_chip ->> policy = 'decline'
            )
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
          card.pvv, card.pin_key, card.cvk, product.pin_length,
          product.currency_code as card_currency_code, pin.try_limit as pin_limit,
          pin.try_limit - (pin.spent - pin.restored) as pin_remaining, cvv.try_limit as cvv_limit,
          cvv.try_limit - (cvv.spent - cvv.restored) as cvv_remaining,
          case
            when card.controls_version > 0 or product.controls is not null then apply_controls(
              card.public_token, card.line_token, product.controls,
              product.controls_version, product.currency_code, card.controls_version,
              asked.entry_mode, asked.transaction_type, asked.merchant::jsonb
            )
          end as controls,
          card.product_id, right(card.masked_pan, 4) as last_four, card.customer_reference,
          exists (
            select
            from decision_endpoint_state as state
            where state.client_id = any (array[card.client_id])
          ) as has_decision_endpoint,
          case
            when card.card_type = 'Physical' and not card.is_plastic_inactive then product.chip
          end as product_chip,
          card.valid_until, card.waiting_expiry_date, card.plastic_number,
          card.last_plastic_number, card.is_plastic_inactive
        from (
          select *
          from card
          where card.public_token = any (array[asked.public_token])
          limit 1
        ) as card
        cross join lateral (
          select product.pin_length, product.controls, product.controls_version,
            product.currency_code, product.chip
          from product
          where product.product_id = any (array[card.product_id])
          limit 1
        ) as product
        cross join lateral (
          select counter.try_limit, counter.spent, counter.restored
          from try_counter as counter
          where counter.public_token = any (array[asked.public_token]) and counter.kind = 'pin'
          limit 1
        ) as pin
        cross join lateral (
          select counter.try_limit, counter.spent, counter.restored
          from try_counter as counter
          where counter.public_token = any (array[asked.public_token]) and counter.kind = 'cvv'
          limit 1
        ) as cvv
      ) as known on true
    ),
    -- The callers whose counter is locked now and whose key was free.
    claimed as materialized (
      select triable.*,
        triable.key_hashes is null
        or begin_network_transaction(
          triable.network_id, string_to_array(triable.transaction_hashes, ',')::bytea[],
          triable.message_class, triable.trace, triable.transmitted_at, triable.acquirer,
          triable.network_transaction_id
        )
        and claim_idempotency_key(
          triable.claimant_id, string_to_array(triable.key_hashes, ',')::bytea[],
          triable.request_fingerprint, triable.claim_id, null
        ) as is_claimed
      from (
        select asked.*, chip.known_chip
        from read
        join asked using (ordinal)
        cross join lateral (
          select
          from try_counter as counter
          where counter.public_token = asked.public_token and counter.kind = asked.kind
            and counter.spent - counter.restored < counter.try_limit
          for no key update skip locked
        ) as counter
        left join lateral (
          select seen as known_chip, true as is_fresh
          from chip as seen
          where asked.chip is not null and seen.public_token = asked.public_token
            and seen.pan_sequence_number = asked.chip ->> 'panSequenceNumber'
            and is_fresh_atc(
              seen.highest_atc, seen.seen_atcs, (asked.chip ->> 'atc')::integer,
              (asked.chip ->> 'atcWindow')::integer
            )
          for no key update skip locked
        ) as chip on true
        where read.outcome is null and read.place = 1
          and (
            asked.chip is null
            or chip.is_fresh and not exists (
              select
              from asked as earlier
              where earlier.public_token = asked.public_token and earlier.chip is not null
                and earlier.ordinal < asked.ordinal
            )
          )
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
    used as (
      update chip
      set highest_atc = advanced.highest_atc,
        seen_atcs = advanced.seen_atcs,
        contact_atc = advanced.contact_atc,
        key_version = advanced.key_version,
        remaining_offline_tries = advanced.remaining_offline_tries,
        offline_tries_at = advanced.offline_tries_at,
        offline_tries_atc = advanced.offline_tries_atc
      from claimed
      cross join lateral advance_chip(
        claimed.known_chip, claimed.chip, clock_timestamp()
      ) as advanced
      where claimed.is_claimed and claimed.chip is not null
        and chip.public_token = any (array[claimed.public_token])
        and chip.pan_sequence_number = advanced.pan_sequence_number
    ),
    recorded as (
      insert into authorization_request (
        public_token, authorization_id, client_id, network_id, request_id, reference, entry_mode,
        transaction_type, amount, currency_code, billing_amount, billing_currency_code,
        cashback_amount, merchant, network_transaction_id, kind, try_number, epoch, result,
        remaining_tries
      )
      select asked.public_token, asked.authorization_id, read.client_id, asked.network_id,
        asked.request_id, asked.reference, asked.entry_mode, asked.transaction_type, asked.amount,
        asked.currency_code, asked.billing_amount, asked.billing_currency_code,
        asked.cashback_amount, asked.merchant::jsonb, asked.network_transaction_id, asked.kind,
        spent.try_number,
        spent.epoch, 'unresolved', spent.remaining
      from spent
      join asked using (ordinal)
      join read using (ordinal)
    )
    select read.ordinal::integer,
      case
        when read.outcome is not null then read.outcome
        when claimed.is_claimed then 'spent'
        else 'taken'
      end as outcome,
      read.public_token, read.client_id,
      read.encrypted_pan, read.status_code,
      read.expiry_date, read.pin_block, read.pvv,
      read.pin_key, read.cvk, read.pin_length, read.card_currency_code,
      read.pin_limit, read.pin_remaining,
      read.cvv_limit, read.cvv_remaining,
      spent.try_number, spent.epoch, spent.remaining, read.controls, read.product_id,
      read.last_four, read.customer_reference, read.has_decision_endpoint, read.product_chip,
      read.valid_until, read.waiting_expiry_date, read.plastic_number, read.last_plastic_number,
      read.is_plastic_inactive
    from read
    left join claimed using (ordinal)
    left join spent using (ordinal)
    where read.outcome is not null or claimed.ordinal is not null;
end
$function$;
