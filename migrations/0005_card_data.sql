-- A PIN that was sealed on a device is taken once. What it is known by is remembered until its own
-- time is over; the hash keeps the device from choosing how much is stored.
create table pin_envelope (
  public_token text not null references card,
  jti_hash bytea not null check (length(jti_hash) = 32),
  expires_at timestamptz not null,
  primary key (public_token, jti_hash)
);
create index pin_envelope_expiry on pin_envelope (expires_at);
