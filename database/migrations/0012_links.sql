-- Connections on which card networks use ISO 8583, and the advices and reversals of networks.

-- A link belongs to a network as a token does: messages on it are requests of that client.
create table link (
  link_name text primary key check (link_name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  network_id text not null references client,
  -- Whether the network connects to this address, or the service connects to the network at it.
  direction text not null check (direction in ('listen', 'dial')),
  host text not null,
  port integer not null check (port between 1 and 65535),
  profile text not null,
  tls boolean not null,
  -- SHA-256 of the certificates that the peer may present, base64url (RFC 8705, section 3.1).
  -- Empty: any certificate that its authority issued.
  certificates text[] not null default '{}',
  -- Addresses that may connect without a named certificate, in addition to loopback.
  peers text[] not null default '{}',
  -- The key under which the link exchanges keys.
  zone_master_key text,
  active boolean not null default true,
  signed_on_at timestamptz,
  created_at timestamptz not null default now()
);

-- A connection to an address belongs to the network of its link.
create unique index link_address on link (host, port) where direction = 'listen' and active;

-- Open connections. The rows of a process that ended expire after half a minute.
create table link_session (
  link_name text not null,
  session_id uuid not null,
  peer text not null,
  connected_at timestamptz not null,
  signed_on_at timestamptz,
  seen_at timestamptz not null default now(),
  primary key (link_name, session_id)
);

-- Whether each process serves a link, and otherwise why not. A process that ended leaves its rows
-- behind; they lose their meaning after half a minute.
create table link_process (
  link_name text not null,
  process_id uuid not null,
  -- Null where the process listens for the network, or connects to it.
  fault text,
  seen_at timestamptz not null default now(),
  primary key (link_name, process_id)
);

-- The transaction that a reversal looks for, or the reversal itself if it arrives before its
-- original: the first of the two inserts the row. The hash covers network, PAN fingerprint,
-- reference, terminal and merchant.
create table network_transaction (
  network_id text not null,
  transaction_hash bytea not null,
  -- The class of the original; null while only a reversal is known.
  message_class text,
  trace text,
  transmitted_at text,
  acquirer text,
  -- The id by which later messages name the payment of the original.
  network_transaction_id text,
  reversed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (transaction_hash, network_id),
  check (message_class is not null or reversed_at is not null)
);

create index network_transaction_trace on network_transaction (trace, network_id);
create index network_transaction_age on network_transaction (created_at);

-- A decision or reversal that a network reports: recorded once, however often it is sent.
create table network_advice (
  network_id text not null,
  advice_hash bytea not null,
  link_name text not null,
  message_type text not null,
  -- Null if the card is unknown; the PAN is not stored.
  public_token text,
  trace text,
  transmitted_at text,
  reference text,
  amount text,
  currency text,
  -- The network's answer on behalf of the issuer.
  response_code text,
  -- Whether the original was found.
  is_matched boolean not null,
  received_at timestamptz not null default clock_timestamp(),
  primary key (advice_hash, network_id)
);

create index network_advice_age on network_advice (received_at);
create index network_advice_of_link on network_advice (link_name, received_at, advice_hash);
