-- Products, and the grants by which clients may issue cards of them.

create table product (
  product_id integer primary key check (product_id > 0),
  product_name text not null,
  scheme_name text not null,
  bin text not null check (bin ~ '^([0-9]{6}|[0-9]{8})$'),
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  card_types text[] not null
    check (card_types <@ array['Physical', 'Virtual'] and cardinality(card_types) > 0),
  validity_months integer not null check (validity_months between 1 and 240),
  pin_length integer not null check (pin_length between 4 and 12),
  pin_revealable boolean not null,
  refuse_weak_pins boolean not null default true,
  pin_try_limit integer not null check (pin_try_limit between 1 and 15),
  cvv_try_limit integer not null check (cvv_try_limit between 1 and 15),
  cvk text not null default 'cvk',
  pvk text not null default 'pvk',
  active boolean not null default true,
  -- The spending controls in force: null where they allow everything. The version counts changes.
  controls jsonb check (jsonb_typeof(controls) = 'object'),
  controls_version integer not null default 0,
  -- How the chips of its cards work (src/domain/product-chip.ts); null if they have none.
  chip jsonb check (jsonb_typeof(chip) = 'object' and chip ? 'profile'),
  -- The renewal of its cards, unless a card has a type of its own. An automatic renewal is ordered
  -- renewal_lead_days before the expiry; a renewal by its client, at most
  -- renewal_earliest_days before it. An expired card can be renewed or replaced for
  -- renewal_grace_months.
  renewal_type text not null default 'Manual' check (renewal_type in ('Manual', 'Automatic')),
  renewal_earliest_days integer not null default 90
    check (renewal_earliest_days between 0 and 366),
  renewal_lead_days integer not null default 45
    check (renewal_lead_days between 0 and renewal_earliest_days),
  renewal_grace_months integer not null default 3 check (renewal_grace_months between 0 and 12),
  check (pin_revealable or pin_length = 4)
);

-- A client may issue cards of a product.
create table client_product (
  client_id text not null references client,
  product_id integer not null references product,
  -- Replaced before each change of the product. A card is created from the product as it was read,
  -- and only while this version is the same. It is a column of this table because a client's own
  -- node can lock it here while a card is created.
  product_version uuid not null default gen_random_uuid(),
  primary key (client_id, product_id)
);
