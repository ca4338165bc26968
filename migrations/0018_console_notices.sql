-- Works with programs from migration 0006 on.

-- What the next page of the session shows once, sealed under the secret in the browser's cookie; null where there is nothing.
alter table console_session add column notice bytea;
