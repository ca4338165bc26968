/** Records that cannot be read, among those that are to be entered in the audit log. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { insertAct } from '../../../src/storage/acts/acts.ts'
import { enterAll, listEntries } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql } from '../../support/service.ts'

test('unreadable details are entered by their hash, and hold up no later entry', async () => {
  const { database, ...service } = await openTestService()
  const written = ['{"cut of', 'null', '[]', '{"whole":1}']
  for (const details of written) {
    const subject = { subjectKind: 'client', subject: 'unreadable' } as const
    await insertAct(database, {
      act: 'changed',
      ...subject,
      details,
      clientId: null,
      requestId: null,
    })
  }
  const { publicToken } = await issueCard({ database, ...service })
  await sql(database, `update event set details = '{"cut of' returning event_id`)
  await enterAll(database)
  const entries = (await listEntries(database)).map(({ text }) => JSON.parse(text))
  const unreadable = (text: string) => ({ unreadable: hash('sha256', text, 'hex') })
  assert.deepEqual(
    entries.filter(({ subject }) => subject === 'unreadable').map(({ details }) => details),
    [...written.slice(0, 3).map(unreadable), { whole: 1 }],
  )
  const ofCard = entries.filter(({ card }) => card === publicToken)
  assert.ok(ofCard.length > 0)
  for (const { details } of ofCard) assert.deepEqual(details, unreadable('{"cut of'))
})
