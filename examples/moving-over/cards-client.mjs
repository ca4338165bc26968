/**
 * A client as it was written for a Thredd-shaped card API: paths under `/thr/thredd`, `cardPin`,
 * the header `IdempotencyKey`, card data under a session key. Nothing in it knows Pinfold: to move
 * it over, BASE_URL is changed.
 *
 *     BASE_URL=http://127.0.0.1:8080 CLIENT_ID=… CLIENT_SECRET=… node
 *     examples/moving-over/cards-client.mjs
 *
 * Prints one line a step, never a PIN, a PAN or a CVV, and ends with 1 when a step fails.
 */
import {
  constants,
  createDecipheriv,
  createPublicKey,
  publicEncrypt,
  randomBytes,
  randomInt,
  randomUUID,
  verify,
} from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

const { BASE_URL = 'http://127.0.0.1:8080', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const api = `${BASE_URL}/thr/thredd`

const token = await fetchToken()
const [product] = await call('GET', '/products')
told(product, 'a product to issue')

const order = {
  cardType: 'Virtual',
  cardProduct: product.productId,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}
const IdempotencyKey = randomUUID()
const card = await call('POST', '/cards', order, { IdempotencyKey })
const again = await call('POST', '/cards', order, { IdempotencyKey })
told(card.publicToken === again.publicToken, 'a card, made once though asked twice')

const pinPath = `/card-pin/${card.publicToken}/pin`
const cvvPath = `/card-cvv/${card.publicToken}/cvv/status`
const chosen = await choosePin()
told((await call('GET', pinPath)).pin === chosen, 'the PIN that was set')
told((await call('GET', `${pinPath}/status`)).remainingTries === 3, 'the PIN status')

await call('PUT', cvvPath, { status: 'Blocked', description: 'asked for', updatedBy: 'app' })
told((await call('GET', cvvPath)).status === 'Blocked', 'a CVV that is blocked')
await call('PUT', cvvPath, { status: 'Unblocked' })
told((await call('GET', cvvPath)).status === 'Unblocked', 'a CVV that is unblocked')
await call('POST', `${pinPath}/unblock`)
told((await call('GET', `${pinPath}/status`)).status === 'Unblocked', 'a PIN that is unblocked')

const shown = await readCardData()
told(shown.PAN.endsWith(card.maskedPan.slice(-4)), 'card data under a session key of the device')

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
  if (!answer.ok) throw Object.assign(new Error(`${method}: ${answer.status}`), { code: json.code })
  return json
}

/** The cardholder's choice; a PIN that is too easy to guess is replaced. */
async function choosePin() {
  for (let tries = 0; tries < 20; tries += 1) {
    const cardPin = String(randomInt(10_000)).padStart(4, '0')
    const refused = await call('POST', pinPath, { cardPin }).catch((error) => error)
    if (refused === null) return cardPin
    if (refused.code !== 'weak_pin') throw refused
  }
  throw new Error('No PIN was taken')
}

/** The device's part: wraps a session key, verifies the answer, then decrypts it. */
async function readCardData() {
  const sessionKey = randomBytes(32)
  const wrapKey = await fetchKey('card-data-wrap-1')
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const wrapped = publicEncrypt({ key: wrapKey, padding, oaepHash: 'sha256' }, sessionKey)
  const answer = await call('POST', `/cards/${card.publicToken}/encrypted`, {
    key: wrapped.toString('base64'),
    paddingMode: 'PKCS2_2',
    encryptionKeyLength: 'Rsa4096',
    hashingAlgorithm: 'Sha256',
  })
  const [iv, payload, signature] = ['iv', 'encryptedPayload', 'signatureOfPayloadAndIv'].map(
    (name) => Buffer.from(answer[name], 'base64'),
  )
  const key = await fetchKey('card-data-sign-1')
  const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
  const isGenuine = verify('sha256', Buffer.concat([payload, iv]), pss, signature)
  if (!isGenuine) throw new Error('The signature does not verify')
  const decipher = createDecipheriv('aes-256-cbc', sessionKey, iv)
  return JSON.parse(decipher.update(payload, undefined, 'utf8') + decipher.final('utf8'))
}

/**
 * Fetches a public key of the service, as PEM. A new installation makes its keys in the first
 * seconds.
 */
async function fetchKey(kid) {
  for (let tries = 0; tries < 30; tries += 1) {
    const answer = await fetch(`${api}/keys/${kid}.pem`)
    if (answer.ok) return createPublicKey(await answer.text())
    if (answer.status !== 503) throw new Error(`No key ${kid}: ${answer.status}`)
    await setTimeout(1000 * Number(answer.headers.get('Retry-After') ?? 1))
  }
  throw new Error(`No key ${kid}`)
}

function stop(message) {
  console.error(message)
  process.exit(1)
}

function told(isThere, what) {
  if (!isThere) throw new Error(`Missing: ${what}`)
  console.log(`ok  ${what}`)
}
