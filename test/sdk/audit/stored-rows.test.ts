import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseVerifierKeys, verifyFolder } from '../../../sdk/audit/audit.ts'
import { createSigner } from '../../../src/operations/audit/sign.ts'
import { enterAll, entriesOf } from '../../support/audit.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
let stored: Awaited<ReturnType<typeof entriesOf>>
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  for (const _ of [1, 2, 3]) await issueCard(service)
  await enterAll(service.database)
  assert.equal(await createSigner(service.audit)(), 'signed')
  stored = await entriesOf(service.database)
})

/** As the command line exports it, but to no folder. */
async function read(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  if (path.startsWith('openings/')) {
    const bundle = path.replace('.jsonl', '')
    const admin = { as: 'admin', listener: 'private' } as const
    const { status, text } = await service.call('GET', `//audit/logs/1/${bundle}`, admin)
    return status === 200 ? new Uint8Array(Buffer.from(text)) : null
  }
  const answer = await service.privateServer.inject({
    method: 'GET',
    url: path === 'keys' ? '/audit/keys' : `/audit/logs/1/${path}`,
    headers: { host: '127.0.0.1:8081' },
  })
  return answer.statusCode === 200 ? new Uint8Array(answer.rawPayload) : null
}

/** What is found while rows are as they are set; they are mended again. */
async function findings(text: string, values: readonly (number | undefined)[]): Promise<string[]> {
  await sql(service.database, text, values.map(Number))
  try {
    const keys = await parseVerifierKeys(Buffer.from((await read('keys')) ?? []).toString())
    const report = await verifyFolder(read, { keys })
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

test('a row that somebody changes, deletes or exchanges in the database is found and named', async () => {
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
  const [last] = stored.slice(-1)
  assert.deepEqual(
    await findings('delete from audit_entry where entry_index = $1', [last?.index]),
    [`entry_deleted entry ${last?.index}`, `opening_missing entry ${last?.index}`],
  )
})
