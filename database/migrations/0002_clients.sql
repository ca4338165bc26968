-- Clients: systems of an issuer, card networks and administrators that call the service.

create table client (
  client_id text primary key check (length(client_id) between 1 and 64),
  client_name text not null,
  kind text not null check (kind in ('client', 'network', 'admin')),
  scopes text[] not null,
  secret_hash bytea,
  -- The secret before the last rotation is accepted until this instant, too.
  previous_secret_hash bytea,
  previous_secret_until timestamptz,
  jwks text,
  -- Tokens are bound to the certificate with which the client requested them (RFC 8705): a stolen
  -- token is useless on another connection.
  certificate_bound_tokens boolean not null default false,
  -- Counts how often the client got new credentials. An operator who confirms the client names the
  -- version, and a token of an older version can be recognized.
  credentials_version integer not null default 1 check (credentials_version > 0),
  credentials_changed_at timestamptz not null default clock_timestamp(),
  active boolean not null default true,
  -- Whether the client may still receive events of its cards. Only this column decides it.
  receives_events boolean not null
    generated always as (active and scopes && array['events.read', 'webhooks.write']) stored,
  -- Deliveries are suspended while the client may not receive events: since this instant, and for
  -- this many seconds in earlier suspensions. The three days of an endpoint are counted on a clock
  -- that stops meanwhile: now() minus these seconds. url_since and first_tried_at are instants of
  -- that clock.
  deliveries_suspended_at timestamptz,
  deliveries_suspended_seconds double precision not null default 0
    check (deliveries_suspended_seconds >= 0),
  created_at timestamptz not null default now(),
  check ((previous_secret_hash is null) = (previous_secret_until is null))
);

-- A private_key_jwt assertion is accepted once (RFC 7523, section 3).
create table client_assertion (
  client_id text not null,
  jti_hash bytea not null,
  expires_at timestamptz not null,
  primary key (client_id, jti_hash)
);

create index client_assertion_expiry on client_assertion (expires_at);

-- The persons who registered a client, issued its credentials, activated it again, confirmed its
-- identity, or approved one of these acts. A client that comes from the configuration has no row.
create table client_provenance (
  client_id text not null references client,
  act text not null check (act in ('created', 'credentials_set', 'confirmed', 'approved')),
  -- A client or a person.
  by_client_id text not null,
  -- Everyone who could act as that client or person at the time, itself included.
  controlled_by text[] not null check (by_client_id = any (controlled_by)),
  acted_at timestamptz not null default clock_timestamp(),
  primary key (client_id, act, by_client_id)
);

create unique index client_creator on client_provenance (client_id) where act = 'created';
