import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { pinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

let env: Record<string, string>
let card: string
before(async () => {
  env = { DATA_DIR: (await serveProgram()).dataDir }
  const made = await run('events', 'trigger', 'chip.command_queued', '--json')
  card = JSON.parse(made.stdout).publicToken
})

const run = (...words: string[]) => pinfold(env, ...words)

test('a chip is simulated only where a terminal reads one', async () => {
  const wrong = await run('simulate', card, '--chip', '--mode', 'moto')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /With --chip, --mode must be chip, contactless or atm\./)
})

test('a purchase without the chip of a card says how to use it', async () => {
  const declined = await run('simulate', card, '--mode', 'chip')
  assert.equal(declined.code, 0, declined.stderr)
  assert.match(declined.stdout, /^Declined, response code 88\.$/m)
  assert.match(declined.stdout, /Add --chip\.$/m)
  const others = await run('simulate', card, '--mode', 'ecommerce')
  assert.doesNotMatch(others.stdout, /--chip/)
})

test('the chips of a card and their commands are tables', async () => {
  const put = await run('chips', 'command', card, 'put_data', '--tag', '9f58', '--value', '02')
  assert.equal(put.code, 0, put.stderr)
  const waiting = await run('chips', 'show', card)
  assert.match(waiting.stdout, /^No chip of the card was online yet\.$/m)
  assert.match(waiting.stdout, /^[0-9]+ +(?:[0-9]{2} +)?put_data 9F58 +pending +[-0-9T:.Z]+ +0$/m)
  await run('simulate', card, '--chip')
  const sent = await run('chips', 'show', card)
  assert.match(sent.stdout, /^CHIP +HIGHEST COUNTER +KEYS/m)
  assert.match(sent.stdout, /^00 +1 +1/m)
  const shown = await run('authorizations', 'list', '--limit', '1', '--json')
  const [{ authorizationId }] = JSON.parse(shown.stdout)
  const record = await run('authorizations', 'show', authorizationId)
  assert.match(record.stdout, /cryptogram passed \(atc 1\)/)
})

test('a wrong command and a missing chip say what to type', async () => {
  const strange = await run('chips', 'command', card, 'nonsense')
  assert.match(strange.stderr, /COMMAND must be one of block_application, /)
  const made = await run('events', 'trigger', 'card.created', '--json')
  const other = await run('sandbox', 'chip', JSON.parse(made.stdout).publicToken)
  assert.equal(other.code, 1)
  assert.match(other.stderr, /\S/)
})

test('one try is “1 try”', async () => {
  for (const left of ['2 tries', '1 try', '0 tries']) {
    const typed = await run('sandbox', 'chip', card, '--offline-pin', '0000')
    assert.match(typed.stdout, new RegExp(`^PIN in the chip: wrong, ${left} left$`, 'm'))
  }
})
