import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { chipKeyNames, keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { retireKey } from '../../../src/operations/keys/retire.ts'
import { recordUses } from '../../../src/operations/keys/uses.ts'
import { keyFindings } from '../../../src/service/doctor/installation.ts'
import { type Database, statement } from '../../../src/storage/engine/database.ts'
import { activateKey } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { subjectOf } from './rotating.ts'

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

test('the number of a version, and so its key id, is never given to another key', async () => {
  const { administer } = subjectOf(service)
  const generate = () =>
    administer('POST', '//keys', { family: 'installation', key: 'token-signing' })
  const published = async (): Promise<Record<string, string>> => {
    await service.keys.hsm.refreshKeys()
    const { json } = await service.call('GET', '//oauth/jwks', { token: null })
    return Object.fromEntries(json.keys.map(({ kid, x }: { kid: string; x: string }) => [kid, x]))
  }
  const first = await generate()
  assert.deepEqual([first.status, first.json.version], [201, 2], first.text)
  const seen = await published()
  assert.deepEqual(Object.keys(seen), ['token-signing-1', 'token-signing-2'])
  assert.equal((await administer('POST', '//keys/token-signing/versions/2/delete')).status, 204)
  const second = await generate()
  assert.deepEqual([second.status, second.json.version], [201, 3])
  const now = await published()
  assert.deepEqual(Object.keys(now), ['token-signing-1', 'token-signing-3'])
  assert.equal(now['token-signing-1'], seen['token-signing-1'])
})

test('the only version of a key is not deleted: the next would have its number', async () => {
  const { administer } = subjectOf(service)
  const path = '//keys/card-data-pin/versions/1/delete'
  // Made by an operator before the installation has made its own.
  await sql(service.database, `delete from hsm_key where key_name = 'card-data-pin'`)
  const made = await administer('POST', '//keys', { family: 'installation', key: 'card-data-pin' })
  assert.deepEqual([made.status, made.json.version], [201, 1], made.text)
  const refused = await administer('POST', path)
  assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'])
})

test('a rotation is begun once, however often it is asked for', async () => {
  const { administer } = subjectOf(service)
  const first = await administer('POST', '//keys/pan/rotate')
  const again = await administer('POST', '//keys/pan/rotate')
  assert.deepEqual([again.status, again.json], [202, first.json])
  const { json } = await administer('GET', '//keys/acts')
  const begun = json.filter(({ act }: { act: string }) => act === 'rotation begun')
  assert.equal(begun.length, 1)
})

const keyOf = async (service: TestService, name: string, version = 1) => {
  const options = { listener: 'private', as: 'admin' } as const
  const { json } = await service.call('GET', '//keys', options)
  return json.find(
    (each: { key: string; version: number }) => each.key === name && each.version === version,
  )
}

const metricOf = async (service: TestService, name: string, key: string) => {
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  return Number(new RegExp(`^${name}\\{key="${key}"\\} (\\S+)$`, 'm').exec(text)?.[1])
}

test('the reference of keys agrees with the catalogue on use, cryptoperiod and exportability', async () => {
  const text = await readFile(new URL('../../../docs/reference/keys.md', import.meta.url), 'utf8')
  const uses = (most: number | null): string => (most === null ? '–' : `2^${Math.log2(most)}`)
  for (const [name, { cryptoperiod, description, kind, mayLeave }] of Object.entries(
    keyCatalogue,
  )) {
    const { originatorDays, recipientDays, usesAtMost } = cryptoperiod
    const row = `| \`${name}\` | ${description} | ${kind.keyUsage} | ${kind.modeOfUse} | ${
      mayLeave ? 'E if asked' : 'N'
    } | ${originatorDays} | ${recipientDays} | ${uses(usesAtMost)} |`
    assert.ok(text.includes(row), row)
  }
})

test('uses are recorded before they are made, so that a killed process counts no fewer', async () => {
  const service = await openTestService()
  const uses = recordUses(service.keys)
  await uses.setAside()
  const aside = (await keyOf(service, 'personal-data')).uses
  const counted = () =>
    service.keys.hsm.countedUses().find(({ keyName }) => keyName === 'personal-data')?.uses ?? 0
  const before = counted()
  await service.createCard()
  assert.ok(counted() > before, 'a card has personal data')
  assert.ok(aside > counted(), 'the range was set aside before')
  await uses.setAside()
  assert.equal((await keyOf(service, 'personal-data')).uses, aside, 'and is not used up')
  await uses.giveBack()
  assert.equal(
    (await keyOf(service, 'personal-data')).uses,
    counted(),
    'a stop gives the rest back',
  )
})

test('two processes add up, and opening what is sealed is no use', async () => {
  const service = await openTestService()
  const { database, keys } = service
  const card = await service.createCard()
  const [one, other] = [recordUses(keys), recordUses({ ...keys, database })]
  await one.giveBack()
  await other.giveBack()
  const { uses } = await keyOf(service, 'pan')
  assert.equal(uses % 2, 0)
  assert.ok(uses >= 2)
  await service.call('GET', `/card-pin/${card.publicToken}/pin`)
  await one.giveBack()
  assert.equal((await keyOf(service, 'pan')).uses, uses)
})

test('list, metrics and doctor tell that a key is due by its age, and rotating it ends that', async () => {
  const service = await openTestService()
  const { database } = service
  assert.equal((await keyOf(service, 'pan')).rotationDue, null)
  assert.equal(await metricOf(service, 'pinfold_key_rotation_due', 'pan'), 0)
  assert.match((await keyFindings(database, new Date()))[0]?.found ?? '', /^No rotation is due/)
  await database.query(
    statement(
      'test_age_key',
      "update hsm_key set activated_at = now() - interval '366 days' where key_name = 'pan'",
    ),
  )
  assert.equal((await keyOf(service, 'pan')).rotationDue, 'age')
  assert.equal(await metricOf(service, 'pinfold_key_rotation_due', 'pan'), 1)
  assert.equal(await metricOf(service, 'pinfold_key_rotation_due', 'cvk'), 0)
  assert.ok((await metricOf(service, 'pinfold_key_age_seconds', 'pan')) >= 366 * 86_400)
  const [finding] = await keyFindings(database, new Date())
  assert.equal(finding?.verdict, 'warning')
  assert.match(JSON.stringify(finding), /The key pan has .* 365 days.*keys rotate pan/)
  await database.query(
    statement(
      'test_rotate_key',
      `insert into hsm_key (key_name, key_version, state, key_block, key_check_value, activated_at)
       select key_name, 2, 'active', key_block, key_check_value, now() from hsm_key where key_name = 'pan'`,
    ),
  )
  assert.equal((await keyOf(service, 'pan', 1)).rotationDue, null)
  assert.equal((await keyOf(service, 'pan', 2)).rotationDue, null)
  assert.equal(await metricOf(service, 'pinfold_key_rotation_due', 'pan'), 0)
})

test('a key is due by its uses, too, and a month before it is due doctor says so', async () => {
  const service = await openTestService()
  const { database } = service
  await database.query(
    statement('test_wear_key', "update hsm_key set uses = 1::bigint << 48 where key_name = 'pan'"),
  )
  assert.equal((await keyOf(service, 'pan')).rotationDue, 'uses')
  assert.equal(await metricOf(service, 'pinfold_key_uses', 'pan'), 2 ** 48)
  assert.match(
    JSON.stringify(await keyFindings(database, new Date())),
    /pan has been used \d+ times/,
  )
  const inElevenMonths = new Date(Date.now() + 340 * 86_400_000)
  const findings = JSON.stringify(await keyFindings(database, inElevenMonths))
  assert.match(findings, /rotation of the key personal-data is due in 25 days/)
  assert.match(findings, /token-signing has protected new data for more than 90 days/)
})

test('the keys of chips, which cards keep for years, are due after four years', async () => {
  const { database } = await openTestService()
  const findIn = async (years: number) =>
    JSON.stringify(await keyFindings(database, new Date(Date.now() + years * 365 * 86_400_000)))
  assert.doesNotMatch(await findIn(3.9), /chip-/)
  for (const key of chipKeyNames) {
    assert.match(await findIn(4), new RegExp(`${key} has protected new data for more than 1460`))
  }
})

test('a version does not retire while a process may still make something under it', async () => {
  const other = await openTestService()
  const { administer: administerOther } = subjectOf(other)
  await administerOther('POST', '//keys/cvk/rotate')
  await activateKey(other.database, 'cvk')
  // No card is under it: but another process may not know yet that it has a successor.
  const early = await administerOther('POST', '//keys/cvk/versions/1/retire')
  assert.deepEqual([early.status, early.json.code], [409, 'key_in_use'])
  const card = await other.createCard()
  const [row] = await sql(other.database, 'select cvk from card where public_token = $1', [
    card.publicToken,
  ])
  assert.equal(row?.cvk, 'cvk/1')
  await activateKey(other.database, 'cvk', '31 seconds')
  const used = await administerOther('POST', '//keys/cvk/versions/1/retire')
  assert.match(used.json.detail, /still in use in card.cvk/)
  await sql(other.database, `update card set cvk = 'cvk/2'`)
  assert.equal((await administerOther('POST', '//keys/cvk/versions/1/retire')).status, 204)
})

test('a version does not retire whose successor settled only while it was searched', async () => {
  await subjectOf(service).administer('POST', '//keys/cvk/rotate')
  await activateKey(service.database, 'cvk')
  // The search takes so long that a process which had not read the keys issued a card behind it.
  const database: Database = {
    ...service.database,
    async query(statement, values) {
      const rows = await service.database.query<never>(statement, values)
      if (!statement.text.includes('from card')) return rows
      await service.createCard()
      await activateKey(service.database, 'cvk', '1 hour')
      return rows
    },
  }
  const operator = { clientId: 'demo-admin', requestId: 'retire' }
  const retire = () =>
    retireKey({ ...service.keys, database }, operator, { keyName: 'cvk', keyVersion: 1 }, null)
  await assert.rejects(retire, { code: 'key_in_use' })
  const [row] = await sql(
    service.database,
    `select state from hsm_key where key_name = 'cvk' and key_version = 1`,
  )
  assert.equal(row?.state, 'active')
})
