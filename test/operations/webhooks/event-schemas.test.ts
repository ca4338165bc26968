import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Type, { type TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { generateAsyncapi } from '../../../scripts/generate-asyncapi.ts'
import { eventTypes } from '../../../src/domain/event-type.ts'
import { bodyExamples } from '../../../src/listeners/public/openapi/examples.ts'
import { messageSchemas, PingMessageSchema } from '../../../src/listeners/public/schemas/events.ts'
import { expireHolds } from '../../../src/operations/payments/expiry.ts'
import { sweepCards } from '../../../src/operations/renewals/automatic.ts'
import { recordChipResults } from '../../../src/storage/chips/commands.ts'
import { chippedCard, listCommandNumbers } from '../../support/chip.ts'
import { after, approve, hang } from '../../support/decision-endpoint.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, strongPins } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { letClientDecide } from '../decisions/deciding.ts'
import { type DeliveryService, openDeliveryService } from './delivery-service.ts'
import { openReceiver, type Receiver } from './receiver.ts'

const postgres = await openPostgres()

/** A message's schema with nothing else let in: what is written must be what is described. */
const checkers = new Map(
  Object.entries<TObject>({ ...messageSchemas, 'webhook.ping': PingMessageSchema }).map(
    ([type, { properties }]) => {
      const closed = { additionalProperties: false } as const
      const data = Type.Object((properties.data as TObject).properties, closed)
      return [type, Compile(Type.Object({ ...properties, data }, closed))] as const
    },
  ),
)

/** Does everything on a card of which an event tells. */
async function act(service: DeliveryService): Promise<void> {
  const card = await service.createCard()
  const path = `${card.publicToken}/pin`
  const [right, wrong] = strongPins(card)
  const acts: readonly (readonly [string, string, object?])[] = [
    ['POST', `/card-pin/${path}`, { pin: right, description: 'By the holder.', updatedBy: 'Ana' }],
    tried(card.publicToken, { pin: right, ...purchase }),
    ['GET', `/card-pin/${path}`],
    ['POST', `/cards/${card.publicToken}/encrypted`, bodyExamples.getCardData ?? {}],
    ...[1, 2, 3].map(() => tried(card.publicToken, { pin: wrong })),
    ['POST', `/card-pin/${path}/unblock`, { description: 'Asked for.' }],
    // One of them may be the card's.
    ...['000', '001', '002'].map((cvv) => tried(card.publicToken, { cvv })),
    ['PUT', `/card-cvv/${card.publicToken}/cvv/status`, { status: 'Unblocked' }],
    ['PUT', `/card-cvv/${card.publicToken}/cvv/status`, { status: 'Blocked' }],
    ['PUT', `/cards/${card.publicToken}/controls`, { version: 0, countries: { blocked: ['PRK'] } }],
    ['PATCH', `/cards/${card.publicToken}`, { metadata: { costCentre: '4711' } }],
    ['PUT', `/cards/${card.publicToken}/status`, { cardStatusCode: '62' }],
  ]
  for (const [method, url, body] of acts) {
    const answer = await service.call(method, url, { ...(body && { body }) })
    assert.ok(answer.status < 300, `${url}: ${answer.text}`)
  }
  await renewCards(service)
  await replaceCards(service)
  await movePayments(service)
  await commandChip(service)
}

/** Orders, cancels, makes and ships plastics, also for a virtual card, and tells what is due. */
async function renewCards(service: DeliveryService): Promise<void> {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  const { publicToken: virtual } = await service.createCard()
  // A card cannot expire on the day of its creation, which may be the last day of a month.
  const expiryDate = new Date(Date.now() + 86_400_000).toISOString().slice(0, 7)
  await service.createCard({ expiryDate })
  const reprint = { renewStep: 'RenewWithSameExpiry' }
  const acts: readonly (readonly [string, string, object?])[] = [
    ['POST', `/cards/${publicToken}/renew`, reprint],
    ['DELETE', `/cards/${publicToken}/renewal`],
    ['POST', `/cards/${publicToken}/renew`, { ...reprint, activateNow: true }],
    ['PUT', `/cards/${virtual}/card-type`, { cardType: 'Physical' }],
    ['POST', `/sandbox/plastics/${virtual}/1/ship`],
  ]
  for (const [method, url, body] of acts) {
    const answer = await service.call(method, url, { ...(body && { body }) })
    assert.ok(answer.status < 300, `${url}: ${answer.text}`)
  }
  await sweepCards(service.issuing)
}

/** Activates the successor of one card, and retires another with its replacement. */
async function replaceCards(service: DeliveryService): Promise<void> {
  const replace = async (members: object, reason: string): Promise<string> => {
    const { publicToken } = await service.createCard(members)
    const body = { reason }
    const answer = await service.call('POST', `/cards/${publicToken}/replace`, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json.publicToken
  }
  await replace({}, 'Compromised')
  const successor = await replace({ cardType: 'Physical' }, 'Damaged')
  const body = { cardStatusCode: '00' }
  const activated = await service.call('PUT', `/cards/${successor}/status`, { body })
  assert.equal(activated.status, 204, activated.text)
}

/** Queues three commands to a chip: one is done, one fails, and one has no result. */
async function commandChip(service: DeliveryService): Promise<void> {
  const card = await chippedCard(service)
  const { publicToken } = card
  const [pin] = strongPins(card)
  await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  await service.call('POST', `/cards/${publicToken}/chip/commands`, {
    body: { command: 'put_data', tag: '9F58', value: '03' },
  })
  const numbers = await listCommandNumbers(service, publicToken)
  const [change = 0, unblock = 0, put = 0] = numbers
  const results = { publicToken, panSequenceNumber: '00', atc: 1, remainingOfflineTries: null }
  await recordChipResults(service.database, {
    ...results,
    sent: numbers,
    done: [],
    failed: [],
    unconfirmed: [],
  })
  await recordChipResults(service.database, {
    ...results,
    sent: [],
    done: [unblock],
    failed: [change],
    unconfirmed: [put],
  })
}

/** Sends messages of a network about payments, and expires a hold. */
async function movePayments(service: DeliveryService): Promise<void> {
  const { publicToken } = await service.createCard()
  const money = { amount: 100, currency: 'EUR' }
  const send = async (path: string, members: object) => {
    const body = { publicToken, ...members }
    const options = { as: 'network', listener: 'private', body } as const
    const answer = await service.call('POST', `//network/${path}`, options)
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const purchased = { entryMode: 'chip', reference: 'R-1', amount: 1_000, currency: 'EUR' }
  const { paymentId } = await send('authorizations', purchased)
  await send('reversals', { reversalId: 'R-1', paymentId, ...money })
  const clearings = { clearings: [{ clearingId: 'C-1', publicToken, ...money }] }
  const options = { as: 'network', listener: 'private', body: clearings } as const
  assert.equal((await service.call('POST', '//network/clearings', options)).status, 200)
  const now = () => new Date(Date.now() + 31 * 86_400_000)
  await expireHolds({ database: service.database, now })
}

/**
 * Lets a client answer too late, then not at all until its endpoint counts as degraded, and then
 * again.
 */
async function answerLate(service: DeliveryService, receiver: Receiver): Promise<void> {
  const { publicToken } = await service.createCard()
  const { answerBy } = await letClientDecide(service, { timeoutMs: 500 })
  const body = { publicToken, entryMode: 'ecommerce', reference: 'R-2' }
  const options = { as: 'network', listener: 'private', body } as const
  const authorize = () => service.call('POST', '//network/authorizations', options)
  answerBy(after(800))
  await authorize()
  const authorizeUntil = async (type: string, atOnce: number) => {
    for (let asked = 0; asked < 60 && !typesOf(receiver).has(type); asked += 1) {
      await Promise.all(Array.from({ length: atOnce }, authorize))
      await sleep(500)
    }
  }
  answerBy(hang)
  // A request whose time is over before it is sent tells nothing about the endpoint, so 20 may not
  // be enough on a busy machine.
  await authorizeUntil('decision_endpoint.degraded', 20)
  answerBy(approve)
  // The breaker lets a probe through after some seconds.
  await authorizeUntil('decision_endpoint.recovered', 1)
}

const purchase = {
  amount: 1_250,
  currency: 'EUR',
  transactionType: 'purchase',
  merchant: {
    id: 'MERCHANT1',
    name: 'Corner shop',
    city: 'Madrid',
    country: 'ESP',
    categoryCode: '5411',
  },
}

const tried = (publicToken: string, members: object) =>
  ['POST', '/simulator/authorizations', { publicToken, ...members }] as const

const proveOn = (open: () => Promise<DeliveryService>) => {
  let service: DeliveryService
  let receiver: Receiver

  before(async () => {
    service = await open()
    receiver = await openReceiver()
    const { webhookId } = await service.createWebhook(receiver.url)
    await act(service)
    await answerLate(service, receiver)
    await service.call('POST', `/webhooks/${webhookId}/ping`)
    const isHere = () => typesOf(receiver).size === checkers.size
    await until(isHere).catch((cause: unknown) => {
      const missing = [...checkers.keys()].filter((type) => !typesOf(receiver).has(type))
      throw new Error(`These did not come: ${missing}`, { cause })
    })
  })

  test('every message that is delivered is what its schema says, member for member', () => {
    assert.deepEqual([...typesOf(receiver)].sort(), [...eventTypes, 'webhook.ping'].sort())
    for (const { message } of receiver.received) {
      const checker = checkers.get(message.type)
      assert.ok(checker?.Check(message), `${message.type} is ${JSON.stringify(message)}`)
    }
  })

  test('every event that is read is what its schema says, member for member', async () => {
    const events = await listEvents(service)
    assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(eventTypes))
    for (const { id: _, ...message } of events) {
      const checker = checkers.get(String(message.type))
      assert.ok(checker?.Check(message), `${message.type} is ${JSON.stringify(message)}`)
    }
  })
}

/** All events, oldest first. */
async function listEvents(service: DeliveryService): Promise<Record<string, unknown>[]> {
  const events: Record<string, unknown>[] = []
  for (let page = [{ id: '' }]; page.length > 0; ) {
    const after = events.length === 0 ? '' : `&after=${events.at(-1)?.id}`
    page = (await service.call('GET', `/events?limit=100${after}`)).json
    events.push(...page)
  }
  return events
}

const typesOf = ({ received }: Receiver): Set<string> =>
  new Set(received.map(({ message }) => message.type))

suite('on the embedded database', () => proveOn(() => openDeliveryService()))

suite('on PostgreSQL', { skip: postgres.leftOut }, () =>
  proveOn(async () =>
    openDeliveryService({ database: (await openServerDatabase(postgres)).database }),
  ),
)

test('api/events.asyncapi.json is what the schemas of the messages say, every type of event in it', async () => {
  const text = await readFile(new URL('../../../api/events.asyncapi.json', import.meta.url), 'utf8')
  assert.equal(text, generateAsyncapi())
  const { components } = JSON.parse(text)
  const names = Object.values<{ name: string }>(components.messages).map(({ name }) => name)
  assert.deepEqual(names, [...eventTypes, 'webhook.ping'])
})
