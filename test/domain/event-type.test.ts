import assert from 'node:assert/strict'
import test from 'node:test'
import { eventTypes, isEventType } from '../../src/domain/event-type.ts'

test('a type of event is one of those that are published, and no other text', () => {
  for (const type of eventTypes) assert.equal(isEventType(type), true)
  for (const text of ['', 'pin', 'pin.set ', 'PIN.SET', 'card.deleted', 'toString']) {
    assert.equal(isEventType(text), false, text)
  }
})
