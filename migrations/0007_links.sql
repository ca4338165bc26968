-- Works with programs from migration 0006 on.

-- A connection on which a card network speaks ISO 8583. It is a network's as a token is: what comes on it is
-- asked by that client.
create table link (
  link_name text primary key check (link_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  network_id text not null references client,
  -- Whether the network connects to this address, or is connected to at it.
  direction text not null check (direction in ('listen', 'dial')),
  host text not null,
  port integer not null check (port between 1 and 65535),
  profile text not null,
  tls boolean not null,
  -- SHA-256 of the certificates that the other side may have, base64url (RFC 8705 section 3.1); none: any that
  -- its authority issued.
  certificates text[] not null default '{}',
  -- From where it may come without a certificate that is named, beside loopback.
  peers text[] not null default '{}',
  -- What keys are exchanged under on the link.
  zone_master_key text,
  active boolean not null default true,
  signed_on_at timestamptz,
  created_at timestamptz not null default now()
);
-- Who connects to an address is taken for the network of its link.
create unique index link_address on link (host, port) where direction = 'listen' and active;

-- What is connected now. A process that is gone leaves its rows behind; they are of no use after half a minute.
create table link_session (
  link_name text not null,
  session_id uuid not null,
  peer text not null,
  connected_at timestamptz not null,
  signed_on_at timestamptz,
  seen_at timestamptz not null default now(),
  primary key (link_name, session_id)
);

-- What a reversal looks for, and what it leaves behind where it comes before its original: of the two the one that
-- is first has the row. Known by a hash of network, fingerprint of the PAN, reference, terminal and merchant.
create table network_transaction (
  network_id text not null,
  transaction_hash bytea not null,
  -- Of the original; null while a reversal alone is known.
  message_class text,
  trace text,
  transmitted_at text,
  acquirer text,
  reversed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (transaction_hash, network_id),
  check (message_class is not null or reversed_at is not null)
);
create index network_transaction_trace on network_transaction (trace, network_id);
create index network_transaction_age on network_transaction (created_at);

-- What a network says that it did by itself, or took back: on record once, however often it is sent.
create table network_advice (
  network_id text not null,
  advice_hash bytea not null,
  link_name text not null,
  message_type text not null,
  -- Of the card, where there is one; its PAN is nowhere.
  public_token text,
  trace text,
  transmitted_at text,
  reference text,
  amount text,
  currency text,
  -- What the network had answered for the issuer.
  response_code text,
  -- Whether what it is about was found.
  is_matched boolean not null,
  received_at timestamptz not null default clock_timestamp(),
  primary key (advice_hash, network_id)
);
create index network_advice_age on network_advice (received_at);
create index network_advice_of_link on network_advice (link_name, received_at, advice_hash);
