/**
 * The version before this one beside this one, on one database: both serve, before and after this one's migrations.
 * A migration that takes something from the earlier version fails here (docs/decisions/0028-side-by-side.md).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import { withToken } from '../operations/authorizations/killed.ts'
import { readFeed } from '../operations/webhooks/client-system.ts'
import { unpackVersion } from '../support/earlier-version.ts'
import { otherDigits } from '../support/network.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, startProgram } from '../support/process.ts'
import { newCard, strongPins } from '../support/service.ts'
import { connectSwitch, freePort } from '../support/switch.ts'
import { type Acknowledged, type Served, send } from './failover-load.ts'

const earlier = 'schema-1'
const postgres = await openPostgres()

/** An act under a key of its own, to be sent to one version and again to the other. */
const act = (kind: Acknowledged['kind'], path: string, body: object) => ({
  kind,
  path,
  body,
  key: randomUUID(),
})

const guess = (publicToken: string, tried: string) => {
  const reference = `S-${randomUUID().replace(/[0-9]/g, 'x')}`.slice(0, 35)
  const question = { publicToken, entryMode: 'chip', reference, tried }
  return act('try', '/network/authorizations', question)
}

/** Done by one, and sent again to the other: the same answer, and nothing done. */
const doneOnce = async (
  one: Served,
  other: Served,
  asked: ReturnType<typeof act>,
): Promise<string> => {
  const first = await send(one, asked)
  assert.ok(first && first.status < 300, first?.text)
  assert.equal(first.isReplayed, false)
  assert.deepEqual(await send(other, asked), { ...first, isReplayed: true })
  return first.text
}

const readAt = async ({ client: token, program }: Served, path: string) => {
  const { json, status, text } = await program.call('GET', path, { token })
  assert.equal(status, 200, text)
  return json
}

const answerOf = async (one: Served, other: Served, publicToken: string, pin: string) =>
  JSON.parse(await doneOnce(one, other, guess(publicToken, pin))).responseCode

const createAt = async (one: Served, other: Served) => {
  const made = await doneOnce(one, other, act('card', '/cards', newCard()))
  return JSON.parse(made) as { publicToken: string; maskedPan: string }
}

suite('an earlier version and this one, on one database', {
  skip: postgres.leftOut,
  timeout: 240_000,
}, () => {
  let old: Served
  let present: Served
  let made: { publicToken: string; maskedPan: string }
  let linkPort: number
  let restart: () => Promise<Served>

  before(async () => {
    const { url } = await postgres.createDatabase()
    const dataDir = await makeFolder()
    await readOrMakeMasterKeys(`${dataDir}/master.key`)
    const env = { DATABASE_URL: url, SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
    const words = await unpackVersion(earlier)
    const start = async (options: object): Promise<Served> => {
      const program = await startProgram({ dataDir, env, ...options })
      const { token: network } = await withToken(program)
      return { program, client: await program.token(), network }
    }
    restart = () => start({ words })
    // It makes the schema of its own, and a card on it.
    old = await restart()
    made = await createAt(old, old)
    linkPort = await freePort()
    present = await start({ env: { ...env, LINK_PORT: String(linkPort) } })
  })

  /** Events that are there: the first card's, and eleven for each that both have worked on. */
  let least = 1
  const directions = [
    ['the earlier', 'this', (): [Served, Served] => [old, present]],
    ['this', 'the earlier', (): [Served, Served] => [present, old]],
  ] as const
  for (const [doing, going, both] of directions) {
    test(`what ${doing} version does of a card, ${going} one sees, repeats and goes on with`, async () => {
      const [one, other] = both()
      const card = await createAt(one, other)
      const { publicToken } = card
      const [pin, next] = strongPins(card)
      const path = `/card-pin/${publicToken}/pin`
      await doneOnce(one, other, act('pin', path, { pin }))
      assert.equal((await readAt(other, path)).pin, pin)
      assert.equal(await answerOf(other, one, publicToken, pin), '00')
      // Of three tries two are spent by the one, and the last by the other.
      const wrong = otherDigits(pin)
      assert.equal(await answerOf(one, other, publicToken, wrong), '55')
      assert.equal((await readAt(other, `${path}/status`)).remainingTries, 2)
      assert.equal(await answerOf(one, other, publicToken, wrong), '55')
      assert.equal(await answerOf(other, one, publicToken, wrong), '55')
      assert.equal(await answerOf(one, other, publicToken, pin), '75')
      assert.equal((await readAt(one, `${path}/status`)).status, 'Blocked')
      await doneOnce(one, other, act('pin', `${path}/unblock`, {}))
      await doneOnce(other, one, act('pin', path, { pin: next }))
      assert.equal(await answerOf(one, other, publicToken, next), '00')
      await setStatus(one, publicToken, '62')
      assert.equal((await readAt(other, `/cards/${publicToken}`)).cardStatusCode, '62')
      await setStatus(other, publicToken, '00')
      least += 11
      const types = (await readFeed(other.program, least))
        .filter(({ data }) => data.publicToken === publicToken)
        .map(({ type }) => type)
      const failed = 'pin.attempt_failed'
      assert.deepEqual(types, [
        ...['card.created', 'pin.set', 'pin.revealed', failed, failed, failed, 'pin.blocked'],
        ...['pin.unblocked', 'pin.set', 'card.status_changed', 'card.status_changed'],
      ])
    })
  }

  test('card networks speak to this version on their own wire, beside the earlier one', async () => {
    const wire = await connectSwitch({ port: linkPort, profile: 'sandbox' })
    assert.equal(await wire.signOn(), '00')
    assert.equal((await wire.ask('0800', { 70: '301' })).fields['39'], '00')
    wire.close()
  })

  test('both tell the same events in the same order', async () => {
    const feed = await readFeed(present.program, least)
    assert.deepEqual(await readFeed(old.program, least), feed)
  })

  test('the earlier version can be started again, and goes on with what it made before the migrations', async () => {
    assert.equal((await old.program.kill('SIGTERM')).code, 0)
    old = await restart()
    const { publicToken } = made
    const [pin] = strongPins(made)
    const path = `/card-pin/${publicToken}/pin`
    await doneOnce(present, old, act('pin', path, { pin }))
    assert.equal(await answerOf(old, present, publicToken, pin), '00')
    for (const { program } of [old, present]) {
      assert.doesNotMatch(program.stdout(), /internal_error/)
      assert.equal((await program.kill('SIGTERM')).code, 0)
    }
  })
})

const setStatus = async (
  { client: token, program }: Served,
  publicToken: string,
  cardStatusCode: string,
): Promise<void> => {
  const body = { cardStatusCode }
  const { status, text } = await program.call('PUT', `/cards/${publicToken}/status`, {
    token,
    body,
  })
  assert.ok(status < 300, text)
}
