import assert from 'node:assert/strict'
import { test } from 'node:test'
import { luhnCheckDigit } from '../../../src/domain/pan.ts'
import { startProgram } from '../../support/process.ts'
import { newCard } from '../../support/service.ts'
import { planBurst, send, withToken } from './killed.ts'

// Every digit string is one that no counter, instant or id is likely to hold.
const account = '400000090734182'
const pan = account + luhnCheckDigit(account)
const secrets = [pan, '90734', 'f00dfeedf00dfeed', 'F00DFEEDF00DFEED']
const cvv2 = '9073'

test('no PAN, PIN block or CVV2 of a question is in the log, whatever became of the question', async () => {
  const program = await startProgram({ env: { LOG_LEVEL: 'trace', RATE_LIMIT: 'off' } })
  const network = await withToken(program)
  const token = await program.token()
  const made = await program.call('POST', '/cards', { token, body: newCard() })
  const { publicToken } = made.json
  const pinBlock = { format: 'ISO_FORMAT_0', key: 'zone-a', data: secrets[2] }
  const questions = [
    { pan, entryMode: 'chip', reference: 'R-1', pinBlock, cvv2 },
    { publicToken, entryMode: 'chip', reference: 'R-1', pinBlock, cvv2 },
    { publicToken, entryMode: 'chip', reference: 'R-1', cvv2 },
    { pan, entryMode: 'swipe', reference: pan, pinBlock: { ...pinBlock, more: pan }, cvv2 },
    { [pan]: pan, pan: [pan], pinBlock: pinBlock.data, cvv2: Number(cvv2) },
    {
      pan: `${pan}x`,
      entryMode: 'chip',
      reference: 'R-1',
      pinBlock: { ...pinBlock, data: `${pinBlock.data}g` },
    },
  ]
  const texts: string[] = []
  for (const [index, question] of questions.entries()) {
    const answer = await send(network, { key: `K-${index}`, reference: '', question, answer: null })
    assert.ok(answer && answer.status < 500, answer?.text)
    texts.push(answer.text)
  }
  const response = await fetch(`${program.privateUrl}/network/authorizations?pan=${pan}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.token}`, 'content-type': 'application/json' },
    body: `{"pan":"${pan}","cvv2":"${cvv2}"`,
  })
  texts.push(await response.text())
  const { json } = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  const [burst] = planBurst(network, { publicToken, pin: json.pin }, 1)
  assert.ok(burst)
  await send(network, burst)
  const { data } = (burst.question as { pinBlock: { data: string } }).pinBlock
  await program.kill('SIGTERM')
  const log = program.stdout() + program.stderr()
  assert.match(log, /network\/authorizations/)
  for (const secret of [...secrets, data, data.toUpperCase()]) {
    assert.ok(!log.includes(secret), `the log holds ${secret}`)
    for (const text of texts) assert.ok(!text.includes(secret), `an answer holds ${secret}`)
  }
  assert.doesNotMatch(log, new RegExp(`"(cvv2|pin|data)":"|\\b${cvv2}\\b`))
})
