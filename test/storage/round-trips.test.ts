import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import pg from 'pg'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import { chippedCard } from '../support/chip.ts'
import { ask, cvvTry, type IssuedCard, issueCard, pinTry } from '../support/network.ts'
import { openPostgres } from '../support/postgres.ts'
import {
  type CreatedCard,
  newCard,
  openServerDatabase,
  openTestService,
  strongPins,
  type TestService,
} from '../support/service.ts'
import { connectSwitch, openLink, purchase, type Switch } from '../support/switch.ts'
import { until } from '../support/until.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

let service: TestService
let card: CreatedCard
let chipped: CreatedCard
let issued: IssuedCard
let wire: Switch
before(async () => {
  if (skip) return
  const { database } = await openServerDatabase(postgres)
  service = await openTestService({ database, env: { UNBLOCKS_PER_CARD_DAY: '1000' } })
  await keepRsaKeys(service)
  card = await service.createCard()
  chipped = await chippedCard(service)
  issued = await issueCard(service)
  wire = await connectSwitch(await openLink(service))
  assert.equal(await wire.signOn(), '00')
  // Its link is known to be signed on.
  await until(() => service.links.load().some(({ signedOn }) => signedOn === 1))
})

/** How often the driver is asked while something is done: each time is a round trip. */
async function countRoundTrips(work: () => Promise<unknown>): Promise<number> {
  const { query } = pg.Client.prototype
  let count = 0
  pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
    count += 1
    return Reflect.apply(query, this, values)
  } as typeof query
  try {
    await work()
    return count
  } finally {
    pg.Client.prototype.query = query
  }
}

const keyed = () => ({ headers: { 'idempotency-key': randomUUID() } })
const body = (members: object) => ({ body: members })
const call = async (method: 'GET' | 'POST' | 'PUT', path: string, options = {}) => {
  const answer = await service.call(method, path, options)
  assert.ok(answer.status < 300, answer.text)
}

const { publicKey } = generateKeyPairSync('x25519')
const statuses = ['62', '00']

/** What each row of the table does. */
const operations: Readonly<Record<string, () => Promise<unknown>>> = {
  'Get PIN status, Get CVV status': () =>
    call('GET', `/card-pin/${chipped.publicToken}/pin/status`),
  'Read a card': () => call('GET', `/cards/${card.publicToken}`),
  'Read a card’s status': () => call('GET', `/cards/${card.publicToken}/status`),
  'List cards': () => call('GET', '/cards'),
  'Get current PIN': () => call('GET', `/card-pin/${card.publicToken}/pin`),
  'Get Card Data to a device key': () =>
    call('POST', `/cards/${card.publicToken}/encrypted`, body(deviceRequest)),
  'Set PIN': () =>
    call('POST', `/card-pin/${card.publicToken}/pin`, body({ pin: strongPins(card)[0] })),
  'Set PIN, with an idempotency key': () =>
    call('POST', `/card-pin/${card.publicToken}/pin`, {
      ...body({ pin: strongPins(card)[1] }),
      ...keyed(),
    }),
  'Unblock PIN, Unblock CVV': () => call('POST', `/card-pin/${card.publicToken}/pin/unblock`),
  'Unblock PIN, with an idempotency key': () =>
    call('POST', `/card-pin/${card.publicToken}/pin/unblock`, keyed()),
  'Change a card’s status': () => {
    statuses.reverse()
    return call('PUT', `/cards/${card.publicToken}/status`, body({ cardStatusCode: statuses[0] }))
  },
  'Create Card': () => call('POST', '/cards', body(newCard())),
  'Create Card, with an idempotency key': () =>
    call('POST', '/cards', { ...body(newCard()), ...keyed() }),
  'Authorization with a PIN': () => ask(service, pinTry(service, issued)),
  'Authorization with a CVV2': () => ask(service, cvvTry(issued)),
  'Authorization with a PIN, on a network’s own wire': async () => {
    assert.equal((await wire.ask('0200', purchase(service, issued))).fields['39'], '00')
  },
}

const deviceRequest = {
  deviceKey: publicKey.export({ format: 'jwk' }),
  nonce: randomUUID(),
  includePin: false,
}

const table = await readFile(new URL('../../docs/reference/database.md', import.meta.url), 'utf8')
const documented = Object.fromEntries(
  [...table.matchAll(/^\| (?<name>[^|]+?) +\| (?<count>\d+) +\|/gm)].map(({ groups }) => [
    groups?.name,
    Number(groups?.count),
  ]),
)

test('each operation makes as many round trips as the reference of the database states', {
  skip,
}, async () => {
  assert.deepEqual(Object.keys(operations).sort(), Object.keys(documented).sort())
  const counted: Record<string, number> = {}
  for (const [name, operation] of Object.entries(operations)) {
    // The first of a kind may find something out that is known from then on.
    await operation()
    counted[name] = await countRoundTrips(operation)
  }
  assert.deepEqual(counted, documented)
})
