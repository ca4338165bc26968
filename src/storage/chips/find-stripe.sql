-- The card of a stripe or of a 3-D Secure payment, before an authorization: the keys of its values,
-- and the last chip that was seen, whose transaction counter a contactless stripe shares.

-- name: find_stripe
select card.public_token as "publicToken", card.encrypted_pan as "encryptedPan", card.cvk,
  card.card_type as "cardType", product.chip::text as "chip",
  seen.pan_sequence_number as "panSequenceNumber", seen.highest_atc as "highestAtc",
  seen.key_version as "keyVersion"
from card
cross join lateral (
  select product.chip
  from product
  where product.product_id = card.product_id
  limit 1
) as product
left join chip as seen
  on seen.public_token = card.public_token
  and not exists (
    select
    from chip as newer
    where newer.public_token = seen.public_token
      and newer.pan_sequence_number > seen.pan_sequence_number
  )
where card.public_token = coalesce(
  :publicToken::text,
  (
    select known.public_token
    from pan_fingerprint as known
    where known.pan_fingerprint = any(string_to_array(:panFingerprints::text, ',')::bytea[])
    limit 1
  )
);
