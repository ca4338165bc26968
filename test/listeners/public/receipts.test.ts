import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { createSigner } from '../../../src/operations/audit-log/sign.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import { enterAll } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let entry: string
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { publicToken } = await issueCard(service)
  const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
  entry = String(shown.headers['audit-entry'])
})

test('the receipt of an entry is there once it is under a checkpoint, for the client whose it is', async () => {
  const early = await service.call('GET', `/receipts/${entry}`)
  assert.deepEqual([early.status, early.headers['retry-after'], early.text], [202, '1', ''])
  await enterAll(service.database)
  assert.equal((await service.call('GET', `/receipts/${entry}`)).status, 202)
  assert.equal(await createSigner(service.audit)(), 'signed')
  const { headers, status, text } = await service.call('GET', `/receipts/${entry}`)
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain/)
  assert.match(text, /^c2sp\.org\/tlog-proof@v1\nextra [A-Za-z0-9+/=]+\nindex \d+\n/)
  const opening = JSON.parse(
    Buffer.from(/^extra (.*)$/m.exec(text)?.[1] ?? '', 'base64').toString(),
  )
  assert.equal(JSON.parse(opening.text).entry, entry)
  const others = await service.call('GET', `/receipts/${entry}`, { as: 'otherClient' })
  assert.equal(others.status, 404)
})

test('what is no entry has none; what may become one within minutes is waited for', async () => {
  for (const path of ['/receipts/x', `/receipts/${randomUUID()}`]) {
    assert.equal((await service.call('GET', path)).status, 404)
  }
  assert.equal((await service.call('GET', `/receipts/${newEventId()}`)).status, 202)
})

test('a receipt takes the right to read events, and its keys take none', async () => {
  const token = await service.token('cards.read')
  assert.equal((await service.call('GET', `/receipts/${entry}`, { token })).status, 403)
  // A log begins with its first entry.
  await enterAll(service.database)
  const keys = await service.call('GET', '//.well-known/audit-log-keys', { token: null })
  assert.equal(keys.status, 200)
  assert.equal(keys.headers['access-control-allow-origin'], '*')
  assert.match(keys.text, /^\S+\+[0-9a-f]{8}\+\S+\n$/)
})
