-- Trials: requests to clients that decide nothing, of the purposes 'shadow' and 'replay'.

-- name: begin_decision_trial
select begin_decision_trial(
  p_public_token => :publicToken,
  p_decision_id => :decisionId::uuid,
  p_authorization_id => :authorizationId::uuid,
  p_purpose => :purpose,
  p_endpoint_product_id => :endpointProductId,
  p_endpoint_version => :endpointVersion,
  p_facts => :facts,
  p_held_amount => :heldAmount,
  p_held_currency_code => :heldCurrencyCode,
  p_deadline => :deadline
) as "sequence";

-- name: conclude_decision_trial
select conclude_decision_trial(
  p_public_token => :publicToken,
  p_decision_id => :decisionId::uuid,
  p_verdict => :verdict,
  p_approved_amount => :approvedAmount,
  p_reason => :reason,
  p_response_code => :responseCode,
  p_error => :error,
  p_status_code => :statusCode,
  p_duration_ms => :durationMs,
  p_request_hash => :requestHash,
  p_answer_hash => :answerHash,
  p_metadata => :metadata
);
