import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseVerifierKeys, verifyFolder } from '../../../packages/audit/audit.ts'
import { eraseDue } from '../../../src/operations/audit-log/erase.ts'
import { followEntries } from '../../../src/operations/audit-log/follow.ts'
import { createSigner } from '../../../src/operations/audit-log/sign.ts'
import { enterAll, listEntries } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

type Signed = { service: TestService; stored: Awaited<ReturnType<typeof listEntries>> }

/** A service whose log has the entries of three cards, under a checkpoint. */
async function openSigned(): Promise<Signed> {
  const service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  for (const _ of [1, 2, 3]) await issueCard(service)
  await enterAll(service.database)
  assert.equal(await createSigner(service.audit)(), 'signed')
  return { service, stored: await listEntries(service.database) }
}

let signed: Signed
before(async () => {
  signed = await openSigned()
})

/** As the command line exports it, but to no folder. */
const readerOf =
  ({ privateServer, call }: TestService) =>
  async (path: string): Promise<Uint8Array<ArrayBuffer> | null> => {
    if (path.startsWith('openings/')) {
      const bundle = path.replace('.jsonl', '')
      const admin = { as: 'admin', listener: 'private' } as const
      const { status, text } = await call('GET', `//audit/logs/1/${bundle}`, admin)
      return status === 200 ? new Uint8Array(Buffer.from(text)) : null
    }
    const answer = await privateServer.inject({
      method: 'GET',
      url: path === 'keys' ? '/audit/keys' : `/audit/logs/1/${path}`,
      headers: { host: '127.0.0.1:8081' },
    })
    return answer.statusCode === 200 ? new Uint8Array(answer.rawPayload) : null
  }

async function verify(service: TestService) {
  const read = readerOf(service)
  const keys = await parseVerifierKeys(Buffer.from((await read('keys')) ?? []).toString())
  return verifyFolder(read, { keys })
}

/** What is found while rows are as they are set; they are mended again. */
async function findings(text: string, values: readonly (number | undefined)[]): Promise<string[]> {
  const { service, stored } = signed
  await sql(service.database, text, values.map(Number))
  try {
    const report = await verify(service)
    return report.findings.map(({ code, where }) => `${code} ${where}`)
  } finally {
    await sql(service.database, 'delete from audit_entry where log = 1', [])
    for (const { act, clientId, commitment, entryId, index, publicToken, salt, text } of stored) {
      await sql(
        service.database,
        `insert into audit_entry (log, entry_index, entry_id, client_id, public_token, act, commitment, salt, text)
         values (1, $1, $2, $3, $4, $5, $6, $7, $8)`,
        [index, entryId, clientId, publicToken, act, commitment, salt, text],
      )
    }
  }
}

test('a database whose rows are as they were entered has nothing to be found', async () => {
  assert.deepEqual(await findings('select 1', []), [])
})

test('a row that is changed, deleted or exchanged in the database is found and named', async () => {
  assert.deepEqual(
    await findings(
      `update audit_entry set text = replace(text, '"done"', '"refused"') where entry_index = $1`,
      [2],
    ),
    ['opening_changed entry 2'],
  )
  assert.deepEqual(await findings('delete from audit_entry where entry_index = $1', [3]), [
    'entry_deleted entry 3',
    'opening_missing entry 3',
  ])
  assert.deepEqual(
    await findings(
      `update audit_entry set commitment = other.commitment, salt = other.salt, text = other.text
       from audit_entry as other
       where audit_entry.entry_index in ($1, $2) and other.entry_index in ($1, $2)
         and other.entry_index <> audit_entry.entry_index`,
      [1, 4],
    ),
    [
      'opening_swapped entry 1',
      'opening_swapped entry 4',
      'entry_swapped entry 1',
      'entry_swapped entry 4',
    ],
  )
  assert.deepEqual(
    await findings('update audit_entry set salt = null, text = null where entry_index = $1', [0]),
    ['opening_missing entry 0'],
  )
  const [last] = signed.stored.slice(-1)
  assert.deepEqual(
    await findings('delete from audit_entry where entry_index = $1', [last?.index]),
    [`entry_deleted entry ${last?.index}`, `opening_missing entry ${last?.index}`],
  )
})

test('once a card’s entries are erased, all of the log still verifies, and says how many they are', async () => {
  const { service, stored } = await openSigned()
  const { audit, database } = service
  const publicToken = stored.find((entry) => entry.publicToken !== null)?.publicToken
  const body = { publicToken, reason: 'Its cardholder asked for it.' }
  const request = { as: 'admin', listener: 'private', body } as const
  assert.equal((await service.call('POST', '//audit/erasures', request)).status, 202)
  const sign = createSigner(audit)
  const isDone = async () =>
    (
      await sql(database, 'select 1 from audit_erasure where finished_at is null and kind <> $1', [
        'age',
      ])
    ).length === 0
  while (!(await isDone())) {
    await followEntries(audit, new AbortController().signal)
    await eraseDue(audit, { retentionDays: 400, leastDays: 0, settleSeconds: 0 })
    await enterAll(database)
    // A checkpoint a second at most.
    if ((await sign()) === 'unchanged') await wait(20)
  }
  while ((await sign()) !== 'unchanged') await wait(20)
  const { findings: found, logs } = await verify(service)
  assert.deepEqual(found, [])
  const own = stored.filter((entry) => entry.publicToken === publicToken)
  assert.equal(logs[0]?.erased, own.length)
})
