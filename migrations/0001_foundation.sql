-- Everything that belongs to a card carries its public_token and is keyed by it, so that the schema
-- spreads by that one column on a distributed engine. What must be unique by something else has a
-- table of its own, keyed by that. No foreign key crosses cards.

create table installation (
  singleton boolean primary key default true check (singleton),
  kind text not null check (kind in ('sandbox', 'production')),
  master_key_check_value text not null,
  created_at timestamptz not null default now()
);

create table client (
  client_id text primary key check (length(client_id) between 1 and 64),
  client_name text not null,
  kind text not null check (kind in ('client', 'network', 'admin')),
  scopes text[] not null,
  secret_hash bytea,
  jwks text,
  active boolean not null default true,
  created_at timestamptz not null default now()
);

-- A private_key_jwt assertion is accepted once (RFC 7523, section 3).
create table client_assertion (
  client_id text not null,
  jti_hash bytea not null,
  expires_at timestamptz not null,
  primary key (client_id, jti_hash)
);
create index client_assertion_expiry on client_assertion (expires_at);

-- Keys of the HSM, each as a key block under the master key. Nothing here is usable without it.
create table hsm_key (
  key_name text not null,
  key_version integer not null check (key_version > 0),
  state text not null check (state in ('pending', 'active', 'retired')),
  key_block text not null,
  key_check_value text not null,
  created_at timestamptz not null default now(),
  primary key (key_name, key_version)
);

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

create table client_product (
  client_id text not null references client,
  product_id integer not null references product,
  primary key (client_id, product_id)
);

create table card (
  public_token text primary key check (public_token ~ '^[1-9][0-9]{9}$'),
  client_id text not null,
  product_id integer not null references product,
  card_type text not null check (card_type in ('Physical', 'Virtual')),
  customer_reference text,
  design_id text,
  masked_pan text not null check (masked_pan ~ '^[0-9]{6}\*{6}[0-9]{4}$'),
  encrypted_pan bytea not null,
  personal_data bytea not null,
  start_date date not null,
  expiry_date date not null check (expiry_date >= start_date),
  status_code text not null check (status_code in ('02', '00', '62', '41', '43', '46', '54', '83')),
  -- Exactly one form of the PIN is kept: a format 4 block, or a PVV that no PIN can be shown from.
  pin_block bytea,
  pvv text check (pvv ~ '^[0-9]{4}$'),
  -- The very versions of the keys, so that a rotation leaves the card as it was issued.
  pin_key text not null,
  cvk text not null,
  last_sequence integer not null default 0 check (last_sequence >= 0),
  created_at timestamptz not null default now(),
  check ((pin_block is null) <> (pvv is null))
);
create index card_by_client on card (client_id, created_at desc, public_token desc);
create index card_by_reference on card (client_id, customer_reference) where customer_reference is not null;
create index card_by_expiry on card (expiry_date) where status_code in ('02', '00', '62');

-- A PAN is issued once. The fingerprint is a keyed HMAC: without the key it tells nothing of the PAN.
create table pan_fingerprint (
  pan_fingerprint bytea primary key,
  public_token text not null
);

-- remaining = try_limit - (spent - restored); a client block spends all that is left.
create table try_counter (
  public_token text not null references card,
  kind text not null check (kind in ('pin', 'cvv')),
  try_limit integer not null check (try_limit between 1 and 15),
  spent integer not null default 0,
  restored integer not null default 0 check (restored >= 0),
  epoch integer not null default 1 check (epoch > 0),
  blocked_by_client boolean not null default false,
  primary key (public_token, kind),
  check (spent >= restored and spent - restored <= try_limit),
  check (not blocked_by_client or spent - restored = try_limit)
);

-- The outbox: written in the transaction of the act it tells. The note is enciphered and is no part
-- of what a reader of events sees.
create table event (
  public_token text not null references card,
  sequence integer not null check (sequence > 0),
  event_id uuid not null default gen_random_uuid(),
  client_id text not null,
  type text not null,
  occurred_at timestamptz not null default now(),
  request_id text,
  details text not null,
  note bytea,
  primary key (public_token, sequence)
);

create table idempotency_record (
  client_id text not null,
  idempotency_key text not null,
  request_fingerprint bytea not null,
  answer bytea,
  retired boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (client_id, idempotency_key)
);
create index idempotency_record_age on idempotency_record (created_at);

-- Limits that hold for all processes and across restarts: uses within a window that starts with the first.
create table card_limit (
  public_token text not null references card,
  limit_name text not null,
  window_start timestamptz not null,
  used integer not null check (used > 0),
  primary key (public_token, limit_name)
);
create table client_limit (
  client_id text not null,
  limit_name text not null,
  window_start timestamptz not null,
  used integer not null check (used > 0),
  primary key (client_id, limit_name)
);

-- A card network's keys for PIN blocks, each a key block under the master key.
create table zone_key (
  client_id text not null references client,
  key_name text not null check (key_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  algorithm text not null check (algorithm in ('TDES', 'AES')),
  pin_block_formats text[] not null,
  key_block text not null,
  key_check_value text not null,
  primary key (client_id, key_name)
);

-- Secrets of the sandbox's demo clients, sealed by the HSM, so that every process prints the same ones.
create table sandbox_secret (
  secret_name text primary key,
  sealed bytea not null
);
