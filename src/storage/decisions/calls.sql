-- Answers that come by calls of clients.

-- name: find_decision_card
select public_token as "publicToken", authorization_id as "authorizationId",
  held_amount::double precision as "heldAmount", held_currency_code as "heldCurrencyCode", facts
from decision
where client_id = :clientId and decision_id = :decisionId::uuid;

-- name: take_decision_answer
select outcome, said
from take_decision_answer(
  p_public_token => :publicToken,
  p_decision_id => :decisionId::uuid,
  p_answer => :answer
);

-- name: record_late_answer
select record_late_answer(
  p_public_token => :publicToken,
  p_decision_id => :decisionId::uuid,
  p_answer => :answer,
  p_request_id => :requestId
) as "isRecorded";

-- name: list_called_answers
select decision_id as "decisionId", called_answer as "answer"
from decision
where decision_id = any(:decisionIds::uuid[]) and called_answer is not null
  and concluded_at is null;
