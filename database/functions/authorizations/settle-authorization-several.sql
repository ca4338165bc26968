-- Does the same as settle_authorization, for several callers at once whose try has matched.
--
-- It is one statement over all callers, because one function call per caller costs the server three
-- times as much. Each caller has another card. It waits for no card and omits these callers:
-- one whose card or counter is locked, one whose try did not match or is not the only
-- outstanding one, one whose windows of limits are not as they were foreseen, and one whose key has
-- an answer. It also omits increments, approvals that the card's client decides, and those whose
-- reversal came first. Keys are locked in the order of their cards, as answer_authorization_several
-- claims them, so that two calls never wait for each other's keys.
--
-- Returns the result of settle_authorization for each caller's ordinal. Omitted callers call
-- settle_authorization.
create or replace function settle_authorization_several(
  p_public_tokens text[],
  p_authorization_ids uuid[],
  p_kinds text[],
  p_try_numbers integer[],
  p_epochs integer[],
  p_comparisons text[],
  p_response_codes text[],
  p_checks text[],
  p_duration_ms integer[],
  p_network_ids text[],
  p_request_ids text[],
  p_references text[],
  p_entry_modes text[],
  p_claimant_ids text[],
  p_claim_keys bytea[],
  p_claim_ids uuid[],
  p_answers bytea[],
  p_foreseen_tries integer[],
  p_event_types text[],
  p_details text[],
  p_network_transaction_ids text[],
  p_held_amounts bigint[],
  p_held_currency_codes text[],
  p_hold_expires_ats timestamptz[],
  p_is_increments boolean[],
  p_raised_payment_ids uuid[],
  p_is_new_totals boolean[],
  p_nows timestamptz[],
  p_spendings text[],
  p_decisions text[]
) returns table (
  ordinal integer,
  remaining integer,
  answer bytea,
  is_own boolean,
  is_reversed boolean,
  limit_code text,
  is_flagged boolean
)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
    with asked as materialized (
      select caller.*, caller.spending_text::jsonb as spending
      from unnest(
        p_public_tokens, p_authorization_ids, p_kinds, p_try_numbers, p_epochs, p_comparisons,
        p_response_codes, p_checks, p_duration_ms, p_network_ids, p_request_ids, p_references,
        p_entry_modes, p_claimant_ids, p_claim_keys, p_claim_ids, p_answers, p_foreseen_tries,
        p_event_types, p_details, p_network_transaction_ids, p_held_amounts, p_held_currency_codes,
        p_hold_expires_ats, p_is_increments, p_raised_payment_ids, p_is_new_totals, p_nows,
        p_spendings, p_decisions
      ) with ordinality as caller (
        public_token, authorization_id, kind, try_number, epoch, comparison, response_code, checks,
        duration_ms, network_id, request_id, reference, entry_mode, claimant_id, key_hash, claim_id,
        answer, foreseen_tries, event_type, details, network_transaction_id, held_amount,
        held_currency_code, hold_expires_at, is_increment, raised_payment_id, is_new_total, now,
        spending_text, decision, ordinal
      )
      order by public_token
    ),
    matched as materialized (
      select asked.*, card.line_token, card.status_code, counter.remaining
      from asked
      cross join lateral (
        select card.public_token, card.line_token, card.status_code
        from card
        where card.public_token = asked.public_token
        for no key update skip locked
      ) as card
      cross join lateral (
        select counter.try_limit - (counter.spent - counter.restored) + 1 as remaining
        from try_counter as counter
        where counter.public_token = card.public_token and counter.kind = asked.kind
          and counter.epoch = asked.epoch and not counter.block_reported
          and counter.outstanding_tries = array[asked.try_number]
        for no key update skip locked
      ) as counter
      where asked.comparison = 'match' and asked.decision is null
        and (asked.held_amount is null or not asked.is_increment)
    ),
    -- The cards are locked: what follows is as it will be committed. Stores the answer if it states
    -- the actual number of remaining tries. What is foreseen of limits is taken if the windows are
    -- still as they were read. One card of a line is active, so no two callers take from one row.
    settled as materialized (
      select matched.*, key.is_free and matched.remaining = matched.foreseen_tries as is_stored
      from matched
      left join lateral (
        select true as is_free
        from idempotency_record as record
        where record.client_id = matched.claimant_id and record.key_hash = matched.key_hash
          and record.claim_id = matched.claim_id and record.answer is null
        for no key update
      ) as key on true
      left join lateral (
        select true as is_foreseen
        from card_spending as spent
        where matched.spending ? 'foreseen' and spent.public_token = matched.line_token
          and spent.windows = matched.spending #> '{foreseen,before}'
        for no key update skip locked
      ) as spent on true
      where (matched.key_hash is null or key.is_free)
        and (
          matched.spending is null or not matched.spending ? 'limits'
          or spent.is_foreseen and matched.status_code = '00'
        )
        and (
          matched.held_amount is null or matched.network_transaction_id is null
          or not has_early_reversal(
            matched.public_token, matched.network_id, matched.network_transaction_id, matched.now
          )
        )
    ),
    numbered as (
      update card
      set last_sequence = card.last_sequence + 1
      from settled
      where card.public_token = any (array[settled.public_token])
      returning settled.ordinal, card.last_sequence, card.client_id
    ),
    reported as (
      insert into event (public_token, sequence, client_id, type, request_id, details)
      select settled.public_token, numbered.last_sequence, numbered.client_id, settled.event_type,
        settled.request_id, settled.details
      from numbered
      join settled using (ordinal)
    ),
    restored as (
      update try_counter as counter
      set restored = counter.restored + 1,
        outstanding_tries = '{}',
        open_since = '{}'
      from settled
      where counter.public_token = any (array[settled.public_token])
        and counter.kind = settled.kind
    ),
    taken as (
      update card_spending as spent
      set windows = settled.spending #> '{foreseen,after}'
      from settled
      where settled.spending ? 'foreseen'
        and spent.public_token = any (array[settled.line_token])
    ),
    stored as (
      update idempotency_record as record
      set answer = settled.answer
      from settled
      where settled.is_stored and record.client_id = any (array[settled.claimant_id])
        and record.key_hash = settled.key_hash
    ),
    recorded as (
      update authorization_request as request
      set result = 'match',
        restored = true,
        remaining_tries = settled.remaining,
        response_code = settled.response_code,
        checks = settled.checks,
        product_controls_version = (settled.spending ->> 'productVersion')::integer,
        card_controls_version = (settled.spending ->> 'cardVersion')::integer,
        spending = settled.spending #> '{foreseen,taken}',
        duration_ms = settled.duration_ms,
        decided_at = case when settled.response_code is not null then clock_timestamp() end,
        payment_id = case when settled.held_amount is not null then settled.authorization_id end
      from settled
      where request.public_token = any (array[settled.public_token])
        and request.authorization_id = settled.authorization_id
    ),
    opened as (
      insert into payment (
        public_token, payment_id, client_id, network_id, network_transaction_id, opened_by,
        currency_code, approved, hold_expires_at
      )
      select settled.public_token, settled.authorization_id, numbered.client_id,
        settled.network_id, settled.network_transaction_id, 'authorization',
        settled.held_currency_code, settled.held_amount, settled.hold_expires_at
      from numbered
      join settled using (ordinal)
      where settled.held_amount is not null
    )
    select settled.ordinal::integer, settled.remaining,
      case when settled.is_stored then settled.answer end as answer, settled.is_stored, false,
      null::text as limit_code, false
    from settled;
end
$function$;
