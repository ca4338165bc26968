/**
 * The life of a card as a client of a Thredd-shaped card API knows it: renew and migrate, activate
 * by `00`, report the loss by `41`, replace, complete the replacement, change the card type. Nothing
 * in it knows Pinfold: to move it over, BASE_URL is changed.
 *
 *     BASE_URL=http://127.0.0.1:8080 CLIENT_ID=… CLIENT_SECRET=… node
 *     examples/moving-over/life-client.mjs
 *
 * Prints one line a step, never a PAN, and ends with 1 when a step fails.
 */
import { randomUUID } from 'node:crypto'

const { BASE_URL = 'http://127.0.0.1:8080', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const api = `${BASE_URL}/thr/thredd`

const token = await fetchToken()
const products = await call('GET', '/products')
const product = products.find(({ cardTypes }) => cardTypes.includes('Physical')) ?? products[0]

const card = await createCard('Physical')
told((await statusOf(card)) === '02', 'a physical card is made inactive')
await setStatus(card, '00')
told((await statusOf(card)) === '00', 'status 00 activates it')

await call('POST', `/cards/${card}/renew`, { renewStep: 'Renew', freetext1: 'Branch 12' })
const before = await call('GET', `/cards/${card}`)
await call('POST', `/cards/${card}/renew`, { renewStep: 'Migrate' })
const after = await call('GET', `/cards/${card}`)
told(after.expiryDate > before.expiryDate, 'Renew and Migrate give it a later expiry')
told(after.maskedPan === before.maskedPan, 'the number stays')
await call('POST', `/cards/${card}/renew`, { renewStep: 'RenewWithSameExpiry' })
await call('POST', `/cards/${card}/renew`, { renewStep: 'Migrate' })
const reprinted = await call('GET', `/cards/${card}`)
told(reprinted.expiryDate === after.expiryDate, 'RenewWithSameExpiry leaves the expiry')

await setStatus(card, '41')
const replacement = {
  moveBalance: true,
  moveLimitAccumulators: true,
  moveChildCards: false,
  moveExpiryDate: false,
}
const IdempotencyKey = randomUUID()
const second = await call('POST', `/cards/${card}/replace`, replacement, { IdempotencyKey })
const repeated = await call('POST', `/cards/${card}/replace`, replacement, { IdempotencyKey })
told(second.publicToken === repeated.publicToken, 'a lost card is replaced once though asked twice')
told(second.publicToken !== card && (await statusOf(card)) === '41', 'the lost card stays lost')
await setStatus(second.publicToken, '00')
told((await statusOf(second.publicToken)) === '00', 'status 00 activates the new card')

const third = await call('POST', `/cards/${second.publicToken}/replace`, { moveExpiryDate: true })
told(third.expiryDate === second.expiryDate, 'moveExpiryDate keeps the expiry')
await call('PUT', `/cards/${second.publicToken}/complete-replacement`)
told((await statusOf(second.publicToken)) === '62', 'complete-replacement ends the old card')

const virtual = await createCard('Virtual')
const converted = await call('PUT', `/cards/${virtual}/card-type`, { cardType: 'Physical' })
told(converted.publicToken === virtual, 'card-type gives a virtual card plastic')
told((await statusOf(virtual)) === '00', 'the converted card works on')

/** Creates a card that can be renewed already. @returns its token. */
async function createCard(cardType) {
  const soon = new Date()
  soon.setUTCDate(1)
  soon.setUTCMonth(soon.getUTCMonth() + 1)
  const created = await call('POST', '/cards', {
    cardType,
    cardProduct: product.productId,
    expiryDate: soon.toISOString().slice(0, 7),
    cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
    address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
  })
  return created.publicToken
}

async function statusOf(publicToken) {
  return (await call('GET', `/cards/${publicToken}/status`)).cardStatusCode
}

async function setStatus(publicToken, cardStatusCode) {
  await call('PUT', `/cards/${publicToken}/status`, { cardStatusCode })
}

/** Client credentials in the form's body. */
async function fetchToken() {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
  })
  const answer = await fetch(`${BASE_URL}/oauth/token`, { method: 'POST', body }).catch(() =>
    stop(`No server answers at ${BASE_URL}. Set BASE_URL to its address.`),
  )
  if (!answer.ok) stop(`No token (${answer.status}). Check CLIENT_ID and CLIENT_SECRET.`)
  return (await answer.json()).access_token
}

async function call(method, path, body, headers = {}) {
  const answer = await fetch(api + path, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (answer.status === 204) return null
  const json = await answer.json()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${json.code}`)
  return json
}

function stop(message) {
  console.error(message)
  process.exit(1)
}

function told(isThere, what) {
  if (!isThere) throw new Error(`Missing: ${what}`)
  console.log(`ok  ${what}`)
}
