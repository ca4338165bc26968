-- A client whose tokens are bound to the certificate that it asked for them with (RFC 8705): a token
-- that was stolen is of no use on another connection.
alter table client add column certificate_bound_tokens boolean not null default false;
