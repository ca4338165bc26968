-- Restores every try of a client's card and records the event, once for an idempotency key and
-- within a limit of the card.
--
-- A new epoch begins, in which earlier tries restore nothing. p_limit_name is null if the card has
-- no limit. Lock order: card, key, limit, counter. So a request that waits for a client's key holds
-- no counter. The call does everything or nothing.
--
-- If the PIN of a card with a chip is unblocked, a command that unblocks it in the chip is queued.
--
-- Returns whether it was done. It is not done if the card belongs to another client, is closed or
-- expired, the limit has no use left, or the key was not free.
--
-- Distributed by p_public_token, beside card.
create or replace function restore_tries(
  p_public_token text,
  p_client_id text,
  p_kind text,
  p_today date,
  p_limit_name text,
  p_uses integer,
  p_window_seconds integer,
  p_event_type text,
  p_request_id text,
  p_details text,
  p_note bytea,
  p_operator_id text,
  p_claimant_id text,
  p_key_hashes bytea[],
  p_request_fingerprint bytea,
  p_claim_id uuid,
  p_answer bytea
) returns boolean
language plpgsql
as $function$
declare
  v_card card;
begin
  v_card := lock_card(p_public_token);
  if v_card.client_id is distinct from p_client_id or not is_changeable(v_card, p_today) then
    return false;
  end if;
  if not has_card_use(v_card.line_token, p_limit_name, p_uses, p_window_seconds) then
    return false;
  end if;
  if not claim_idempotency_key(
    p_claimant_id, p_key_hashes, p_request_fingerprint, p_claim_id, p_answer
  )
  then
    return false;
  end if;
  if not use_card_limit(v_card.line_token, p_limit_name, p_uses, p_window_seconds) then
    perform undo_act('A use of the limit is gone.');
  end if;
  update try_counter
  set restored = spent,
    epoch = epoch + 1,
    is_withdrawn = false,
    block_reported = false
  where public_token = p_public_token and kind = p_kind;
  update card
  set last_sequence = v_card.last_sequence + 1
  where public_token = p_public_token;
  perform record_event(
    p_public_token, v_card.last_sequence + 1, p_client_id, p_event_type, p_request_id, p_details,
    p_note, p_operator_id
  );
  if p_kind = 'pin' and v_card.card_type = 'Physical' and exists (
    select
    from product
    where product_id = v_card.product_id and chip is not null
  )
  then
    perform queue_chip_command(
      p_public_token, p_client_id, 'unblock_pin', null, null, null, null, p_request_id,
      p_operator_id
    );
  end if;
  return true;
end
$function$;
