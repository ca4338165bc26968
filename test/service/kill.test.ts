import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { isNightly } from '../support/cases.ts'
import { openPostgres } from '../support/postgres.ts'
import { type Program, startProgram } from '../support/process.ts'
import { newCard, strongPins } from '../support/service.ts'

const postgres = await openPostgres()

type Acknowledged = { publicToken: string; pins: Set<string>; isSet: boolean }

/** Creates cards and sets PINs until the program is gone; notes what it acknowledged, as it does. */
async function streamUntilKilled(program: Program, killAfter: number): Promise<Acknowledged[]> {
  const token = await program.token()
  const acknowledged: Acknowledged[] = []
  let acts = 0
  const count = () => {
    acts += 1
    if (acts === killAfter) void program.kill('SIGKILL')
  }
  const worker = async (): Promise<void> => {
    for (;;) {
      const card = await program.call('POST', '/cards', { token, body: newCard() })
      assert.equal(card.status, 201, card.text)
      const known = { publicToken: card.json.publicToken, pins: new Set<string>(), isSet: false }
      acknowledged.push(known)
      count()
      for (const pin of strongPins(card.json)) {
        // Sent, so it may hold; acknowledged, so nothing before it may.
        known.pins.add(pin)
        const path = `/card-pin/${known.publicToken}/pin`
        const answer = await program.call('POST', path, { token, body: { pin } })
        assert.equal(answer.status, 204, answer.text)
        known.pins = new Set([pin])
        known.isSet = true
        count()
      }
    }
  }
  // A worker ends when its connection breaks; an answer that is wrong is no TypeError of fetch.
  const workers = Array.from({ length: 4 }, () => worker().catch(ignoreBreak))
  await Promise.all([...workers, program.ended])
  return acknowledged
}

const ignoreBreak = (error: unknown): void => {
  if (!(error instanceof TypeError)) throw error
}

async function proveAllAreThere(
  program: Program,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  const token = await program.token()
  for (const { isSet, pins, publicToken } of acknowledged) {
    const card = await program.call('GET', `/cards/${publicToken}`, { token })
    assert.equal(card.status, 200, `card ${publicToken} was acknowledged: ${card.text}`)
    const { json, status } = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
    assert.equal(status, 200)
    if (isSet) assert.ok(pins.has(json.pin), `the PIN of ${publicToken} was acknowledged`)
  }
}

async function killAndRestart(env: Readonly<Record<string, string>>): Promise<void> {
  let program = await startProgram({ env })
  for (const killAfter of isNightly ? [7, 40] : [20]) {
    const acknowledged = await streamUntilKilled(program, killAfter)
    assert.ok(acknowledged.length > 0)
    program = await startProgram({ dataDir: program.dataDir, env })
    await proveAllAreThere(program, acknowledged)
  }
  assert.equal((await program.kill('SIGTERM')).code, 0)
}

const title = 'after kill -9 every card and PIN that was acknowledged is there and can be read'

suite('on the embedded database', () => {
  test(title, () => killAndRestart({ RATE_LIMIT: 'off' }))
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test(title, async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    await killAndRestart({ DATABASE_URL: url, SANDBOX: 'true', RATE_LIMIT: 'off' })
  })
})
