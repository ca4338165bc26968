import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../../src/storage/engine/functions.ts'
import { product } from '../../support/builders.ts'
import {
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
  recoverPan,
} from '../../support/network.ts'
import { openTestDatabase, openTestService, sql, type TestService } from '../../support/service.ts'

/**
 * Schedules of replace, activate, authorize and status on one line. Each act is a caller whose
 * calls of the database wait at a gate, and a seed decides which caller passes next. A failure
 * names its seed: SCHEDULE_SEED=n runs that one alone.
 */

const schedules = Number(process.env.LIFE_SCHEDULES ?? 150)
const onlySeed = process.env.SCHEDULE_SEED
const productId = 2500

/** A caller whose calls of the database wait until they are let through. */
interface Caller {
  isDone: boolean
  /** The calls that are under way, and those that wait. */
  running: number
  readonly waiting: (() => void)[]
}

const callers = new AsyncLocalStorage<Caller>()

/** Lets a call through in its turn. Calls outside a schedule pass at once. */
async function pass<Result>(work: () => Promise<Result>): Promise<Result> {
  const caller = callers.getStore()
  if (!caller) return work()
  await new Promise<void>((resolve) => caller.waiting.push(resolve))
  caller.running += 1
  try {
    return await work()
  } finally {
    caller.running -= 1
  }
}

const gated = (database: Database): Database => ({
  ...database,
  query: (statement, values) => pass(() => database.query(statement, values)),
  readRow: (read, key) => pass(() => database.readRow(read, key)),
  change: (change, subject, values) => pass(() => database.change(change, subject, values)),
  transaction: (work) => pass(() => database.transaction(work)),
})

/** Opens a service on a database whose functions may have a fault. */
async function openScheduled(fault?: { readonly from: string; readonly to: string }) {
  const plain = await openTestDatabase()
  if (fault) {
    const found = (await readFunctionFiles()).filter(({ text }) => text.includes(fault.from))
    assert.equal(found.length, 1)
    for (const { text } of found) await plain.script(text.replace(fault.from, fault.to))
  }
  const database = gated(plain)
  const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  await product(database, { productId, bin: '40000225' })
  // The tokens of the callers exist before the first schedule.
  await service.token()
  await service.token(undefined, 'network')
  return service
}

/** Numbers from 0 up to 1, the same ones for the same seed. */
function createDraw(seed: number): () => number {
  let state = seed + 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Runs acts at once, in the order of calls that the draw decides. @returns their answers. */
async function runSchedule<Result>(
  acts: readonly (() => Promise<Result>)[],
  draw: () => number,
): Promise<Result[]> {
  const started = acts.map((act) => {
    const caller: Caller = { isDone: false, running: 0, waiting: [] }
    const answer = callers.run(caller, act).finally(() => {
      caller.isDone = true
    })
    return { caller, answer }
  })
  const all = Promise.all(started.map(({ answer }) => answer))
  const living = () => started.map(({ caller }) => caller).filter(({ isDone }) => !isDone)
  let settledAt = performance.now()
  while (living().length > 0) {
    const waiting = living().filter((caller) => caller.waiting.length > 0)
    const isBusy = living().some(({ running }) => running > 0)
    // A caller may also wait for what another one reads for both, and that one waits at the gate.
    const isSettled = waiting.length === living().length || performance.now() > settledAt + 50
    if (isBusy || waiting.length === 0) settledAt = performance.now()
    else if (isSettled) {
      waiting[Math.floor(draw() * waiting.length)]?.waiting.shift()?.()
      settledAt = performance.now()
    }
    await nextTurn()
  }
  return all
}

/** Draws 3 to 6 acts on a replaced card and its successor. */
function drawActs(
  service: TestService,
  [card, later]: readonly [IssuedCard, IssuedCard],
  draw: () => number,
) {
  const successor = later.publicToken
  const setStatus = (publicToken: string, cardStatusCode: string) => () =>
    service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })
  const replace = (publicToken: string, body: object) => () =>
    service.call('POST', `/cards/${publicToken}/replace`, { body })
  const wrong = otherDigits(card.pin)
  const guess = () => ask(service, pinTry(service, card, wrong))
  const guessLater = () => ask(service, pinTry(service, later, wrong))
  const kinds = [
    setStatus(successor, '00'),
    setStatus(successor, '83'),
    setStatus(card.publicToken, '62'),
    setStatus(card.publicToken, '00'),
    setStatus(card.publicToken, '41'),
    replace(card.publicToken, {}),
    replace(card.publicToken, { activateNow: true }),
    replace(successor, { reason: 'Lost' }),
    replace(successor, { reason: 'Compromised', activateNow: true }),
    guess,
    guess,
    guessLater,
    guessLater,
    () => service.call('PUT', `/cards/${card.publicToken}/complete-replacement`),
  ]
  const count = 3 + Math.floor(draw() * 4)
  return Array.from({ length: count }, () => kinds[Math.floor(draw() * kinds.length)] ?? guess)
}

/** 503: at each of its attempts another act had come first, and it has changed nothing. */
const expected = [200, 204, 409, 503]

async function playSchedule(service: TestService, seed: number): Promise<void> {
  const draw = createDraw(seed)
  const members = { cardProduct: productId, cardType: 'Physical', activateNow: true }
  const card = await issueCard(service, members)
  const replaced = await service.call('POST', `/cards/${card.publicToken}/replace`)
  const { maskedPan, publicToken } = replaced.json
  const later = { ...card, publicToken, pan: await recoverPan(service, publicToken, maskedPan) }
  const answers = await runSchedule(drawActs(service, [card, later], draw), draw)
  for (const { status, text } of answers) assert.ok(expected.includes(status), text)
  const { cards, compared, successors } = await readLine(service.database, card.publicToken)
  assert.ok(cards.filter(({ status }) => status === '00').length <= 1, 'one card is active at most')
  assert.ok(
    cards.every(({ isTorn }) => !isTorn),
    'no card is torn',
  )
  assert.ok(successors <= 1, 'a card has one successor')
  // The PIN of a lost card comes with all tries, because the lost card is closed.
  const most = cards.some(({ status }) => status === '41') ? 6 : 3
  assert.ok(compared <= most, 'no more PINs are compared than tries')
}

/**
 * Reads what is there of a line, table by table: a cluster joins no tables of different keys.
 * @returns its cards; how many of them could take the place of the last one; how many wrong PINs
 *   were compared.
 */
async function readLine(database: Database, lineToken: string) {
  const rows = await sql<{ publicToken: string; status: string; sequence: number }>(
    database,
    `select public_token as "publicToken", status_code as "status", last_sequence as "sequence"
     from card where line_token = $1`,
    [lineToken],
  )
  const tokens = rows.map(({ publicToken }) => publicToken)
  const countByCard = async (table: string, condition = 'true') => {
    const counts = await sql<{ publicToken: string; count: number }>(
      database,
      `select public_token as "publicToken", count(*)::integer as "count" from ${table}
       where public_token = any ($1) and ${condition}
       group by public_token`,
      [tokens],
    )
    return new Map(counts.map(({ count, publicToken }) => [publicToken, count]))
  }
  const events = await countByCard('event')
  const numbers = await countByCard('pan_fingerprint')
  const plastics = await countByCard('plastic')
  const mismatches = await countByCard(
    'authorization_request',
    `kind = 'pin' and result = 'mismatch'`,
  )
  const replaced = await sql<{ publicToken: string }>(
    database,
    'select replaced_token as "publicToken" from card_line where public_token = $1',
    [lineToken],
  )
  const replacedTokens = new Set(replaced.map(({ publicToken }) => publicToken))
  const cards = rows.map(({ publicToken, sequence, status }) => ({
    publicToken,
    status,
    isTorn:
      events.get(publicToken) !== sequence ||
      !numbers.has(publicToken) ||
      plastics.get(publicToken) !== 1,
  }))
  const successors = cards.filter(
    ({ publicToken, status }) =>
      publicToken !== lineToken &&
      ['02', '00'].includes(status) &&
      !replacedTokens.has(publicToken),
  )
  return {
    cards,
    successors: successors.length,
    compared: [...mismatches.values()].reduce((sum, count) => sum + count, 0),
  }
}

/** Plays those of the seeds from the first up to the end. */
async function playAll(service: TestService, first: number, end: number): Promise<void> {
  for (let seed = first; seed < end; seed += 1) {
    await playSchedule(service, seed).catch((fault: unknown) => {
      throw new Error(`SCHEDULE_SEED=${seed}`, { cause: fault })
    })
  }
  const listTokens = async (table: string) => {
    const rows = await sql<{ publicToken: string }>(
      service.database,
      `select public_token as "publicToken" from ${table}`,
    )
    return rows.map(({ publicToken }) => publicToken)
  }
  const cards = new Set(await listTokens('card'))
  const orphans = (await listTokens('pan_fingerprint')).filter((token) => !cards.has(token))
  assert.deepEqual(orphans, [], 'every number belongs to a card')
}

test(`${schedules} schedules of replace, activate, authorize and status keep each line whole`, async () => {
  const [from, end] = onlySeed === undefined ? [0, schedules] : [+onlySeed, +onlySeed + 1]
  // A database that has many cards and no statistics is slow.
  for (let first = from; first < end; first += 500) {
    const service = await openScheduled()
    await playAll(service, first, Math.min(first + 500, end))
    await service.close()
  }
})

test('the schedules find a replacement that is done twice', async () => {
  const service = await openScheduled({
    from: '\n    or find_successor(p_public_token, v_card.generation, p_today) is not null',
    to: '',
  })
  await assert.rejects(playAll(service, 0, 500), ({ cause }: Error) => {
    assert.ok(cause instanceof assert.AssertionError)
    return true
  })
})
