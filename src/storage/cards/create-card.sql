-- name: is_number_free
select 1 as one
from (select 1) as asked
where not exists (select 1 from card where public_token = any(array[:publicToken]))
  and not exists (
    select 1
    from pan_fingerprint
    where pan_fingerprint in (
      select decode(hash, 'hex')
      from unnest(string_to_array(:hashes, ',')) as hash
    )
  );
