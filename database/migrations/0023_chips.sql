-- The chips of cards: which cryptograms were seen, and the commands that wait for a chip.

-- A chip that has made a valid cryptogram. A replaced card has the same PAN and another sequence
-- number.
create table chip (
  public_token text not null references card,
  pan_sequence_number text not null check (pan_sequence_number ~ '^[0-9]{2}$'),
  -- The highest transaction counter (ATC) of a valid cryptogram, and which of the 64 counters up to
  -- it were seen: bit n is the counter highest_atc - n.
  highest_atc integer not null check (highest_atc between 0 and 65535),
  seen_atcs bigint not null,
  -- The highest one of a transaction by the contacts of the chip, whose answer can carry commands.
  -- Null: none was seen.
  contact_atc integer check (contact_atc between 0 and 65535),
  -- The expiry of the card when the chip was used first. Null: not known.
  expiry_date date,
  -- The version of the keys of its last valid cryptogram.
  key_version integer not null check (key_version > 0),
  -- The tries that remain for the PIN in the chip, as it reported them, when, and the counter of
  -- that report.
  remaining_offline_tries integer check (remaining_offline_tries between 0 and 15),
  offline_tries_at timestamptz,
  offline_tries_atc integer,
  -- The counter of the last answer with a command that has restored these tries. Reports up to it
  -- are out of date. Null: no command did.
  restored_atc integer,
  primary key (public_token, pan_sequence_number)
)
-- Each cryptogram changes its row, and leaves the index as it is if the page has room.
with (fillfactor = 90);

-- The counters of the contactless stripes of a card. A dynamic value does not depend on the PAN
-- sequence number, so all chips of the card with one expiry share one row. It depends on the
-- expiry, so that the row begins again with a later one. A stripe has a value of three digits, so
-- it never moves the counter of a chip.
create table stripe_counter (
  public_token text primary key references card,
  -- As those of chip.
  highest_atc integer not null check (highest_atc between 0 and 65535),
  seen_atcs bigint not null,
  -- The expiry of these stripes.
  expiry_date date not null
);

-- A command to the chip of a card, which travels in the answer to an online chip transaction until
-- the chip reports that it executed it.
create table chip_command (
  public_token text not null references card,
  -- Names the command in messages (tag 9F18): the sequence of the event that reports it.
  command_number integer not null check (command_number > 0),
  command text not null check (
    command in (
      'change_pin', 'unblock_pin', 'block_application', 'unblock_application', 'block_card',
      'put_data'
    )
  ),
  -- The chip that it is for. Null: the first chip that comes; commands for the PIN go to the
  -- newest.
  pan_sequence_number text check (pan_sequence_number ~ '^[0-9]{2}$'),
  state text not null default 'pending'
    check (state in ('pending', 'sent', 'done', 'failed', 'unconfirmed', 'superseded')),
  -- The PIN of a change, sealed, and its key; null once the command has ended.
  pin_block bytea,
  pin_key text,
  -- The tag and the value of put_data, which are no secret.
  data_object bytea,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  sent_count integer not null default 0 check (sent_count >= 0),
  -- The chip (its PAN sequence number) that an answer carried it to last, and the counter of that
  -- transaction.
  sent_to text,
  sent_atc integer,
  ended_at timestamptz,
  primary key (public_token, command_number),
  check ((sent_to is null) = (sent_atc is null)),
  check ((pin_block is null) = (pin_key is null)),
  check (pin_block is null or command = 'change_pin' and state in ('pending', 'sent'))
);

-- The PINs that a re-encryption moves.
create index chip_command_with_pin on chip_command (public_token, command_number)
  where pin_block is not null;

-- The state of the PIN in a chip is that of its newest command.
create index chip_command_of_pin on chip_command (public_token, command_number)
  where command in ('change_pin', 'unblock_pin') and state <> 'superseded';

create index chip_command_waiting on chip_command (public_token, command_number)
  where state in ('pending', 'sent');
