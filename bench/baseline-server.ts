/**
 * A minimal server on PostgreSQL: bare `node:http`, one prepared statement, one answer. The
 * difference is the cost of the product's other work.
 */
import { createServer } from 'node:http'
import pg from 'pg'

const [, , connectionString, port] = process.argv
const pool = new pg.Pool({ connectionString, max: 10 })

const read = {
  name: 'baseline_read',
  text: `select try_limit as "limit", spent, restored from try_counter
         where public_token = $1 and kind = 'pin'`,
}
const write = {
  name: 'baseline_write',
  text: `update try_counter set block_reported = false where public_token = $1 and kind = 'pin'`,
}

// A page of cards with the columns that the product answers unchanged. Encrypted columns are
// omitted: they are useless without decryption and would dominate the JSON.
const list = {
  name: 'baseline_list',
  text: `select card.public_token as "publicToken", card.customer_reference as "customerReference",
           card.card_type as "cardType", card.product_id as "cardProduct",
           card.masked_pan as "maskedPan", card.start_date::text as "startDate",
           card.expiry_date::text as "expiryDate", card.design_id as "designId",
           card.status_code as "cardStatusCode", card.created_at as "createdAt",
           pin.try_limit as "pinLimit", pin.spent as "pinSpent", pin.restored as "pinRestored",
           pin.is_withdrawn as "isPinWithdrawn", cvv.try_limit as "cvvLimit",
           cvv.spent as "cvvSpent", cvv.restored as "cvvRestored",
           cvv.is_withdrawn as "isCvvWithdrawn"
         from card
         join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
         join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
         where card.client_id = $1
         order by card.created_at desc, card.public_token desc limit 100`,
}
const listPath = '/clients/'

const server = createServer(async (request, response) => {
  if (request.url?.startsWith(listPath)) {
    const values = [request.url.slice(listPath.length)]
    const { rows } = await pool.query({ ...list, values })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
    return
  }
  const publicToken = request.url?.slice(1) ?? ''
  const { name, text } = request.method === 'POST' ? write : read
  const { rows } = await pool.query({ name, text, values: [publicToken] })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows[0] ?? {}))
})
server.listen(Number(port), '127.0.0.1')
