-- The delivery of plastics. The rules of a change are in database/functions/bureau.

-- name: find_delivery
select delivery_status as "deliveryStatus", batch_id::text as "batchId"
from plastic
where public_token = :publicToken and plastic_number = :plasticNumber;

-- name: change_delivery_status
select change_delivery_status(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_plastic_number => :plasticNumber,
  p_from => :from,
  p_to => :to,
  p_event_type => :eventType,
  p_request_id => :requestId,
  p_details => :details,
  p_note => :note,
  p_operator_id => :operatorId,
  p_claimant_id => :claimantId,
  p_key_hashes => string_to_array(:keyHashes, ',')::bytea[],
  p_request_fingerprint => :requestFingerprint,
  p_claim_id => :claimId,
  p_answer => :answer
) as "isDone";

-- name: cancel_idle_order
select cancel_idle_order(
  p_public_token => :publicToken,
  p_plastic_number => :plasticNumber,
  p_today => :today
) as "isDone";
