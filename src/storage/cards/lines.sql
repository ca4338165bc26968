-- The cards of a line with their plastics (database/functions/card-life/list-line.sql).

-- name: find_line_token
select line_token as "lineToken"
from card
where public_token = :publicToken;

-- name: list_line
select line.public_token as "publicToken", line.generation,
  line.replaced_token as "replacementFor", line.replacement_reason as "replacementReason",
  line.activated_at as "activatedAt", line.product_id as "productId",
  line.masked_pan as "maskedPan", line.status_code as "statusCode",
  line.valid_until as "validUntil", line.retired_at as "retiredAt",
  line.created_at as "createdAt", line.plastic_number as "plasticNumber",
  line.card_type as "cardType", line.plastic_reason as "plasticReason", line.state,
  line.is_inactive as "isInactive",
  line.start_date as "startDate", line.expiry_date as "expiryDate",
  line.delivery_status as "deliveryStatus", line.delivery_changed_at as "deliveryChangedAt",
  line.notices_given as "noticesGiven", line.ordered_at as "orderedAt", line.ended_at as "endedAt"
from list_line(
  p_public_token => :lineToken,
  p_before => :before,
  p_limit => :limit
) as line;
