-- The personal data of a card, sealed.

-- name: find_personal_data
select card.personal_data as "personalData"
from card
where card.public_token = :publicToken;
