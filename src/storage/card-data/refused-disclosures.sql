-- Refused disclosures, counted by minute.

-- name: count_refused_disclosures
select count_refused_disclosures(
  p_client_ids => :clientIds,
  p_public_tokens => :publicTokens,
  p_acts => :acts,
  p_includes_pin => :includesPin,
  p_devices => :devices,
  p_outcomes => :outcomes,
  p_reasons => :reasons,
  p_counts => :counts,
  p_request_ids => :requestIds,
  p_ages_seconds => :agesSeconds
);
