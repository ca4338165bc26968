import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { chipProfiles } from '../../../src/domain/chip-profile.ts'
import { usualChip } from '../../../src/domain/product-chip.ts'
import { chipKeyNames } from '../../../src/hsm/contract/catalogue.ts'
import { UnknownKey } from '../../../src/hsm/contract/stored-keys.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { chipFindings } from '../../../src/service/doctor/chips.ts'
import { activateKey, expireCard, product } from '../../support/builders.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { openTestService, sql, strongPins, type TestService } from '../../support/service.ts'
import { type Administer, subjectOf } from './rotating.ts'

let service: TestService
let administer: Administer

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  administer = subjectOf(service).administer
  for (const key of chipKeyNames) {
    const { json, status, text } = await administer('POST', `//keys/${key}/rotate`)
    assert.deepEqual([status, json.version], [202, 2], text)
    await activateKey(service.database, key, '1 hour')
  }
  await service.keys.hsm.refreshKeys()
})

const retire = (key: string) => administer('POST', `//keys/${key}/versions/1/retire`)

/** A card whose chip has made a cryptogram under a version of the keys. */
async function usedChip(keyVersion: number): Promise<string> {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  await sql(
    service.database,
    `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
     values ($1, '01', 1, 1, $2)`,
    [publicToken, keyVersion],
  )
  return publicToken
}

test('after a rotation, both versions of the keys are active, for the chips of each', async () => {
  const { json } = await administer('GET', '//keys')
  for (const key of chipKeyNames) {
    const states = json
      .filter((row: { key: string }) => row.key === key)
      .map((row: { version: number; state: string; current: boolean }) => [
        row.version,
        row.state,
        row.current,
      ])
    assert.deepEqual(states, [
      [1, 'active', false],
      [2, 'active', true],
    ])
  }
})

test('chips of both versions pass at once, each under its own version only', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  const [row] = await sql<{ encryptedPan: Uint8Array }>(
    service.database,
    `select encrypted_pan as "encryptedPan" from card where public_token = $1`,
    [publicToken],
  )
  assert.ok(row)
  const { hsm } = service.keys
  const card = { publicToken: parsePublicToken(publicToken), encryptedPan: row.encryptedPan }
  const profile = chipProfiles['visa-cvn18']
  const chip = { card, panSequenceNumber: '01', profile }
  const [data, atc] = [randomBytes(40), Buffer.of(0, 7)]
  const made = { data, atc, unpredictableNumber: randomBytes(4) }
  for (const [own, other] of [
    ['chip-ac/1', 'chip-ac/2'],
    ['chip-ac/2', 'chip-ac/1'],
  ] as const) {
    const cryptogram = { ...made, arqc: await hsm.generateCryptogram(chip, own, made) }
    const answer = { cardStatusUpdate: Buffer.alloc(4), proprietaryData: Buffer.alloc(0) }
    assert.ok(await hsm.verifyCryptogram(chip, own, cryptogram, answer))
    assert.equal(await hsm.verifyCryptogram(chip, other, cryptogram, answer), null)
  }
})

test('a version of the keys stays until the last card whose chip used it has expired', async () => {
  await usedChip(2)
  const publicToken = await usedChip(1)
  for (const key of chipKeyNames) {
    const refused = await retire(key)
    assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'], key)
    assert.match(
      refused.json.detail,
      /needed: the chip of an unexpired card uses it or may use it, until 20\d\d-\d\d\. Retire/,
    )
  }
  await expireCard(service.database, publicToken)
  assert.equal((await retire('chip-dynamic')).status, 204)
})

/** A physical card without a used chip, created before the rotation to version 2. */
async function unusedCard(): Promise<string> {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  await sql(
    service.database,
    `update card set created_at = now() - interval '2 hours' where public_token = $1`,
    [publicToken],
  )
  return publicToken
}

test('a version stays while an unused, unexpired card may have been made with it', async () => {
  const [first, second] = [await unusedCard(), await unusedCard()]
  const refused = await retire('chip-ac')
  assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'], refused.text)
  assert.match(
    refused.json.detail,
    /the chips of 2 unexpired cards .* until 20\d\d-\d\d\. 2 of them have not .* Retire it after/,
  )
  await expireCard(service.database, first)
  assert.match((await retire('chip-ac')).json.detail, /1 of them has not used a chip yet/)
  await sql(
    service.database,
    `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
     values ($1, '00', 1, 1, 2)`,
    [second],
  )
  assert.equal((await retire('chip-ac')).status, 204, 'its chip has used version 2')
  await sql(
    service.database,
    `update hsm_key set state = 'active', retired_at = null
    where key_name = 'chip-ac' and key_version = 1`,
  )
})

test('an unused card needs a version until all four keys of chips have a newer one', async () => {
  await expireCard(service.database, await unusedCard())
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  const setActivation = (time: string) =>
    sql(
      service.database,
      `update hsm_key set activated_at = ${time}
       where key_name = 'chip-smi' and key_version = 2`,
    )
  await setActivation('now()')
  assert.match((await retire('chip-smc')).json.detail, /not used a chip yet/)
  await setActivation("now() - interval '1 hour'")
  assert.equal((await retire('chip-smc')).status, 204)
  await sql(
    service.database,
    `update hsm_key set state = 'active', retired_at = null
    where key_name = 'chip-smc' and key_version = 1`,
  )
  await expireCard(service.database, publicToken)
})

test('a retired version verifies and answers no cryptogram', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  const [row] = await sql<{ encryptedPan: Uint8Array }>(
    service.database,
    `select encrypted_pan as "encryptedPan" from card where public_token = $1`,
    [publicToken],
  )
  assert.ok(row)
  const { hsm } = service.keys
  const card = { publicToken: parsePublicToken(publicToken), encryptedPan: row.encryptedPan }
  const chip = { card, panSequenceNumber: '01', profile: chipProfiles['visa-cvn18'] }
  const made = { data: randomBytes(40), atc: Buffer.of(0, 8), unpredictableNumber: randomBytes(4) }
  const cryptogram = { ...made, arqc: await hsm.generateCryptogram(chip, 'chip-ac/1', made) }
  const answer = { cardStatusUpdate: Buffer.alloc(4), proprietaryData: Buffer.alloc(0) }
  const setState = async (state: string) => {
    await sql(
      service.database,
      `update hsm_key set state = '${state}', retired_at = now()
       where key_name = 'chip-ac' and key_version = 1`,
    )
    await hsm.refreshKeys()
  }
  await setState('retired')
  await assert.rejects(hsm.verifyCryptogram(chip, 'chip-ac/1', cryptogram, answer), UnknownKey)
  await assert.rejects(hsm.answerCryptogram(chip, 'chip-ac/1', cryptogram, answer), UnknownKey)
  await setState('active')
  assert.ok(await hsm.verifyCryptogram(chip, 'chip-ac/1', cryptogram, answer))
})

test('a version of the keys stays while the chip of a product lists it', async () => {
  const list = (keyVersions: object) =>
    administer('PATCH', '//products/1001', { chip: { keyVersions } })
  assert.equal((await list({ '01': 2, C1: 1 })).status, 422, 'chip-dynamic/1 is retired')
  await sql(
    service.database,
    `update hsm_key set state = 'active', retired_at = null
    where key_name = 'chip-dynamic' and key_version = 1`,
  )
  assert.equal((await list({ '01': 2, C1: 1 })).status, 200)
  for (const key of chipKeyNames) {
    const refused = await retire(key)
    assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'], refused.text)
    assert.match(refused.json.detail, /needed: product 1001 lists it/)
  }
  assert.equal((await list({})).status, 200)
  for (const key of chipKeyNames) assert.equal((await retire(key)).status, 204)
  const unknown = await list({ C3: 3 })
  assert.deepEqual(
    unknown.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/chip/keyVersions'],
  )
  assert.match(unknown.json.errors[0].detail, /chip-ac, chip-smc, chip-smi, chip-dynamic/)
})

test('doctor tells which key of chips is missing or behind', async () => {
  const { database } = await openTestService()
  const find = () => chipFindings({ pkcs11: null }, database)
  assert.deepEqual(
    (await find()).map(({ verdict }) => verdict),
    ['good'],
  )
  const list = `update product set chip = jsonb_set(chip, '{keyVersions}', '{"C2": 2}')
    where product_id = 1001`
  await sql(database, list)
  const [missing] = await find()
  assert.equal(missing?.verdict, 'fault')
  assert.match(missing?.found ?? '', /Product 1001 lists version 2 .* chip-ac, chip-smc/)
  for (const key of chipKeyNames) {
    await sql(
      database,
      `insert into hsm_key
         (key_name, key_version, state, key_block, key_check_value, activated_at)
       select key_name, 2, 'active', key_block, key_check_value, now()
       from hsm_key where key_name = $1`,
      [key],
    )
    const behind = (await find()).find(({ verdict }) => verdict === 'warning')
    if (key === chipKeyNames.at(-1)) assert.equal(behind, undefined)
    else assert.match(behind?.found ?? '', /differ: .*chip-dynamic\/1/)
  }
  assert.deepEqual(
    (await find()).map(({ verdict }) => verdict),
    ['good'],
  )
})

test('a version of the PVK does not retire while the PVV in a virtual chip is under it', async () => {
  const [common] = demoProducts
  assert.ok(common)
  await product(service.database, { ...common, productId: 9030, pinRevealable: false })
  await sql(service.database, 'update product set chip = $1::jsonb where product_id = 9030', [
    JSON.stringify({ profile: 'visa-cvn18', ...usualChip }),
  ])
  const card = await service.createCard({ cardType: 'Physical', cardProduct: 9030 })
  const path = `/simulator/cards/${card.publicToken}/chip`
  const makeChip = async () => (await service.call('POST', path, { body: {} })).status
  assert.equal(await makeChip(), 201)
  assert.equal((await administer('POST', '//keys/pvk/rotate')).status, 202)
  await activateKey(service.database, 'pvk', '1 hour')
  await service.keys.hsm.refreshKeys()
  const [pin] = strongPins(card)
  const set = await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
  assert.equal(set.status, 204, set.text)
  const refused = await retire('pvk')
  assert.equal(refused.status, 409, refused.text)
  assert.match(refused.json.detail, /still in use in virtual_chip.pvv/)
  assert.equal(await makeChip(), 201, 'the new chip has the PIN that the card has now')
  const retired = await retire('pvk')
  assert.equal(retired.status, 204, retired.text)
})
