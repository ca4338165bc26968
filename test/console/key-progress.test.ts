import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderCeremonies, renderReEncryption } from '../../src/console/screens/key-progress.ts'

const progress = {
  columnName: 'encrypted_pan',
  round: 1,
  examined: 1_200,
  reEncrypted: 1_100,
  leftInRound: 1_500,
  shareOfCards: 0.445,
  secondsLeft: 90,
  startedAt: '2026-11-29T06:00:00Z',
  finishedAt: null,
}
const key = {
  family: 'installation',
  key: 'pan',
  version: 2,
  state: 'active',
  current: true,
  keyCheckValue: '970748',
  createdAt: '2026-11-29T06:00:00Z',
  activatesAt: null,
  activatedAt: null,
  retiredAt: null,
  reEncryption: progress,
} as const

test('a running re-encryption says how many of the cards are under the new version', () => {
  const finished = { ...progress, finishedAt: '2026-11-29T07:00:00Z' }
  const text = String(renderReEncryption([key, { ...key, key: 'cvk', reEncryption: finished }]))
  const words = text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ')
  assert.match(words, /pan version 2: 44.5% of the cards 1,100 values re-encrypted, about 90 sec/)
  assert.ok(!words.includes('cvk'))
  assert.equal(renderReEncryption([{ ...key, reEncryption: null }]), false)
})

test('a ceremony shows who entered a component, and a slot for each that is awaited', () => {
  const visit = { scopes: new Set() } as unknown as Parameters<typeof renderCeremonies>[0]
  const entered = {
    componentNumber: 1,
    person: 'Kim Keys',
    clientId: 'custodian-1',
    createdBy: null,
    confirmedBy: [],
    controlledBy: [],
  }
  const entry = {
    entryId: 'e',
    family: 'zone-master',
    target: 'zmk-north',
    openedBy: 'custodian-1',
    componentCount: 3,
    entered: [entered],
    expiresAt: '2026-11-30T06:00:00Z',
    key: null,
  } as const
  const text = String(renderCeremonies(visit, [{ ...entry, entered: [entered] }]))
  const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  assert.match(words, /zmk-north 1 of 3 Kim Keys awaited awaited custodian-1/)
})
