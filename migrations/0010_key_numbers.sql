-- The highest number that a version of each key ever had. None is given twice: whoever remembers a key by
-- its number, as a device does by a key id, never takes another key for it.
create table hsm_key_number (
  key_name text primary key,
  last_version integer not null check (last_version > 0)
);
insert into hsm_key_number (key_name, last_version)
select key_name, max(key_version) from (
  select key_name, key_version from hsm_key
  union all
  select split_part(key_reference, '/', 1), split_part(key_reference, '/', 2)::integer
  from key_act where act = 'deleted' and key_reference ~ '^[a-z0-9-]+/[1-9][0-9]{0,8}$'
) numbered group by key_name;

-- By the clock rather than by the beginning of the transaction, which may have waited: a version is
-- pending from when it is there, and of two acts of one transaction the later is told as the later.
alter table hsm_key alter column created_at set default clock_timestamp();
alter table key_act alter column acted_at set default clock_timestamp();
