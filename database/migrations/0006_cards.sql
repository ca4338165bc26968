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
  -- Of the current plastic.
  expiry_date date not null check (expiry_date >= start_date),
  -- Of the plastic that is ordered, until it becomes current or is cancelled.
  waiting_expiry_date date,
  -- The last day before the status 54.
  valid_until date not null
    generated always as (greatest(expiry_date, waiting_expiry_date)) stored,
  -- The current plastic. The PAN sequence number of its chip follows from it and the product.
  plastic_number integer not null default 0 check (plastic_number >= 0),
  -- The newest plastic, also if it was cancelled.
  last_plastic_number integer not null default 0
    check (last_plastic_number between plastic_number and 99),
  -- Whether the card was virtual and its plastic has not been activated yet.
  is_plastic_inactive boolean not null default false,
  -- The first card of the line of cards that replaced each other, and the place in that line.
  line_token text not null,
  generation integer not null default 0 check (generation >= 0),
  -- The card before it, and the newest card that replaces it. A record has them, and on a cluster
  -- no statement can read the line of a card together with the card.
  replacement_for text,
  replaced_by text,
  -- When a successor took its place, or it was reported as compromised: it stays restricted.
  retired_at timestamptz,
  status_code text not null
    check (status_code in ('02', '00', '62', '41', '43', '46', '54', '83')),
  -- The status that an expired card gets back when it is renewed.
  status_before_expiry text check (status_before_expiry in ('02', '00', '62')),
  -- Exactly one form of the PIN is stored: a format 4 block, or a PVV, from which no PIN can be
  -- revealed.
  pin_block bytea,
  pvv text check (pvv ~ '^[0-9]{4}$'),
  -- The exact versions of the keys: a rotation does not change issued cards.
  pin_key text not null,
  cvk text not null,
  -- Counts the changes of the PIN.
  pin_version integer not null default 1 check (pin_version > 0),
  -- Until its activation, a successor that has the PIN of a card of its line names that card and
  -- the version of the PIN; null if it has a PIN of its own.
  pin_source_token text,
  carried_pin_version integer check (carried_pin_version > 0),
  -- Null: as the product says.
  renewal_type text check (renewal_type in ('Manual', 'Automatic')),
  -- Numbers the card's events.
  last_sequence integer not null default 0 check (last_sequence >= 0),
  created_at timestamptz not null default now(),
  -- The version of its spending controls (card_controls); 0 without any. The document is not here,
  -- because rows that are wider make other plans.
  controls_version integer not null default 0 check (controls_version >= 0),
  check ((pin_block is null) <> (pvv is null)),
  check (status_code <> '54' or status_before_expiry is not null),
  check (waiting_expiry_date >= expiry_date),
  check (retired_at is null or status_code not in ('02', '00')),
  check ((generation = 0) = (line_token = public_token)),
  check ((pin_source_token is null) = (carried_pin_version is null))
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
-- many expiries as months, however many cards exist. The condition excludes statuses, here and
-- in each statement: a planner without statistics would take a list of statuses for nearly no
-- rows, and sort all of them.
create index card_by_client_expiry
  on card (client_id, valid_until, status_code, created_at, public_token)
  where status_code not in ('41', '43', '46', '54', '83');
create index card_by_expiry on card (valid_until)
  where status_code not in ('41', '43', '46', '54', '83');

-- Also for a change of a product, which locks it and checks whether the product has cards.
create index card_by_product
  on card (product_id, client_id, card_type, created_at, public_token);
create index card_by_type on card (card_type, client_id, created_at, public_token);

-- The search of operators over the cards of all clients, newest first. These columns seldom
-- change, so that a change of a card's row can stay on its page.
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
