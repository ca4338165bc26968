/** The limits in force, in words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService } from '../support/service.ts'

test('the page names every limit in words, and marks the variables that are set', async () => {
  const [, port] = await freePorts()
  const env = { PRIVATE_PORT: String(port), RATE_LIMIT: 'on', CALLS_IN_FLIGHT: '1234' }
  const service = await openTestService({ env })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  const people = service.sandbox?.people ?? []
  const viewer = openBrowser()
  await viewer.visit(people.find(({ role }) => role === 'viewer')?.signInUrl ?? '')
  const { text } = await viewer.visit(`http://127.0.0.1:${port}/console/limits`)
  const token = await service.token('support.read', 'admin')
  const { json } = await service.call('GET', '//limits', { listener: 'private', token })
  assert.equal(text.match(/<th [^>]*scope="row"/g)?.length, json.length)
  for (const { name, variable } of json) {
    assert.ok(text.includes(`<code>${variable}</code>`), name)
  }
  assert.match(text, /<code>CALLS_IN_FLIGHT<\/code> <span class="badge plain">set</)
  assert.match(text, />\s*1,234 at once\s*</)
  assert.match(text, /PAN searches of a person/)
  assert.doesNotMatch(text, /<code>PROCESSES<\/code> <span/)
})
