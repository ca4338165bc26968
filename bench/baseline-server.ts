/**
 * The least that a server on PostgreSQL can do: bare `node:http`, one prepared statement, one answer.
 * What the product takes longer is what it does besides.
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

const server = createServer(async (request, response) => {
  const publicToken = request.url?.slice(1) ?? ''
  const { name, text } = request.method === 'POST' ? write : read
  const { rows } = await pool.query({ name, text, values: [publicToken] })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows[0] ?? {}))
})
server.listen(Number(port), '127.0.0.1')
