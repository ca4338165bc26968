-- Cards.

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
  status_code text not null
    check (status_code in ('02', '00', '62', '41', '43', '46', '54', '83')),
  -- Exactly one form of the PIN is stored: a format 4 block, or a PVV, from which no PIN can be
  -- revealed.
  pin_block bytea,
  pvv text check (pvv ~ '^[0-9]{4}$'),
  -- The exact versions of the keys: a rotation does not change issued cards.
  pin_key text not null,
  cvk text not null,
  -- Numbers the card's events.
  last_sequence integer not null default 0 check (last_sequence >= 0),
  created_at timestamptz not null default now(),
  -- The version of its spending controls (card_controls); 0 without any. The document is not here,
  -- because rows that are wider make other plans.
  controls_version integer not null default 0 check (controls_version >= 0),
  check ((pin_block is null) <> (pvv is null))
)
-- Leaves room on each page for the next version of a row. Otherwise the first change of a card,
-- which numbers an event and changes no indexed column, would move the row to another page and
-- write every index.
with (fillfactor = 90);

-- Each list for clients reads one index in the order of the list, with every filter: the cost of a
-- page depends on the page, not on the number of the client's cards. All columns ascend,
-- so that row comparisons alone bound a backward read. No two indexes have the same first columns,
-- so that no plan confuses them.
create index card_by_client on card (client_id, created_at, public_token);
create index card_by_status on card (status_code, client_id, created_at, public_token);
create index card_by_reference
  on card (customer_reference, client_id, status_code, created_at, public_token)
  where customer_reference is not null;

-- Cards whose last day may have passed before a sweep has expired them, by expiry: there are as
-- many expiries as months, however many cards exist.
create index card_by_client_expiry
  on card (client_id, expiry_date, status_code, created_at, public_token)
  where status_code in ('02', '00', '62');
create index card_by_expiry on card (expiry_date) where status_code in ('02', '00', '62');

-- A change of a product locks it and checks whether the product has cards.
create index card_by_product on card (product_id);

-- The search of operators over the cards of all clients, newest first. None of these columns ever
-- changes, so that a change of a card's row can stay on its page.
create index card_by_last_four on card (right(masked_pan, 4), created_at, public_token);
create index card_by_any_reference on card (lower(customer_reference), created_at, public_token)
  where customer_reference is not null;

-- A PAN is issued once. The fingerprint is a keyed HMAC: without the key it reveals nothing about
-- the PAN. A card has a fingerprint for every version of the key that is used for lookups.
create table pan_fingerprint (
  pan_fingerprint bytea primary key,
  public_token text not null,
  key_version integer not null default 1 check (key_version > 0)
);

create index pan_fingerprint_by_version on pan_fingerprint (key_version);

-- A PIN that a device sealed is accepted once. Its hash is stored until the envelope expires; the
-- hash bounds the size of what a device can store.
create table pin_envelope (
  public_token text not null references card,
  jti_hash bytea not null check (length(jti_hash) = 32),
  expires_at timestamptz not null,
  primary key (public_token, jti_hash)
);

create index pin_envelope_expiry on pin_envelope (expires_at);
