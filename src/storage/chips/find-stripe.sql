-- The card of a stripe or of a 3-D Secure payment, before an authorization
-- (database/functions/chips/find-stripe.sql).

-- name: find_stripe
select found.public_token as "publicToken", found.encrypted_pan as "encryptedPan", found.cvk,
  found.card_type as "cardType", found.expiry, found.chip::text as "chip",
  found.pan_sequence_number as "panSequenceNumber", found.key_version as "keyVersion",
  found.highest_atc as "highestAtc", found.is_card_value_guessed as "isCardValueGuessed",
  found.is_cavv_guessed as "isCavvGuessed"
from find_stripe(
  p_public_token => :publicToken,
  p_pan_fingerprints => string_to_array(:panFingerprints, ',')::bytea[],
  p_network_id => :networkId,
  p_mistakes => :mistakes,
  p_window => :windowLength
) as found;
