-- The life of a card: its plastics, and the line of cards that replaced each other.

-- An edition of a card. A card is a number; each renewal, reprint or conversion of it is its next
-- plastic, and its chip has the next PAN sequence number. An edition of a virtual card has no
-- delivery.
create table plastic (
  public_token text not null references card,
  plastic_number integer not null check (plastic_number between 0 and 99),
  card_type text not null check (card_type in ('Physical', 'Virtual')),
  reason text not null check (reason in ('Issue', 'Renewal', 'Reprint', 'Conversion')),
  state text not null check (state in ('Waiting', 'Current', 'Retired', 'Cancelled')),
  start_date date not null,
  expiry_date date not null check (expiry_date >= start_date),
  delivery_status text check (
    delivery_status in (
      'Ordered', 'Produced', 'Shipped', 'Delivered', 'Returned', 'Cancelled'
    )
  ),
  delivery_changed_at timestamptz,
  -- The bureau's batch that it is part of, and the job that ordered it.
  batch_id uuid,
  renewal_job_id uuid,
  -- The client's texts for the bureau (freetext1, freetext2), sealed.
  free_texts bytea,
  -- How many notices of its renewal were given: the first at 60 days, the second at 30.
  notices_given smallint not null default 0 check (notices_given between 0 and 2),
  ordered_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (public_token, plastic_number),
  check ((card_type = 'Virtual') = (delivery_status is null)),
  check ((state in ('Retired', 'Cancelled')) = (ended_at is not null))
);

-- At most one is current, and at most one waits.
create unique index plastic_in_use on plastic (public_token, state)
  where state in ('Waiting', 'Current');

-- The texts that a re-encryption moves.
create index plastic_with_free_texts on plastic (public_token, plastic_number)
  where free_texts is not null;

-- The plastics that no batch has taken yet, in the order of a batch.
create index plastic_to_produce on plastic (ordered_at, public_token)
  where delivery_status = 'Ordered' and batch_id is null;
create index plastic_by_batch on plastic (batch_id, public_token, plastic_number)
  where batch_id is not null;
-- The current plastics whose renewal is still to be noticed, by the number of notices given.
create index plastic_to_notice on plastic (notices_given, expiry_date, public_token)
  where state = 'Current' and notices_given < 2;
create index plastic_by_renewal_job on plastic (renewal_job_id)
  where renewal_job_id is not null;

-- The successors of a card, on the token of the first card of the line. The key makes a replacement
-- happen once. A successor that was closed unused is followed by another of the next generation.
create table card_line (
  public_token text not null references card,
  generation integer not null check (generation > 0),
  successor_token text not null,
  replaced_token text not null,
  reason text not null
    check (reason in ('Lost', 'Stolen', 'Damaged', 'Compromised', 'Upgrade')),
  created_at timestamptz not null default now(),
  -- The version of the successor's controls that were copied; null for controls that the client
  -- gave to a successor.
  carried_controls_version integer,
  -- Whether the client asked for the PIN of the replaced card. Otherwise, the PIN of a stolen card
  -- does not move.
  is_pin_requested boolean not null,
  -- When the successor was activated. From then on, no earlier card of the line can be replaced.
  activated_at timestamptz,
  primary key (public_token, generation)
);

-- The cards that an automatic renewal may be ordered for, by product, type, and the type of renewal
-- of the card ('' if the product decides). A renewed card moves to its next expiry.
create index card_to_renew
  on card (product_id, card_type, coalesce(renewal_type, ''), valid_until, public_token)
  where status_code not in ('41', '43', '46', '54', '83') and retired_at is null;

-- Plastics that the bureau took together. Its plastics name it.
create table bureau_batch (
  batch_id uuid primary key,
  -- The client system of the bureau.
  client_id text not null,
  -- To the millisecond.
  taken_at timestamptz not null,
  acknowledged_at timestamptz,
  plastic_count integer not null check (plastic_count > 0)
);

-- The lists of a client's batches, newest first.
create index bureau_batch_by_client on bureau_batch (client_id, taken_at, batch_id);
create index bureau_batch_unacknowledged on bureau_batch (client_id, taken_at, batch_id)
  where acknowledged_at is null;

-- The notes of a client about a card, in clear: it lists its cards by a key and its value.
create table card_metadata (
  public_token text not null references card,
  key text not null check (key ~ '^[A-Za-z0-9_-]{1,40}$'),
  value text not null check (length(value) between 1 and 500),
  client_id text not null,
  -- Of the card: the order of the list.
  created_at timestamptz not null,
  primary key (public_token, key)
);

create index card_metadata_by_value
  on card_metadata (client_id, key, value, created_at, public_token);

-- The renewals that a client ordered together. A job lists its cards once, in the order of
-- card_by_product, and then orders the renewal of each. A dry run orders nothing.
create table renewal_job (
  job_id uuid primary key,
  client_id text not null,
  product_id integer not null,
  expiring_before date not null,
  is_dry_run boolean not null,
  request_id text not null,
  state text not null default 'Listing' check (state in ('Listing', 'Working', 'Done')),
  -- The last card that was walked over.
  listed_card_type text,
  listed_created_at timestamptz,
  listed_token text,
  requested_at timestamptz not null default now(),
  finished_at timestamptz,
  check ((state = 'Done') = (finished_at is not null))
);

create index renewal_job_to_do on renewal_job (requested_at, job_id) where state <> 'Done';
create index renewal_job_undone on renewal_job (client_id) where state <> 'Done';
create index renewal_job_finished on renewal_job (finished_at) where finished_at is not null;

-- The cards of a job, each once. The outcome is 'ordered' or the code of the refusal; null until
-- the card had its turn.
create table renewal_job_card (
  public_token text not null references card,
  job_id uuid not null,
  outcome text,
  primary key (public_token, job_id)
);

create index renewal_job_card_by_outcome on renewal_job_card (job_id, outcome, public_token);
