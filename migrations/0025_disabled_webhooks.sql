-- Works with programs from migration 0006 on.

-- Who or what disabled a webhook; null for one that is enabled, and for one that was disabled before this.
-- A cluster adds a column and its check by two commands.
alter table webhook add column disabled_reason text;
alter table webhook add constraint webhook_disabled_reason_check
  check (disabled_reason in ('receiver_gone', 'not_delivered', 'operator', 'client'));
