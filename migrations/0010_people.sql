-- Works with programs from migration 0006 on.

-- Whoever has signed in to the console, under the id that their acts are recorded under.
create table person (
  person_id text primary key check (person_id ~ '^person-[0-9a-f]{40}$'),
  -- Together, and alone, they say who it is (OpenID Connect Core 1.0, section 2).
  issuer text not null,
  subject text not null,
  -- As the issuer said at the last sign-in: for other people to read.
  display_name text not null check (length(display_name) between 1 and 100),
  roles text[] not null,
  first_signed_in_at timestamptz not null default clock_timestamp(),
  last_signed_in_at timestamptz not null default clock_timestamp()
);

-- A browser in which somebody is signed in. No token of the issuer is kept.
create table console_session (
  -- SHA-256 of the secret in the cookie: whoever reads this table can be nobody.
  secret_hash bytea primary key check (length(secret_hash) = 32),
  -- For people to name it by.
  session_id uuid not null unique default gen_random_uuid(),
  person_id text not null references person,
  roles text[] not null,
  -- `auth_time`: when the issuer last made sure who it is.
  authenticated_at timestamptz not null,
  -- SHA-256 of the secret of the sign-in that it came from, which makes one session only.
  sign_in_hash bytea not null unique check (length(sign_in_hash) = 32),
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);
create index console_session_of_person on console_session (person_id, started_at);
create index console_session_age on console_session (started_at);

-- What people do at the door is on record, too: nobody's, where it is not known who it was.
alter table audit_act drop constraint if exists audit_act_subject_kind_check;
alter table audit_act drop constraint if exists audit_act_somebody_check;
alter table audit_act add constraint audit_act_subject_kind_check
  check (subject_kind in ('product', 'client', 'key', 'process', 'setting', 'log', 'card', 'person'));
alter table audit_act add constraint audit_act_somebody_check
  check (client_id is not null or subject_kind in ('key', 'client', 'process', 'setting', 'log', 'person'));
