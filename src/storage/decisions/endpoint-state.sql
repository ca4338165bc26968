-- Whether endpoints answer, as the breakers of all processes see it.

-- name: record_endpoint_state
select record_endpoint_state(
  :publicToken, :clientId, :productId, :version, :change, :unanswered
) as "isChanged";
