-- Names of people and clients for display. Each id is looked up separately, whatever sizes the
-- planner expects. A cluster keeps the two tables in different places.

-- name: list_names_of_people
select person_id as "id", display_name as "name"
from person
where person_id = any(:ids::text[])
limit 1000;

-- name: list_names_of_clients
select client_id as "id", client_name as "name"
from client
where client_id = any(:ids::text[])
limit 1000;
