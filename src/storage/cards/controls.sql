-- Spending controls of cards. The rule of a change is in database/functions/controls.

-- name: find_card_controls
select card.status_code as "statusCode", card.valid_until as "validUntil",
  card.retired_at is not null as "isRetired",
  own.controls::text as "controls", card.controls_version as "version"
from card
left join card_controls as own
  on own.public_token = card.public_token and own.version = card.controls_version
where card.public_token = :publicToken and card.client_id = :clientId;

-- The controls in force for a card.
-- name: find_controls_in_force
select own.controls::text as "cardControls", card.controls_version as "cardVersion",
  product.controls::text as "productControls", product.controls_version as "productVersion",
  product.currency_code as "currency", card.line_token as "lineToken"
from card
join product on product.product_id = card.product_id
left join card_controls as own
  on own.public_token = card.public_token and own.version = card.controls_version
where card.public_token = :publicToken and card.client_id = :clientId;

-- The spending of the cards of a line. A cluster joins no table by another column.
-- name: find_spending_of_line
select windows::text as "windows", locked_merchant as "lockedMerchant"
from card_spending
where public_token = :lineToken;

-- name: change_card_controls
select change_card_controls(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_today => :today,
  p_version => :version,
  p_controls => :controls::text::jsonb,
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
