// A client system's back end: the cardholder's app calls it, it calls Pinfold. With PINFOLD_CONFIG
// naming the sandbox.json of a service: node backend.mjs, then http://127.0.0.1:3000.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { CallFailed, createPinfold, Problem } from '@pinfold/sdk'

const { PINFOLD_CONFIG = 'sandbox.json', PORT = '3000' } = process.env
const pinfold = createPinfold(JSON.parse(await readFile(PINFOLD_CONFIG, 'utf8')))

// The client system stores its logins and the owners of cards: Pinfold does not know cardholders.
const sessions = new Map([['Bearer ana-is-logged-in', { name: 'Ana', cards: new Set() }]])
const person = {
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}

// The app makes one orderId per ordered card, so that a repeated request returns the same card.
const routes = {
  'POST /cards': async (holder, _card, { cardProduct, orderId }) => {
    const wish = { cardType: 'Virtual', cardProduct, ...person }
    const card = await pinfold.cards.create(wish, { idempotencyKey: `order-${orderId}` })
    holder.cards.add(card.publicToken)
    return card
  },
  'GET /cards/:card': (_holder, card) => pinfold.cards.retrieve(card),
  'POST /cards/:card/pin/unblock': ({ name }, card) =>
    pinfold.pins.unblock(card, { updatedBy: name }),
  // Both are encrypted for the device or the service: this program only forwards them.
  'POST /cards/:card/pin': (_holder, card, { encryptedPin }) =>
    pinfold.pins.set(card, { encryptedPin }),
  'POST /cards/:card/data': (_holder, card, request) => pinfold.cardData.relay(card, request),
}

async function answer(request) {
  const holder = sessions.get(request.headers.authorization)
  if (!holder) return [401, { code: 'not_logged_in' }]
  const [path, card] = [request.url.replace(/\d{10}/, ':card'), request.url.match(/\d{10}/)?.[0]]
  const route = routes[`${request.method} ${path}`]
  if (!route || (card && !holder.cards.has(card))) return [404, { code: 'not_found' }]
  const chunks = await request.toArray()
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {}
  return [200, (await route(holder, card, body)) ?? {}]
}

// The app gets only the code of a failure; `detail` and `requestId` are for this program's log.
function failure(error) {
  if (error instanceof Problem && error.status < 500) return [422, { code: error.code }]
  if (error instanceof SyntaxError) return [400, { code: 'malformed_request' }]
  console.error(error instanceof CallFailed || error instanceof Problem ? error : error.message)
  return [503, { code: 'try_again' }]
}

createServer(async (request, response) => {
  const [status, body] = await answer(request).catch(failure)
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}).listen(Number(PORT), '127.0.0.1', function () {
  console.log(`The back end listens at http://127.0.0.1:${this.address().port}`)
})
