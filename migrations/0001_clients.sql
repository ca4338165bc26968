-- Everything that belongs to a card carries its public_token and is keyed by it, so that the schema
-- spreads by that one column on a distributed engine. What must be unique by something else has a
-- table of its own, keyed by that. No foreign key crosses cards.

create table installation (
  singleton boolean primary key default true check (singleton),
  kind text not null check (kind in ('sandbox', 'production')),
  master_key_check_value text not null,
  created_at timestamptz not null default now()
);

-- Work that one process at a time does. The clock is the database's.
create table lease (
  lease_name text primary key,
  holder uuid not null,
  leased_until timestamptz not null
);

-- Secrets of the sandbox's demo clients, sealed by the HSM, so that every process prints the same ones.
create table sandbox_secret (
  secret_name text primary key,
  sealed bytea not null
);

create table client (
  client_id text primary key check (length(client_id) between 1 and 64),
  client_name text not null,
  kind text not null check (kind in ('client', 'network', 'admin')),
  scopes text[] not null,
  -- The secret before the last rotation is taken, too, until its time is over.
  secret_hash bytea,
  previous_secret_hash bytea,
  previous_secret_until timestamptz,
  jwks text,
  -- Its tokens are bound to the certificate that it asked for them with (RFC 8705): a token that was
  -- stolen is of no use on another connection.
  certificate_bound_tokens boolean not null default false,
  -- Counts how often it was given other credentials, so that whoever confirms it says which ones, and
  -- tokens from before can be waited for.
  credentials_version integer not null default 1 check (credentials_version > 0),
  credentials_changed_at timestamptz not null default clock_timestamp(),
  active boolean not null default true,
  -- Whether it may still be sent what happens to its cards: said here, and nowhere else.
  receives_events boolean not null
    generated always as (active and scopes && array['events.read', 'webhooks.write']) stored,
  -- While it may not, its deliveries are suspended: since then, and before that for so many seconds in all.
  -- The three days of an endpoint are counted on a clock that stands still meanwhile, which is now() less
  -- these seconds; url_since and first_tried_at are instants of that clock.
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

-- Who had a hand in a client: registered it, gave it its credentials or let it in again, or confirmed that
-- whoever has them is who it says. Nobody did where it comes from the configuration.
create table client_provenance (
  client_id text not null references client,
  act text not null check (act in ('created', 'credentials_set', 'confirmed')),
  by_client_id text not null references client,
  -- Everybody who could have acted for that one at the time, itself among them.
  controlled_by text[] not null check (by_client_id = any (controlled_by)),
  acted_at timestamptz not null default clock_timestamp(),
  primary key (client_id, act, by_client_id)
);
create unique index client_creator on client_provenance (client_id) where act = 'created';

create table product (
  product_id integer primary key check (product_id > 0),
  product_name text not null,
  scheme_name text not null,
  bin text not null check (bin ~ '^([0-9]{6}|[0-9]{8})$'),
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  card_types text[] not null check (card_types <@ array['Physical', 'Virtual'] and cardinality(card_types) > 0),
  validity_months integer not null check (validity_months between 1 and 240),
  pin_length integer not null check (pin_length between 4 and 12),
  pin_revealable boolean not null,
  refuse_weak_pins boolean not null default true,
  pin_try_limit integer not null check (pin_try_limit between 1 and 15),
  cvv_try_limit integer not null check (cvv_try_limit between 1 and 15),
  cvk text not null default 'cvk',
  pvk text not null default 'pvk',
  active boolean not null default true,
  check (pin_revealable or pin_length = 4)
);

-- A client may issue cards of a product.
create table client_product (
  client_id text not null references client,
  product_id integer not null references product,
  -- Another one whenever the product is to be changed: a card is made by what was read of the product, and only of what
  -- it still is. It stands here, where it is locked for a card on the client's own node.
  product_version uuid not null default gen_random_uuid(),
  primary key (client_id, product_id)
);

-- A card network's keys for PIN blocks, each a key block under the master key.
create table zone_key (
  client_id text not null references client,
  key_name text not null check (key_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  algorithm text not null check (algorithm in ('TDES', 'AES')),
  pin_block_formats text[] not null,
  key_block text not null,
  key_check_value text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  primary key (client_id, key_name)
);

-- A request is done once. Its idempotency key is the caller's own text, and people put card numbers there: it is
-- kept as a keyed hash alone. While the hash's key is rotated a request has a row for each version; one of them
-- has the answer.
create table idempotency_record (
  client_id text not null,
  key_hash bytea not null,
  request_fingerprint bytea not null,
  answer bytea,
  retired boolean not null default false,
  -- Which claim of a key an answer belongs to: one that comes after the key was forgotten, and taken anew, is not
  -- recorded as the answer of the other.
  claim_id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (client_id, key_hash)
);
create index idempotency_record_age on idempotency_record (created_at);
