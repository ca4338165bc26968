-- Every list that a client may ask for walks one index in the order of the list, whatever its filter: a
-- page costs what it shows, not what the client has. All columns ascend, so that a walk backwards is bounded
-- by row comparisons alone, and each index begins as no other does: no plan can take one for another.

drop index card_by_client;
create index card_by_client on card (client_id, created_at, public_token);

-- By the status that is stored.
create index card_by_status on card (status_code, client_id, created_at, public_token);

-- Cards whose last day may have passed before a sweep has said so, expiry by expiry: there are as many
-- expiries as months, however many cards.
create index card_by_client_expiry
  on card (client_id, expiry_date, status_code, created_at, public_token)
  where status_code in ('02', '00', '62');

drop index card_by_reference;
create index card_by_reference
  on card (customer_reference, client_id, status_code, created_at, public_token)
  where customer_reference is not null;

-- Whether a product has cards is asked while the product is locked.
create index card_by_product on card (product_id);

-- Events of some types, and where those since an instant begin.
create index placed_event_by_type on placed_event (client_id, type, position);
create index placed_event_by_time on placed_event (client_id, occurred_at, position);
