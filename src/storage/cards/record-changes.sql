-- Changes of the record of a card. The rule is in database/functions/card-life.

-- name: change_card_record
select change_card_record(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_members => :members::text[],
  p_customer_reference => :customerReference,
  p_design_id => :designId,
  p_renewal_type => :renewalType,
  p_former_personal_data => :formerPersonalData,
  p_personal_data => :personalData,
  p_metadata => :metadata,
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

-- name: list_metadata
select key, value
from card_metadata
where public_token = :publicToken
order by key;
