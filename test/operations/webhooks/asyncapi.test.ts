import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { generateAsyncapi } from '../../../scripts/generate-asyncapi.ts'
import { eventTypes } from '../../../src/domain/event-type.ts'

test('asyncapi.json is what the schemas of the messages say, every type of event in it', async () => {
  const text = await readFile(new URL('../../../asyncapi.json', import.meta.url), 'utf8')
  assert.equal(text, generateAsyncapi())
  const { components } = JSON.parse(text)
  const names = Object.values<{ name: string }>(components.messages).map(({ name }) => name)
  assert.deepEqual(names, [...eventTypes, 'webhook.ping'])
})
