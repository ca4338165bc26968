-- The cards that are to be renewed, and the notices of it.

-- name: list_due_notices
select public_token as "publicToken", plastic_number as "plasticNumber",
  expiry_date as "expiryDate"
from plastic
where state = 'Current' and notices_given < 2 and notices_given = :noticesGiven
  and expiry_date <= :until
  and (expiry_date, public_token) > (:afterExpiryDate::date, :afterToken::text)
order by expiry_date, public_token
limit :limit;

-- name: give_renewal_notice
select give_renewal_notice(
  p_public_token => :publicToken,
  p_plastic_number => :plasticNumber,
  p_notices_given => :noticesGiven,
  p_today => :today
) as "isDone";

-- name: list_products_to_renew
select product_id as "productId", renewal_type as "renewalType",
  renewal_lead_days as "renewalLeadDays"
from product
order by product_id;

-- name: list_cards_to_renew
select public_token as "publicToken", client_id as "clientId", valid_until as "validUntil"
from card
where product_id = :productId and card_type = :cardType
  and coalesce(renewal_type, '') = :renewalType
  and status_code not in ('41', '43', '46', '54', '83') and retired_at is null
  and valid_until <= :until
  and (valid_until, public_token) > (:afterValidUntil::date, :afterToken::text)
order by valid_until, public_token
limit :limit;

-- name: find_next_expiry
select valid_until as "validUntil"
from card
where status_code not in ('41', '43', '46', '54', '83')
order by valid_until
limit 1;

-- name: order_renewal
select order_plastic(
  p_public_token => :publicToken,
  p_client_id => :clientId,
  p_plastic_number => :plasticNumber,
  p_reason => 'Renewal',
  p_is_current => :isCurrent,
  p_today => :today,
  p_expired_since => :expiredSince,
  p_expiry_date => :expiryDate,
  p_free_texts => null,
  p_former_personal_data => null,
  p_personal_data => null,
  p_ends_reprint => :endsReprint,
  p_renewal_job_id => :jobId,
  p_request_id => :requestId,
  p_note => null,
  p_operator_id => null,
  p_claimant_id => null,
  p_key_hashes => null,
  p_request_fingerprint => null,
  p_claim_id => null,
  p_answer => null
) as "isDone";

-- name: has_plastic_of_job
select true as "isThere"
from plastic
where public_token = :publicToken and renewal_job_id = :jobId;
