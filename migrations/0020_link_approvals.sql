-- Works with programs from migration 0006 on.

-- The end of a card network, and its links.
alter table approval drop constraint if exists approval_kind_check;
alter table approval add constraint approval_kind_check check (kind in (
  'key-export', 'key-retirement', 'key-deletion', 'master-key-rotation', 'disclosure-scopes', 'client-credentials',
  'network', 'network-retirement', 'link', 'administrator', 'unblock-cards', 'erasure', 'audit-successor'
));
