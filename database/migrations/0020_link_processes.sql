-- Works with programs from migration 0019 on.

-- Whether each process serves a link, and otherwise why not. A process that ended leaves its rows
-- behind; they lose their meaning after half a minute.
create table link_process (
  link_name text not null,
  process_id uuid not null,
  -- Null where the process listens for the network, or connects to it.
  fault text,
  seen_at timestamptz not null default now(),
  primary key (link_name, process_id)
);
