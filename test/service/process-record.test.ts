import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../../src/service/config/config.ts'
import { openPostgres } from '../support/postgres.ts'
import { startProgram } from '../support/process.ts'
import { openServerDatabase, sql } from '../support/service.ts'

const postgres = await openPostgres()

interface ActRow {
  readonly act: string
  readonly subject: string
  readonly details: string
  readonly clientId: string | null
}

test('each start and stop of a process is recorded, with its weakening settings', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres, 2)
  const acts = () =>
    sql<ActRow>(
      database,
      `select act, subject, details, client_id as "clientId" from audit_act
       where subject_kind in ('process', 'setting') order by number`,
    )
  const env = { DATABASE_URL: url, SANDBOX: 'true', RATE_LIMIT: 'off', EVENT_RETENTION_DAYS: '7' }
  const program = await startProgram({ env })
  const started = await acts()
  const [start] = started.filter(({ act }) => act === 'process.started')
  assert.ok(start)
  const details = JSON.parse(start.details)
  assert.match(details.version, /^\d+\.\d+\.\d+/)
  assert.equal(details.node, process.versions.node)
  assert.deepEqual([details.hsm, details.database], ['software', 'server'])
  assert.ok(details.databaseVersion >= 150_000 && details.schema >= 8)
  const weakened = started
    .filter(({ act }) => act === 'setting.weakened')
    .map(({ details, subject }) => [subject, JSON.parse(details).found])
  const found = new Map(weakened as [string, string][])
  assert.equal(found.get('SANDBOX'), 'is yes')
  assert.equal(found.get('RATE_LIMIT'), 'is off')
  assert.equal(found.get('EVENT_RETENTION_DAYS'), 'is 7')
  assert.equal(found.get('HSM'), 'is software')
  assert.ok(started.every(({ clientId }) => clientId === null))
  await program.kill('SIGTERM')
  const [stop, ...more] = (await acts()).slice(started.length)
  assert.deepEqual([stop?.act, stop?.subject, more], ['process.stopped', start.subject, []])
})

test('a setting weakens where it allows more or keeps less than what is usual, and not the other way', () => {
  const variablesOf = (environment: Record<string, string>) =>
    parseConfig(environment).config.weakened.map(({ variable }) => variable)
  const usual = variablesOf({})
  const weaker = {
    REVEALS_PER_CARD_HOUR: '11',
    REVEALS_PER_CLIENT_HOUR: '1001',
    UNBLOCKS_PER_CARD_DAY: '11',
    PAN_SEARCHES_PER_PERSON_HOUR: '21',
    BAD_SESSION_KEYS_PER_CARD_HOUR: '101',
    BAD_SESSION_KEYS_PER_CLIENT_HOUR: '1001',
    EVENT_RETENTION_DAYS: '29',
    ATTEMPT_RETENTION_DAYS: '399',
    AUDIT_RETENTION_DAYS: '399',
    AUDIT_ERASURE_LEAST_DAYS: '6',
    RATE_LIMIT: 'on',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  }
  for (const [name, value] of Object.entries(weaker)) {
    const expected = name === 'RATE_LIMIT' ? usual : [...usual, name]
    assert.deepEqual(variablesOf({ [name]: value }).toSorted(), expected.toSorted(), name)
  }
  const stronger = {
    REVEALS_PER_CARD_HOUR: '9',
    EVENT_RETENTION_DAYS: '31',
    UNBLOCKS_PER_CARD_DAY: '1',
  }
  assert.deepEqual(variablesOf(stronger), usual)
})
