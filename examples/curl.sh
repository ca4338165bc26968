#!/usr/bin/env bash
# The whole journey with curl: a card, its PIN, a blocked PIN, and back. Start the service first (npm start).
#   examples/curl.sh [sandbox.json]
set -euo pipefail
sandbox=${1:-.data/sandbox.json}

# What a path leads to in the JSON on standard input, such as .status or [0].productId.
member() { node -pe "JSON.parse(require('fs').readFileSync(0, 'utf8'))$1"; }
setting() { member ".$1" < "$sandbox"; }

api=$(setting baseUrl)/thr/$(setting processorPath)
# The secret goes in by standard input: arguments can be seen by everyone on the machine.
token=$(printf 'user = "%s:%s"' "$(setting clientId)" "$(setting clientSecret)" |
  curl -sS --fail-with-body -K - -d grant_type=client_credentials "$(setting tokenEndpoint)" |
  member .access_token)

# call METHOD PATH [BODY] [CURL OPTION…]: a key makes it safe to let curl repeat.
call() {
  local method=$1 path=$2 body=${3:-}
  shift $(($# < 3 ? $# : 3))
  printf 'header = "Authorization: Bearer %s"' "$token" |
    curl -sS --fail-with-body --retry 2 -K - -X "$method" "$api$path" -H 'Content-Type: application/json' \
      ${body:+--data-binary "$body"} "$@"
}
key() { node -pe 'crypto.randomUUID()'; }

product=$(call GET '/products?cardType=Virtual' | member '[0].productId')
card=$(call POST /cards '{
  "cardType": "Virtual", "cardProduct": '"$product"',
  "cardHolder": { "firstName": "Ana", "lastName": "Lim", "dateOfBirth": "1990-04-17" },
  "address": { "addressLine1": "Calle Mayor 1", "postCode": "28013", "country": "ESP" }
}' -H "Idempotency-Key: $(key)" | member .publicToken)
echo "Card $card"

call POST "/card-pin/$card/pin" '{"pin":"4821"}' -H "Idempotency-Key: $(key)"
echo "Current PIN: $(call GET "/card-pin/$card/pin" | member .pin)"

echo 'Three wrong PINs at a terminal:'
for pin in 9999 9998 9997; do
  call POST /simulator/authorizations "{\"publicToken\":\"$card\",\"pin\":\"$pin\"}" |
    member .responseCode
done
echo "PIN status: $(call GET "/card-pin/$card/pin/status")"

call POST "/card-pin/$card/pin/unblock" '' -H "Idempotency-Key: $(key)"
echo "PIN status: $(call GET "/card-pin/$card/pin/status")"

call PUT "/card-cvv/$card/cvv/status" '{"status":"Blocked"}' -H "Idempotency-Key: $(key)"
echo "CVV status: $(call GET "/card-cvv/$card/cvv/status")"
call PUT "/card-cvv/$card/cvv/status" '{"status":"Unblocked"}' -H "Idempotency-Key: $(key)"
echo "CVV status: $(call GET "/card-cvv/$card/cvv/status")"
