-- Disclosures that were refused or failed, until they are entered in the audit log. Equal ones of
-- one minute share a row.
create table refused_disclosure (
  -- The id of the entry.
  entry_id uuid primary key default gen_random_uuid(),
  minute timestamptz not null,
  client_id text not null,
  -- As the client sent it, whether or not it has such a card; null if it cannot be the token of a
  -- card, or if the client exceeded the number of cards that are named within the minute.
  public_token text check (public_token ~ '^[1-9][0-9]{9}$'),
  act text not null check (
    act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed', 'pan.searched')
  ),
  includes_pin boolean not null,
  -- The thumbprint of the device key for the answer (RFC 7638); null without a device key.
  device text check (length(device) = 43),
  outcome text not null check (outcome in ('refused', 'failed')),
  -- The code of the problem.
  reason text not null,
  count bigint not null check (count > 0),
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- The id of the first of these requests.
  request_id text not null,
  unique nulls not distinct (
    client_id,
    minute,
    public_token,
    act,
    includes_pin,
    device,
    outcome,
    reason
  )
);

create index refused_disclosure_by_minute on refused_disclosure (minute, entry_id);
