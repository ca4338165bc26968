import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { makePinBlock } from '../../reference/pin-blocks.ts'
import { isNightly } from '../../support/cases.ts'
import { newCard, strongPins } from '../../support/service.ts'

/**
 * What cards, clients and networks do all day, each answer held against what it must be: reads,
 * PINs revealed and set, cards created, authorizations by PAN with PIN, and requests repeated under
 * their idempotency key. One card is one worker's, so that every answer is known beforehand.
 */

export type LoadAnswer = {
  status: number
  text: string
  header: (name: string) => string | null
  // biome-ignore lint/suspicious/noExplicitAny: the load asserts on what it expects to be there.
  json: any
}

/** Sends one request to any of the processes. */
export type Send = (
  as: 'client' | 'network',
  method: string,
  path: string,
  body?: object,
  idempotencyKey?: string,
) => Promise<LoadAnswer>

export type LoadOptions = {
  send: Send
  /** The PAN of a card: the load plays the network, too. */
  readPan: (publicToken: string) => Promise<string>
  /** The network's key `zone-a`, in clear. */
  zoneKey: Uint8Array
  workers: number
  /** Cards that each worker begins with. */
  cardsEach: number
}

type LoadCard = { publicToken: string; maskedPan: string; pan: string; pin: string; pins: string[] }

type Repeat = { path: string; body: object; idempotencyKey: string; answer: LoadAnswer }

/** Between two requests of a worker, once there were enough. */
const restMs = isNightly ? 50 : 200

/** How many a key rotation is held against, at least. */
export const requestsMin = isNightly ? 2_000 : 200

export type Load = {
  /** Runs until it is told to stop, and so many requests are through. */
  run: (isStopped: () => boolean, requests: number) => Promise<LoadFigures>
  /** Sends once more what was sent under an idempotency key, and reads every card. */
  check: () => Promise<number>
}

type LoadFigures = { requests: number; byKind: Record<string, number>; slowestMs: number }

type Worker = { cards: LoadCard[]; repeats: Repeat[] }

export const openLoad = async (options: LoadOptions): Promise<Load> => {
  const workers: Worker[] = await Promise.all(
    Array.from({ length: options.workers }, async () => {
      const worker: Worker = { cards: [], repeats: [] }
      while (worker.cards.length < options.cardsEach) await create(options, worker)
      return worker
    }),
  )
  return {
    run: (isStopped, requests) => runAll(options, workers, isStopped, requests),
    check: async () => {
      const counts = await Promise.all(workers.map((worker) => checkAll(options, worker)))
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

const runAll = async (
  options: LoadOptions,
  workers: readonly Worker[],
  isStopped: () => boolean,
  requests: number,
): Promise<LoadFigures> => {
  const figures: LoadFigures = { requests: 0, byKind: {}, slowestMs: 0 }
  const work = async (worker: Worker) => {
    while (!isStopped() || figures.requests < requests) {
      const kind = drawKind()
      const from = performance.now()
      await kinds[kind](options, worker)
      figures.slowestMs = Math.max(figures.slowestMs, Math.round(performance.now() - from))
      figures.requests += 1
      figures.byKind[kind] = (figures.byKind[kind] ?? 0) + 1
      // Enough of them: what is left is that requests never cease.
      if (figures.requests >= requests) await pause(restMs)
    }
  }
  await Promise.all(workers.map(work))
  return figures
}

const anyOf = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('There is nothing to choose from.')
  return item
}

const expectStatus = (answer: LoadAnswer, status: number, what: string): LoadAnswer => {
  assert.equal(answer.status, status, `${what}: ${answer.text}`)
  return answer
}

const create = async (options: LoadOptions, worker: Worker): Promise<void> => {
  const idempotencyKey = randomUUID()
  const body = newCard({ cardProduct: Math.random() < 0.8 ? 1001 : 1002 })
  const answer = expectStatus(
    await options.send('client', 'POST', '/cards', body, idempotencyKey),
    201,
    'create',
  )
  const { maskedPan, publicToken } = answer.json
  const pan = await options.readPan(publicToken)
  const card = { publicToken, maskedPan, pan, pin: '', pins: strongPins({ maskedPan }) }
  await choosePin(options, worker, card)
  if (worker.cards.length < 200) worker.cards.push(card)
  if (worker.repeats.length < 50) {
    worker.repeats.push({ path: '/cards', body, idempotencyKey, answer })
  }
}

const choosePin = async (options: LoadOptions, worker: Worker, card: LoadCard): Promise<void> => {
  const pin = anyOf(card.pins.filter((each) => each !== card.pin))
  const idempotencyKey = randomUUID()
  const path = `/card-pin/${card.publicToken}/pin`
  const body = { pin, description: 'chosen anew', updatedBy: 'load' }
  const answer = await options.send('client', 'POST', path, body, idempotencyKey)
  expectStatus(answer, 204, 'set PIN')
  card.pin = pin
  if (worker.repeats.length < 100) worker.repeats.push({ path, body, idempotencyKey, answer })
}

const reveal = async ({ send }: LoadOptions, { cards }: Worker): Promise<void> => {
  const card = anyOf(cards)
  const answer = await send('client', 'GET', `/card-pin/${card.publicToken}/pin`)
  // Cards of the product that keeps a PVV alone.
  if (answer.json?.code === 'pin_not_revealable') return
  assert.equal(expectStatus(answer, 200, 'reveal').json.pin, card.pin)
}

const read = async ({ send }: LoadOptions, { cards }: Worker): Promise<void> => {
  const card = anyOf(cards)
  const answer = expectStatus(
    await send('client', 'GET', `/cards/${card.publicToken}`),
    200,
    'read',
  )
  assert.equal(answer.json.maskedPan, card.maskedPan)
  assert.equal(answer.json.embossName, 'ANA LIM')
}

const authorize = async (options: LoadOptions, { cards }: Worker): Promise<void> => {
  const card = anyOf(cards)
  const block = makePinBlock(card.pin, { format: 0, pan: card.pan, key: options.zoneKey })
  const answer = await options.send('network', 'POST', '//network/authorizations', {
    pan: card.pan,
    entryMode: 'chip',
    reference: randomUUID().slice(0, 12),
    pinBlock: { format: 'ISO_FORMAT_0', key: 'zone-a', data: block.toString('hex') },
  })
  expectStatus(answer, 200, 'authorize')
  assert.deepEqual(
    [answer.json.responseCode, answer.json.publicToken],
    ['00', card.publicToken],
    answer.text,
  )
}

const repeat = async ({ send }: LoadOptions, { repeats }: Worker): Promise<void> => {
  const { answer, body, idempotencyKey, path } = anyOf(repeats)
  const again = await send('client', 'POST', path, body, idempotencyKey)
  expectStatus(again, answer.status, 'repeat')
  assert.equal(again.header('idempotency-replayed'), 'true')
  assert.deepEqual(again.json, answer.json)
}

const kinds = {
  read,
  reveal,
  authorize,
  repeat,
  create,
  setPin: (options: LoadOptions, worker: Worker) => choosePin(options, worker, anyOf(worker.cards)),
} as const

const weights: readonly (readonly [keyof typeof kinds, number])[] = [
  ['read', 30],
  ['reveal', 15],
  ['setPin', 15],
  ['create', 10],
  ['authorize', 25],
  ['repeat', 5],
]

const drawKind = (): keyof typeof kinds => {
  let left = Math.random() * 100
  for (const [kind, weight] of weights) {
    left -= weight
    if (left < 0) return kind
  }
  return 'read'
}

const checkAll = async (options: LoadOptions, { cards, repeats }: Worker): Promise<number> => {
  for (const card of cards) {
    const only = { cards: [card], repeats: [] }
    await read(options, only)
    await reveal(options, only)
    await authorize(options, only)
  }
  for (const each of repeats) await repeat(options, { cards: [], repeats: [each] })
  return cards.length
}
