-- ISO 8583 links: the configuration, and the present connections.

-- name: find_link
select link.link_name as "linkName", link.network_id as "networkId", link.direction, link.host,
  link.port, link.profile, link.tls, link.certificates, link.peers,
  link.zone_master_key as "zoneMasterKey", link.active, link.created_at as "createdAt",
  link.signed_on_at as "lastSignedOnAt", session.sessions, session.signed_on as "signedOnSessions",
  process.serving as "servingProcesses", process.fault
from link
cross join lateral (
  select count(*)::integer as sessions, count(signed_on_at)::integer as signed_on
  from link_session
  where link_session.link_name = link.link_name and seen_at > now() - interval '30 seconds'
) as session
cross join lateral (
  select count(*) filter (where fault is null)::integer as serving, max(fault) as fault
  from link_process
  where link_process.link_name = link.link_name and seen_at > now() - interval '30 seconds'
) as process
where link.link_name = :linkName;

-- name: list_links
select link.link_name as "linkName", link.network_id as "networkId", link.direction, link.host,
  link.port, link.profile, link.tls, link.certificates, link.peers,
  link.zone_master_key as "zoneMasterKey", link.active, link.created_at as "createdAt",
  link.signed_on_at as "lastSignedOnAt", session.sessions, session.signed_on as "signedOnSessions",
  process.serving as "servingProcesses", process.fault
from link
cross join lateral (
  select count(*)::integer as sessions, count(signed_on_at)::integer as signed_on
  from link_session
  where link_session.link_name = link.link_name and seen_at > now() - interval '30 seconds'
) as session
cross join lateral (
  select count(*) filter (where fault is null)::integer as serving, max(fault) as fault
  from link_process
  where link_process.link_name = link.link_name and seen_at > now() - interval '30 seconds'
) as process
where link.link_name > :after
order by link.link_name
limit :limit;

-- Active links of networks that may send authorization requests.
-- name: list_active_links
select link.link_name as "linkName", link.network_id as "networkId", link.direction, link.host,
  link.port, link.profile, link.tls, link.certificates, link.peers,
  link.zone_master_key as "zoneMasterKey", link.active
from link
join client on client.client_id = link.network_id
where link.active and client.active and client.kind = 'network'
order by link.link_name
limit :limit;

-- name: find_listening_link
select link_name as "linkName"
from link
where host = :host and port = :port and direction = 'listen' and active;

-- name: insert_link
insert into link (link_name, network_id, direction, host, port, profile, tls, certificates, peers,
  zone_master_key, active)
values (:linkName, :networkId, :direction, :host, :port, :profile, :tls, :certificates, :peers,
  :zoneMasterKey, :active)
on conflict (link_name) do nothing
returning link_name as "linkName";

-- name: update_link
update link
set network_id = :networkId, direction = :direction, host = :host, port = :port,
  profile = :profile, tls = :tls, certificates = :certificates, peers = :peers,
  zone_master_key = :zoneMasterKey, active = :active
where link_name = :linkName;

-- name: see_link_session
insert into link_session (link_name, session_id, peer, connected_at, signed_on_at)
values (:linkName, :sessionId, :peer, :connectedAt, :signedOnAt)
on conflict (link_name, session_id) do update
set signed_on_at = excluded.signed_on_at, seen_at = excluded.seen_at;

-- name: set_link_signed_on
update link
set signed_on_at = :signedOnAt
where link_name = :linkName and (signed_on_at is null or signed_on_at < :signedOnAt);

-- name: end_link_session
delete from link_session
where link_name = :linkName and session_id = :sessionId;

-- Sessions of processes that ended without deleting them.
-- name: forget_lost_link_sessions
delete from link_session
where link_name = :linkName and seen_at < now() - interval '1 minute';

-- name: see_link_process
insert into link_process (link_name, process_id, fault)
values (:linkName, :processId, :fault)
on conflict (link_name, process_id) do update
set fault = excluded.fault, seen_at = excluded.seen_at;

-- name: end_link_process
delete from link_process
where link_name = :linkName and process_id = :processId;

-- Processes that have ended without deleting their rows.
-- name: forget_lost_link_processes
delete from link_process
where link_name = :linkName and seen_at < now() - interval '1 minute';
