-- Returns the number of the next decision of a card. The caller has locked the card.
--
-- The numbers of a card ascend as long as it has decisions that are not deleted yet.
--
-- The array keeps the planner from taking the column for a constant: only the index of the numbers
-- then has the order that is asked for. The lower bound ends the scan at the card
-- (docs/decisions/0036).
create or replace function next_decision_sequence(p_public_token text) returns integer
language plpgsql
as $function$
begin
  return coalesce(
    (
      select sequence
      from decision
      where public_token = any (array[p_public_token]) and public_token >= p_public_token
      order by public_token desc, sequence desc
      limit 1
    ),
    0
  ) + 1;
end
$function$;
