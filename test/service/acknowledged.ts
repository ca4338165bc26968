import assert from 'node:assert/strict'
import type { Program } from '../support/process.ts'
import { newCard, strongPins } from '../support/service.ts'

/** What a program acknowledged until it was killed, and whether another one knows of it. */

type Acknowledged = { publicToken: string; pins: Set<string>; isSet: boolean }

/**
 * Creates cards and sets PINs until the program is gone; notes what it acknowledged, as it does.
 */
export async function streamUntilKilled(
  program: Program,
  killAfter: number,
): Promise<Acknowledged[]> {
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
  assert.ok(acknowledged.length > 0)
  return acknowledged
}

const ignoreBreak = (error: unknown): void => {
  if (!(error instanceof TypeError)) throw error
}

export async function proveAllAreThere(
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
