-- Works with programs from migration 0006 on.

-- Everyone who could have acted for the requester when it asked: none of them approves it.
alter table approval add column requester_parties text[] not null default '{}';

-- Who approved the registration or the credentials of a client.
alter table client_provenance drop constraint if exists client_provenance_act_check;
alter table client_provenance add constraint client_provenance_act_check
  check (act in ('created', 'credentials_set', 'confirmed', 'approved'));
