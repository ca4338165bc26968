-- The commands to chips. The rules of their states are in database/functions/chips.

-- name: record_chip_results
select record_chip_results(
  p_public_token => :publicToken,
  p_pan_sequence_number => :panSequenceNumber,
  p_atc => :atc,
  p_sent => :sent::integer[],
  p_done => :done::integer[],
  p_failed => :failed::integer[],
  p_unconfirmed => :unconfirmed::integer[],
  p_remaining_offline_tries => :remainingOfflineTries
) as "isChanged";

-- name: record_advised_chip
select record_advised_chip(
  p_public_token => :publicToken,
  p_chip => :chip::text::jsonb,
  p_network_id => :networkId,
  p_mistakes => :mistakes,
  p_window => :windowLength
) as "isGuessing";

-- name: request_chip_command
select request_chip_command(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_number => :number,
  p_command => :command,
  p_data_object => :dataObject,
  p_pan_sequence_number => :panSequenceNumber,
  p_request_id => :requestId,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: find_chipped_card
select card.status_code as "statusCode", card.valid_until as "validUntil",
  card.last_sequence as "lastSequence", card.retired_at is not null as "isRetired",
  card.card_type = 'Physical' and product.chip is not null as "hasChip"
from (
  select *
  from card
  where public_token = any(array[:publicToken])
  limit 1
) as card
cross join lateral (
  select *
  from product
  where product_id = any(array[card.product_id])
  limit 1
) as product
where card.client_id = :clientId;

-- name: list_chips
select pan_sequence_number as "panSequenceNumber", highest_atc as "highestAtc",
  key_version as "keyVersion", remaining_offline_tries as "remainingOfflineTries",
  offline_tries_at as "offlineTriesAt"
from chip
where public_token = :publicToken
order by pan_sequence_number
limit :limit;

-- name: list_chip_commands
select command_number as "number", command, state,
  coalesce(pan_sequence_number, sent_to) as "panSequenceNumber",
  encode(substring(data_object from 1 for 2), 'hex') as "tag", created_at as "createdAt",
  sent_at as "sentAt", sent_count as "sentCount", ended_at as "endedAt"
from chip_command
where public_token = :publicToken
order by public_token desc, command_number desc
limit :limit;

-- name: list_waiting_chip_commands
select command_number as "number", command, state,
  coalesce(pan_sequence_number, sent_to) as "panSequenceNumber",
  encode(substring(data_object from 1 for 2), 'hex') as "tag", created_at as "createdAt",
  sent_at as "sentAt", sent_count as "sentCount", ended_at as "endedAt"
from chip_command
where public_token = :publicToken and state in ('pending', 'sent')
order by public_token desc, command_number desc
limit :limit;

-- A command without a sequence number is for the first chip that comes, which may be this one.
-- name: list_numbers_of_waiting_commands
select command_number as "number"
from chip_command
where public_token = :publicToken and state in ('pending', 'sent')
  and (pan_sequence_number is null or pan_sequence_number = coalesce(:chip, pan_sequence_number))
order by public_token, command_number
limit :limit;
