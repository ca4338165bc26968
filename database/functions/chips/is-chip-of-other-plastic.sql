-- Whether the PAN sequence number of a chip is that of another plastic of a card than the current
-- one: of one that waits, is retired or was cancelled. The number of a first plastic is that of the
-- product's chip, and 00 follows 99. A number that no plastic has is that of a bureau's own
-- numbering, which says nothing.
--
-- Returns null without a number.
create or replace function is_chip_of_other_plastic(
  p_pan_sequence_number text,
  p_product_chip jsonb,
  p_plastic_number integer,
  p_last_plastic_number integer
) returns boolean
language sql
immutable
as $function$
  select presented.plastic_number <> p_plastic_number
    and presented.plastic_number <= p_last_plastic_number
  from (
    values (
      (
        p_pan_sequence_number::integer
        - coalesce((p_product_chip ->> 'firstPanSequenceNumber')::integer, 0) + 100
      ) % 100
    )
  ) as presented (plastic_number)
$function$;
