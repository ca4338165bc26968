import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { advanceKeys } from '../../../src/operations/keys/rotate.ts'
import { keyJobs, startJobs } from '../../../src/service/background.ts'
import { createLog } from '../../../src/service/log.ts'
import { insertCard, type NewCardRow } from '../../../src/storage/cards/create-card.ts'
import type { PanFingerprintColumns } from '../../../src/storage/cards/keys-of-cards.ts'
import { findGrantedProduct } from '../../../src/storage/products/products.ts'
import { activateKey } from '../../support/builders.ts'
import { chippedCard } from '../../support/chip.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { ask, cvvTry, type IssuedCard, issueCard, pinTry } from '../../support/network.ts'
import {
  newCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { type Administer, keyStates, subjectOf } from './rotating.ts'

let service: TestService
let administer: Administer
let keeping: ReturnType<typeof startJobs> | undefined
let oldCard: IssuedCard
let oldSealed: IssuedCard

before(async () => {
  service = await openTestService({ env: { KEY_REFRESH_MS: '150', RATE_LIMIT: 'off' } })
  administer = subjectOf(service).administer
  keeping = startJobs(keyJobs(service.keys), createLog('silent'))
  oldCard = await issueCard(service)
  oldSealed = await issueCard(service, { cardProduct: 1002 })
})

after(() => keeping?.stop())

const stateOf = async (key: string, version: number) =>
  (await keyStates(administer)).find((row) => row.key === key && row.version === version)?.state

const untilState = (key: string, version: number, state: string): Promise<void> =>
  until(async () => (await stateOf(key, version)) === state)

const rotate = async (key: string): Promise<number> => {
  const { json, status, text } = await administer('POST', `//keys/${key}/rotate`)
  assert.equal(status, 202, text)
  return json.version
}

test('the list tells use, state and check value of every key, and no key block', async () => {
  const { json, text } = await administer('GET', '//keys')
  const pan = json.find((row: { key: string }) => row.key === 'pan')
  assert.deepEqual(
    [pan.keyUsage, pan.algorithm, pan.modeOfUse, pan.exportability, pan.state, pan.checkMethod],
    ['D0', 'A', 'B', 'N', 'active', 'CMAC'],
  )
  assert.match(pan.keyCheckValue, /^[0-9A-F]{10}$/)
  const blocks = await sql<{ block: string }>(
    service.database,
    'select key_block as block from hsm_key',
  )
  for (const { block } of blocks) assert.ok(!text.includes(block.slice(20, 60)))
})

test('only the administrator reaches the keys, and only on the private listener', async () => {
  const network = await service.call('GET', '//keys', { as: 'network', listener: 'private' })
  assert.equal(network.json.code, 'insufficient_scope')
  assert.equal((await service.call('GET', '//keys', { token: null })).status, 404)
})

test('cards keep the CVK and PVK that they were issued with; new ones get the new', async () => {
  assert.equal(await rotate('cvk'), 2)
  assert.equal(await rotate('pvk'), 2)
  assert.equal(await stateOf('cvk', 2), 'pending')
  await untilState('cvk', 2, 'active')
  await untilState('pvk', 2, 'active')
  const fresh = await issueCard(service)
  const sealed = await issueCard(service, { cardProduct: 1002 })
  const [row] = await sql(service.database, 'select cvk from card where public_token = $1', [
    fresh.publicToken,
  ])
  assert.equal(row?.cvk, 'cvk/2')
  for (const card of [oldCard, oldSealed, fresh, sealed]) {
    assert.equal((await ask(service, cvvTry(card))).json.responseCode, '00')
    assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '00')
  }
  for (const path of ['//keys/cvk/versions/1/retire', '//keys/pvk/versions/1/retire']) {
    const refused = await administer('POST', path)
    assert.deepEqual([refused.status, refused.json.code], [409, 'key_in_use'])
    assert.match(refused.json.detail, /still in use in card\./)
  }
})

test('a repeated request is recognised, and a different one still refused, across a rotation', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = newCard()
  const first = await service.call('POST', '/cards', { body, headers })
  await rotate('request-fingerprint')
  await untilState('request-fingerprint', 2, 'active')
  const again = await service.call('POST', '/cards', { body, headers })
  assert.deepEqual([again.status, again.json], [201, first.json])
  assert.equal(again.headers['idempotency-replayed'], 'true')
  const other = await service.call('POST', '/cards', { body: newCard({ designId: 'x' }), headers })
  assert.equal(other.json.code, 'idempotency_key_reused')
  await advanceKeys(service.keys)
  assert.equal(await stateOf('request-fingerprint', 1), 'active')
  await activateKey(service.database, 'request-fingerprint', '25 hours')
  await untilState('request-fingerprint', 1, 'retired')
})

const likeCreated = `select client_id as "clientId", product_id as "productId", card_type as "cardType",
    customer_reference as "customerReference", design_id as "designId", masked_pan as "maskedPan",
    encrypted_pan as "encryptedPan", personal_data as "personalData", start_date as "startDate",
    expiry_date as "expiryDate", status_code as "statusCode", pin_block as "pinBlock", pvv,
    pin_key as "pinKey", cvk, 3 as "pinTryLimit", 3 as "cvvTryLimit"
  from card limit 1`

test('a PAN that was issued under one version of its fingerprint is taken under every other', async () => {
  const other = await openTestService({ env: { KEY_REFRESH_MS: '150' } })
  const { hsm } = other.issuing
  await other.createCard()
  const { administer: administerOther } = subjectOf(other)
  const before = await hsm.generateCardNumber('400000', 'cvk')
  assert.equal((await administerOther('POST', '//keys/pan-fingerprint/rotate')).status, 202)
  await other.keys.hsm.refreshKeys()
  // Whoever knows the pending version takes both: the older one finds what it has not seen yet.
  const after = await hsm.generateCardNumber('400000', 'cvk')
  assert.deepEqual(
    after.panFingerprints.map(({ keyVersion }) => keyVersion),
    [1, 2],
  )
  assert.deepEqual(
    before.panFingerprints.map(({ keyVersion }) => keyVersion),
    [1],
  )
  const [card] = await sql<NewCardRow>(other.database, likeCreated)
  if (!card) throw new Error('There is no card.')
  const product = await findGrantedProduct(other.database, card.clientId, card.productId)
  const productVersion = product?.version ?? ''
  const createUnder = (
    panFingerprints: readonly PanFingerprintColumns[],
    publicToken: PublicToken,
  ) => {
    const common = { type: 'card.created', requestId: null, details: {}, note: null } as const
    const numbered = {
      card,
      event: { ...common, publicToken },
      panFingerprints,
      productVersion,
      claim: null,
    }
    return insertCard(other.database, numbered)
  }
  const both = await other.keys.hsm.panFingerprints(before)
  assert.equal(await createUnder(before.panFingerprints, before.publicToken), true)
  assert.equal(await createUnder(both, parsePublicToken('9999999999')), false)
  const [row] = await sql<{ count: number }>(
    other.database,
    `select count(*)::int as count from pan_fingerprint where public_token = '9999999999'`,
  )
  assert.equal(row?.count, 0)
})

test('a version is forgotten only when it is retired and nothing is under it', async () => {
  const active = await administer('POST', '//keys/pan/versions/1/delete')
  assert.deepEqual([active.status, active.json.code], [409, 'key_in_use'])
  await rotate('pan')
  const second = await administer('POST', '//keys/pan/rotate')
  assert.equal(second.status, 202, 'until it is active, it is the one that is rotated to')
  assert.equal(second.json.version, 2)
  await untilState('pan', 2, 'active')
  const moving = await administer('POST', '//keys/pan/rotate')
  assert.equal(moving.json.code, 'key_in_use')
  await untilState('pan', 1, 'retired')
  const [card] = await sql<{ token: string; sealed: Uint8Array }>(
    service.database,
    'select public_token as token, encrypted_pan as sealed from card limit 1',
  )
  assert.ok(card)
  const under1 = Buffer.from(card.sealed)
  under1.writeUInt16BE(1)
  const put = (sealed: Uint8Array) =>
    sql(service.database, 'update card set encrypted_pan = $2 where public_token = $1', [
      card.token,
      sealed,
    ])
  await put(under1)
  assert.equal((await administer('POST', '//keys/pan/versions/1/delete')).json.code, 'key_in_use')
  await put(card.sealed)
  await sql(
    service.database,
    `update hsm_key set retired_at = now() where key_name = 'pan' and key_version = 1`,
  )
  const early = await administer('POST', '//keys/pan/versions/1/delete')
  assert.equal(
    early.json.code,
    'key_in_use',
    'a request may run that read a row before it was moved',
  )
  assert.match(early.json.detail, /must have been retired for 4.5 seconds/)
  await sql(
    service.database,
    `update hsm_key set retired_at = now() - interval '5 seconds'
     where key_name = 'pan' and key_version = 1`,
  )
  assert.equal((await administer('POST', '//keys/pan/versions/1/delete')).status, 204)
  assert.equal(await stateOf('pan', 1), undefined)
  assert.equal((await administer('POST', '//keys/pan/versions/1/delete')).status, 404)
})

test('a row that does not open keeps its own key from retiring, and no other', async () => {
  const broken = await issueCard(service)
  const put = (sealed: Uint8Array) =>
    sql(service.database, 'update card set personal_data = $2 where public_token = $1', [
      broken.publicToken,
      sealed,
    ])
  const [card] = await sql<{ sealed: Uint8Array }>(
    service.database,
    'select personal_data as sealed from card where public_token = $1',
    [broken.publicToken],
  )
  assert.ok(card)
  await put(Uint8Array.from(card.sealed, (byte, at) => (at === 20 ? byte ^ 1 : byte)))
  // A PIN that waits for its chip is moved, too, and that in a virtual chip.
  const chipped = await chippedCard(service)
  const { publicToken } = chipped
  const [pin] = strongPins(chipped)
  await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  const chip = `/simulator/cards/${publicToken}/chip`
  assert.equal((await service.call('POST', chip, { body: {} })).status, 201)
  for (const key of ['personal-data', 'pin-storage']) await rotate(key)
  await untilState('pin-storage', 1, 'retired')
  const [moved] = await sql(
    service.database,
    `select chip_command.pin_key as waiting, virtual_chip.pin_key as "inChip"
     from chip_command
     join virtual_chip using (public_token)
     where public_token = $1`,
    [publicToken],
  )
  assert.deepEqual(moved, { waiting: 'pin-storage/2', inChip: 'pin-storage/2' })
  const body = { amount: 100, currency: 'EUR', pin }
  const { json, text } = await service.call('POST', `${chip}/transactions`, { body })
  assert.equal(json.offlinePin, 'right', text)
  await advanceKeys(service.keys).catch(() => undefined)
  assert.equal(await stateOf('personal-data', 1), 'active')
  await put(card.sealed)
  await untilState('personal-data', 1, 'retired')
})

test('every act on a key is on record, with who asked for it', async () => {
  const { json } = await administer('GET', '//keys/acts')
  const told = json.map(
    (row: { act: string; key: string; clientId: string }) =>
      `${row.key} ${row.act} ${row.clientId}`,
  )
  for (const line of [
    'pan/2 rotation begun demo-admin',
    'pan/2 activated null',
    'pan/1 retired null',
    'pan/1 deleted demo-admin',
  ]) {
    assert.ok(told.includes(line), `${line} is not among ${told.join(', ')}`)
  }
})

test('a signing key is published before it signs, and verifies until its last token has expired', async () => {
  const published = async () => {
    const { json } = await service.call('GET', '//oauth/jwks', { token: null })
    return json.keys.map(({ kid }: { kid: string }) => kid)
  }
  const kidOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
  const read = (token: string) => service.call('GET', '/products', { token })
  const old = await service.token('cards.read')
  await rotate('token-signing')
  await until(async () => (await published()).length === 2)
  assert.deepEqual(await published(), ['token-signing-1', 'token-signing-2'])
  assert.equal(kidOf(await service.token('pin.read')), 'token-signing-1')
  await untilState('token-signing', 2, 'active')
  const fresh = await service.token('cards.read pin.read')
  assert.equal(kidOf(fresh), 'token-signing-2')
  assert.deepEqual([(await read(old)).status, (await read(fresh)).status], [200, 200])
  await activateKey(service.database, 'token-signing', '2 hours')
  const retired = async () => (await published()).join() === 'token-signing-2'
  await until(retired)
  assert.deepEqual([(await read(old)).status, (await read(fresh)).status], [401, 200])
})
