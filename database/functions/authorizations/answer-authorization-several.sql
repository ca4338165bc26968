-- Does what answer_authorization does, for several callers at once.
--
-- It is one statement over all callers, since a function that is called for each costs the server
-- three times as much. Each caller has another card. It waits for no card: a caller whose card is
-- locked is left out, and so are one whose windows of limits are not as they were foreseen,
-- increments, approvals that the card's client decides, those whose reversal came first, and those
-- whose chip is locked, or whose cryptogram was used before or is the first of its chip. Keys
-- are claimed in the order of their cards, as settle_authorization_several locks them, so that two
-- calls never wait for each other's keys. A mistake is counted while its card is locked.
--
-- Returns what answer_authorization returns, for each caller's ordinal. Those left out call
-- answer_authorization.
create or replace function answer_authorization_several(
  p_public_tokens text[],
  p_client_ids text[],
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
  p_response_codes text[],
  p_checks text[],
  p_duration_ms integer[],
  p_claimant_ids text[],
  p_key_hashes text[],
  p_request_fingerprints bytea[],
  p_claim_ids uuid[],
  p_answers bytea[],
  p_transaction_hashes text[],
  p_message_class text[],
  p_traces text[],
  p_transmitted_ats text[],
  p_acquirers text[],
  p_mistakes integer[],
  p_windows bigint[],
  p_mistake_kinds text[],
  p_event_types text[],
  p_details text[],
  p_held_amounts bigint[],
  p_held_currency_codes text[],
  p_hold_expires_ats timestamptz[],
  p_is_increments boolean[],
  p_raised_payment_ids uuid[],
  p_is_new_totals boolean[],
  p_nows timestamptz[],
  p_spendings text[],
  p_decisions text[],
  p_chips text[]
) returns table (
  ordinal integer,
  is_answered boolean,
  is_reversed boolean,
  is_guessing boolean,
  limit_code text,
  is_flagged boolean,
  is_replayed boolean
)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
    with asked as materialized (
      select caller.*, caller.spending_text::jsonb as spending, caller.chip_text::jsonb as chip
      from unnest(
        p_public_tokens, p_client_ids, p_authorization_ids, p_network_ids, p_request_ids,
        p_references, p_entry_modes, p_transaction_types, p_amounts, p_currency_codes,
        p_billing_amounts, p_billing_currency_codes, p_cashback_amounts, p_merchants,
        p_network_transaction_ids,
        p_response_codes, p_checks, p_duration_ms, p_claimant_ids, p_key_hashes,
        p_request_fingerprints, p_claim_ids, p_answers, p_transaction_hashes, p_message_class,
        p_traces, p_transmitted_ats, p_acquirers, p_mistakes, p_windows,
        p_mistake_kinds, p_event_types, p_details,
        p_held_amounts, p_held_currency_codes, p_hold_expires_ats, p_is_increments,
        p_raised_payment_ids, p_is_new_totals, p_nows, p_spendings,
        p_decisions, p_chips
      ) with ordinality as caller (
        public_token, client_id, authorization_id, network_id, request_id, reference, entry_mode,
        transaction_type, amount, currency_code, billing_amount, billing_currency_code,
        cashback_amount, merchant, network_transaction_id, response_code, checks, duration_ms,
        claimant_id, key_hashes,
        request_fingerprint, claim_id, answer, transaction_hashes, message_class, trace,
        transmitted_at, acquirer, mistakes, window_length, mistake, event_type, details,
        held_amount,
        held_currency_code, hold_expires_at, is_increment, raised_payment_id, is_new_total,
        now, spending_text, decision, chip_text, ordinal
      )
    ),
    claimed as materialized (
      select locked.*,
        locked.key_hashes is null
        or begin_network_transaction(
          locked.network_id, string_to_array(locked.transaction_hashes, ',')::bytea[],
          locked.message_class, locked.trace, locked.transmitted_at, locked.acquirer,
          locked.network_transaction_id
        )
        and claim_idempotency_key(
          locked.claimant_id, string_to_array(locked.key_hashes, ',')::bytea[],
          locked.request_fingerprint, locked.claim_id, locked.answer
        ) as is_claimed
      from (
        select asked.*, card.line_token, card.status_code as locked_status, chip.known_chip
        from asked
        cross join lateral (
          select card.line_token, card.status_code
          from card
          where card.public_token = asked.public_token
          for no key update skip locked
        ) as card
        left join lateral (
          select true as is_foreseen
          from card_spending as spent
          where asked.spending ? 'foreseen' and spent.public_token = card.line_token
            and spent.windows = asked.spending #> '{foreseen,before}'
          for no key update skip locked
        ) as spent on true
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
        where asked.decision is null
          and (asked.chip is null or chip.is_fresh)
          and (asked.spending is null or not asked.spending ? 'limits' or spent.is_foreseen)
          and (asked.held_amount is null or not asked.is_increment)
        order by asked.public_token
      ) as locked
      -- After the card is locked.
      where (
          locked.held_amount is null or locked.network_transaction_id is null
          or not has_early_reversal(
            locked.public_token, locked.network_id, locked.network_transaction_id, locked.now
          )
        )
        and (
          locked.spending is null or not locked.spending ? 'limits' or locked.locked_status = '00'
        )
    ),
    numbered as (
      update card
      set last_sequence = card.last_sequence + 1
      from claimed
      where claimed.is_claimed and card.public_token = any (array[claimed.public_token])
      returning claimed.ordinal, card.last_sequence
    ),
    reported as (
      insert into event (public_token, sequence, client_id, type, request_id, details)
      select claimed.public_token, numbered.last_sequence, claimed.client_id, claimed.event_type,
        claimed.request_id, claimed.details
      from numbered
      join claimed using (ordinal)
    ),
    taken as (
      update card_spending as spent
      set windows = claimed.spending #> '{foreseen,after}'
      from claimed
      where claimed.is_claimed and claimed.spending ? 'foreseen'
        and spent.public_token = any (array[claimed.line_token])
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
        cashback_amount, merchant, network_transaction_id, payment_id, response_code, checks,
        product_controls_version,
        card_controls_version, spending, duration_ms, decided_at
      )
      select claimed.public_token, claimed.authorization_id, claimed.client_id, claimed.network_id,
        claimed.request_id, claimed.reference, claimed.entry_mode, claimed.transaction_type,
        claimed.amount, claimed.currency_code, claimed.billing_amount,
        claimed.billing_currency_code, claimed.cashback_amount, claimed.merchant::jsonb,
        claimed.network_transaction_id,
        case when claimed.held_amount is not null then claimed.authorization_id end,
        claimed.response_code, claimed.checks,
        (claimed.spending ->> 'productVersion')::integer,
        (claimed.spending ->> 'cardVersion')::integer, claimed.spending #> '{foreseen,taken}',
        claimed.duration_ms, clock_timestamp()
      from claimed
      where claimed.is_claimed
    ),
    opened as (
      insert into payment (
        public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
        currency_code, approved, hold_expires_at
      )
      select claimed.public_token, claimed.authorization_id, claimed.client_id, claimed.network_id,
        claimed.network_transaction_id, 'authorization', claimed.held_currency_code,
        claimed.held_amount, claimed.hold_expires_at
      from claimed
      where claimed.is_claimed and claimed.held_amount is not null
    )
    select claimed.ordinal::integer, claimed.is_claimed, false,
      case
        when claimed.is_claimed and claimed.mistakes is not null
        then count_mistake(
          claimed.public_token, claimed.network_id, claimed.mistake, claimed.mistakes,
          claimed.window_length
        )
        else false
      end,
      null::text as limit_code, false, false
    from claimed;
end
$function$;
