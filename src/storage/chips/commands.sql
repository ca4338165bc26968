-- The commands to chips. The rules of their states are in database/functions/chips.

-- name: record_chip_news
select record_chip_news(
  p_public_token => :publicToken,
  p_pan_sequence_number => :panSequenceNumber,
  p_atc => :atc,
  p_sent => :sent::integer[],
  p_done => :done::integer[],
  p_failed => :failed::integer[],
  p_remaining_offline_tries => :remainingOfflineTries
) as "hasNews";
