-- Spending controls: the versions of the documents, and what cards have spent.
--
-- A card names the version in force, and a product has its controls beside the version. All
-- versions stay, because an authorization names those that it was decided under.

create table card_controls (
  public_token text not null references card,
  version integer not null check (version > 0),
  controls jsonb not null check (jsonb_typeof(controls) = 'object'),
  changed_at timestamptz not null default clock_timestamp(),
  primary key (public_token, version)
);

create table product_controls (
  product_id integer not null references product,
  version integer not null check (version > 0),
  controls jsonb not null check (jsonb_typeof(controls) = 'object'),
  changed_at timestamptz not null default clock_timestamp(),
  primary key (product_id, version)
);

-- The spending of a card under limits: one row, from its first authorization that a limit counted.
create table card_spending (
  public_token text primary key references card,
  -- By name, such as day or day.cash, at most one for each period and channel:
  -- {"startsOn": "2026-11-27", "amount": 1234, "count": 1}.
  windows jsonb not null default '{}'
    check (jsonb_typeof(windows) = 'object' and length(windows::text) < 8000),
  -- The first merchant of a card with the control merchantLock.
  locked_merchant text
);
