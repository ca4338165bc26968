-- Where a replay that runs began: asking for the same again does not begin it anew.
alter table webhook add column replay_from bigint;
update webhook set replay_from = replay_after;
