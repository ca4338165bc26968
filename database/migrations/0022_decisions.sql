-- External decisions: the endpoints of clients, and what they were asked and answered.

-- The versions of an endpoint. A change of settings makes a version; versions never change.
create table decision_endpoint (
  client_id text not null,
  -- 0 for all products of the client that have no endpoint of their own.
  product_id integer not null default 0,
  version integer not null check (version > 0),
  -- Null: requests go to the client's stream.
  url text,
  timeout_ms integer not null check (timeout_ms between 100 and 2500),
  max_in_flight integer not null check (max_in_flight between 1 and 1000),
  on_timeout text not null check (on_timeout in ('decline', 'approve', 'rule')),
  on_error text not null check (on_error in ('decline', 'approve', 'rule')),
  -- A CEL expression.
  rule text,
  mode text not null check (mode in ('enforce', 'shadow')),
  sample_percent integer not null check (sample_percent between 1 and 100),
  format text not null check (format in ('pinfold', 'thredd-ehi')),
  -- The version of the interface at its registration.
  api_version text not null,
  created_at timestamptz not null default now(),
  primary key (client_id, product_id, version),
  check (rule is not null or 'rule' not in (on_timeout, on_error))
);

-- Versions of endpoints as the service reads them.
create view described_decision_endpoint as
select client_id as "clientId", product_id as "productId", version, url,
  timeout_ms as "timeoutMs", max_in_flight as "maxInFlight", on_timeout as "onTimeout",
  on_error as "onError", rule, mode, sample_percent as "samplePercent", format,
  api_version as "apiVersion", created_at as "createdAt"
from decision_endpoint;

-- The versions in force of each endpoint; null for none.
create table decision_endpoint_state (
  client_id text not null,
  product_id integer not null default 0,
  -- Registered, and not activated yet.
  draft_version integer,
  enforced_version integer,
  -- The version that was asked about all authorizations before: a rollback returns to it.
  previous_version integer,
  shadow_version integer,
  -- Since when a process sends nothing but probes; null while it answers.
  degraded_since timestamptz,
  -- The version that does not answer.
  degraded_version integer,
  -- When a process saw it last.
  degraded_seen_at timestamptz,
  changed_at timestamptz not null default now(),
  primary key (client_id, product_id),
  check ((degraded_since is null) = (degraded_version is null)),
  check ((degraded_since is null) = (degraded_seen_at is null))
);

-- The keys that sign the requests to a client's endpoints. A replaced key signs until signs_until.
create table decision_signing_key (
  client_id text not null,
  key_id text not null,
  -- The HMAC key and the Ed25519 key, sealed by the HSM.
  sealed_keys bytea not null,
  -- Ed25519, in the form of Standard Webhooks (whpk_…): clients read it.
  public_key text not null,
  created_at timestamptz not null default now(),
  -- Null for the present one.
  signs_until timestamptz,
  primary key (client_id, key_id)
);

create index decision_signing_key_by_end on decision_signing_key (signs_until)
  where signs_until is not null;
create unique index decision_signing_key_present on decision_signing_key (client_id)
  where signs_until is null;

-- A question to a client about an authorization, with the reservation that waits for its answer.
-- The row is written when the limits are reserved, and completed when the authorization is
-- answered: by the process that asked, or, if that was lost, by a sweep.
create table decision (
  public_token text not null,
  -- A version 7 UUID.
  decision_id uuid not null,
  -- Of the card, which never changes.
  client_id text not null,
  authorization_id uuid not null,
  -- Among those of the card.
  sequence integer not null check (sequence > 0),
  -- 'authorize' decides; 'shadow' and 'replay' are only recorded.
  purpose text not null check (purpose in ('authorize', 'shadow', 'replay')),
  endpoint_product_id integer not null,
  endpoint_version integer not null,
  -- DecisionFacts (src/domain/decision.ts), as JSON.
  facts text not null,
  -- The amount that an approval holds; null if it holds nothing.
  held_amount bigint check (held_amount >= 0),
  held_currency_code text,
  asked_at timestamptz not null default clock_timestamp(),
  -- In milliseconds, as the processes compare it.
  deadline timestamptz(3) not null,
  -- The input of the conclusion, as JSON (src/storage/decisions/conclude.ts); null once concluded.
  pending text,
  -- The first answer that came by a call of the client (POST /decisions/{id}/answer), as JSON.
  called_answer text,
  called_at timestamptz,
  -- The stream that the request was sent on; null: it waits for one, or goes to a URL.
  taken_by uuid,
  -- The conclusion: null until then.
  concluded_at timestamptz,
  decided_by text,
  verdict text check (verdict in ('approve', 'decline', 'challenge')),
  approved_amount bigint,
  reason text,
  response_code text,
  -- Why there was no usable answer (src/domain/decision.ts).
  error text,
  status_code integer,
  duration_ms integer,
  request_hash bytea check (length(request_hash) = 32),
  answer_hash bytea check (length(answer_hash) = 32),
  -- The client's own, as JSON.
  metadata text check (length(metadata) <= 2000),
  -- The content of an answer that came too late, as JSON.
  late_answer text,
  primary key (public_token, decision_id)
);

create unique index decision_by_sequence on decision (public_token, sequence);
-- A client's decisions over all its cards, newest first; those of a purpose; and of these, those of
-- a decider. The planner cannot take the index of the purposes for that of the deciders, because
-- they share no column behind the client.
create index decision_by_client on decision (client_id, decision_id);
create index decision_by_purpose on decision (client_id, purpose, decision_id);
create index decision_by_decider
on decision (client_id, (purpose || ' ' || decided_by), decision_id);
create index decision_by_authorization on decision (authorization_id, public_token);
-- Decisions that wait for an answer: few at any time.
create index decision_waiting on decision (deadline, decision_id) where concluded_at is null;
create index decision_waiting_by_card on decision (public_token) where concluded_at is null;
-- Decisions that the streams of a client may take.
create index decision_offered on decision (client_id, deadline)
where concluded_at is null and called_answer is null and taken_by is null;
-- Answers that came by a call, until the process that waits for one concludes its decision.
create index decision_called on decision (decision_id)
where called_answer is not null and concluded_at is null;
create index decision_by_age on decision (asked_at);

-- Decisions as clients read them.
create view described_decision as
select public_token as "publicToken", decision_id as "decisionId", client_id as "clientId",
  authorization_id as "authorizationId", sequence, purpose,
  endpoint_product_id as "endpointProductId", endpoint_version as "endpointVersion", facts,
  held_amount::double precision as "heldAmount", held_currency_code as "heldCurrencyCode",
  asked_at as "askedAt", deadline, concluded_at as "concludedAt", decided_by as "decidedBy",
  verdict, approved_amount::double precision as "approvedAmount", reason,
  response_code as "responseCode", error, status_code as "statusCode",
  duration_ms as "durationMs", encode(request_hash, 'hex') as "requestHash",
  encode(answer_hash, 'hex') as "answerHash", metadata, called_answer as "calledAnswer",
  called_at as "calledAt", late_answer as "lateAnswer",
  purpose || ' ' || decided_by as "purposeAndDecider"
from decision;

-- Decisions that wait for an answer.
create view waiting_decision as
select public_token as "publicToken", decision_id as "decisionId", client_id as "clientId",
  sequence, facts, pending, endpoint_product_id as "endpointProductId",
  endpoint_version as "endpointVersion", held_amount::double precision as "heldAmount",
  held_currency_code as "heldCurrencyCode", deadline, called_answer as "calledAnswer"
from decision
where concluded_at is null and purpose = 'authorize';
