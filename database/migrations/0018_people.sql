-- Operators who sign in to the console.

-- Each person who has signed in, under the id that their acts record.
create table person (
  person_id text primary key check (person_id ~ '^person-[0-9a-f]{40}$'),
  -- Issuer and subject together identify the person (OpenID Connect Core 1.0, section 2).
  issuer text not null,
  subject text not null,
  -- As the issuer stated it at the last sign-in, for display.
  display_name text not null check (length(display_name) between 1 and 100),
  roles text[] not null,
  first_signed_in_at timestamptz not null default clock_timestamp(),
  last_signed_in_at timestamptz not null default clock_timestamp()
);

-- A browser in which a person is signed in. No token of the issuer is stored.
create table console_session (
  -- SHA-256 of the secret in the cookie: a reader of this table cannot use a session.
  secret_hash bytea primary key check (length(secret_hash) = 32),
  -- The public name of the session.
  session_id uuid not null unique default gen_random_uuid(),
  person_id text not null references person,
  roles text[] not null,
  -- `auth_time`: when the issuer last authenticated the person.
  authenticated_at timestamptz not null,
  -- SHA-256 of the secret of the sign-in that began the session. One sign-in begins one session.
  sign_in_hash bytea not null unique check (length(sign_in_hash) = 32),
  -- The notice that the next page of the session shows once, sealed under the secret in the
  -- browser's cookie; null without a notice.
  notice bytea,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);

create index console_session_of_person on console_session (person_id, started_at);
create index console_session_age on console_session (started_at);
