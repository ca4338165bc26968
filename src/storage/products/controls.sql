-- Spending controls of products.

-- name: find_product_controls
select controls::text as "controls", controls_version as "version"
from product
where product_id = :productId;

-- name: lock_product_controls
select controls::text as "controls", controls_version as "version"
from product
where product_id = :productId
for no key update;

-- name: insert_product_controls
insert into product_controls (product_id, version, controls)
values (:productId, :version, :controls::text::jsonb);

-- name: update_product_controls
update product
set controls = :inForce::text::jsonb, controls_version = :version
where product_id = :productId;
