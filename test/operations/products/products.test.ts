import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { usualChip } from '../../../src/domain/product-chip.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { withoutIds } from '../../support/identifiers.ts'
import {
  type Answer,
  newCard,
  openTestDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { administerOf, newProduct } from '../clients/administer.ts'

let service: TestService
let administer: ReturnType<typeof administerOf>

before(async () => {
  service = await openTestService()
  administer = administerOf(service)
})

const pointers = ({ json }: Answer): string[] =>
  json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()

test('a product that an administrator makes and grants can be issued at once', async () => {
  const created = await administer('POST', '/products', newProduct())
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers.location, '/products/5001')
  assert.deepEqual(created.json, {
    ...newProduct(),
    validityMonths: 48,
    pinLength: 4,
    pinRevealable: true,
    refuseWeakPins: true,
    renewalType: 'Manual',
    renewalEarliestDays: 90,
    renewalLeadDays: 45,
    renewalGraceMonths: 3,
    pinTryLimit: 3,
    cvvTryLimit: 3,
    cvk: 'cvk',
    pvk: 'pvk',
    active: true,
    chip: null,
  })
  assert.deepEqual((await administer('GET', '/products/5001')).json, created.json)
  const body = newCard({ cardProduct: 5001 })
  const before = await service.call('POST', '/cards', { body })
  assert.equal(before.json.code, 'product_not_available')
  const granted = await administer('GET', '/clients/demo-client')
  const productIds = [...granted.json.productIds, 5001]
  assert.equal((await administer('PATCH', '/clients/demo-client', { productIds })).status, 200)
  const card = await service.createCard({ cardProduct: 5001 })
  assert.match(card.maskedPan, /^450000/)
})

test('an invalid product is refused with every reason at once, of its form and of its rules', async () => {
  const answer = await administer('POST', '/products', {
    productId: 1001,
    productName: '4000 0000 0000 0002',
    schemeName: 7,
    bin: '40000',
    currencyCode: 'eur',
    cardTypes: ['Virtual', 'Wooden'],
    validityMonths: 0,
    pinLength: 6,
    pinRevealable: false,
    pinTryLimit: 16,
    cvvTryLimit: 0,
    cvk: 'zone-a',
    pvk: 'pvk/1',
    active: 'yes',
    colour: 'blue',
  })
  assert.equal(answer.status, 422)
  assert.deepEqual(pointers(answer), [
    '/active',
    '/bin',
    '/cardTypes',
    '/colour',
    '/currencyCode',
    '/cvk',
    '/cvvTryLimit',
    '/pinLength',
    '/pinTryLimit',
    '/productId',
    '/productName',
    '/pvk',
    '/schemeName',
    '/validityMonths',
  ])
  assert.ok(!withoutIds(answer.text).includes('0002'), 'nothing that was sent is repeated')
  const empty = await administer('POST', '/products', {})
  assert.deepEqual(pointers(empty), [
    '/bin',
    '/cardTypes',
    '/currencyCode',
    '/productId',
    '/productName',
    '/schemeName',
  ])
})

test('a BIN that holds, or lies within, that of another product is refused', async () => {
  for (const bin of ['40000012', '400000', '400001']) {
    const answer = await administer('POST', '/products', newProduct({ productId: 6000, bin }))
    assert.deepEqual([answer.status, ...pointers(answer)], [422, '/bin'], bin)
    assert.match(answer.json.errors[0].detail, /product 100[12]$/)
  }
})

test('what the cards of a product were made by cannot change; all else can', async () => {
  await administer('POST', '/products', newProduct({ productId: 5100, bin: '45100012' }))
  const free = await administer('PATCH', '/products/5100', { bin: '45100099', pinLength: 6 })
  assert.deepEqual([free.status, free.json.bin, free.json.pinLength], [200, '45100099', 6])
  await administer('PATCH', '/clients/demo-other-client', { productIds: [2001, 5100] })
  await service.createCard({ cardProduct: 5100 }, { as: 'otherClient' })
  const refused = await administer('PATCH', '/products/5100', {
    bin: '45100012',
    pinLength: 4,
    currencyCode: 'USD',
    pinTryLimit: 99,
  })
  assert.deepEqual(pointers(refused), ['/bin', '/currencyCode', '/pinLength', '/pinTryLimit'])
  const changes = { pinTryLimit: 5, productName: 'Six Digits', validityMonths: 24 }
  const changed = await administer('PATCH', '/products/5100', changes)
  assert.equal(changed.status, 200)
  const card = await service.createCard({ cardProduct: 5100 }, { as: 'otherClient' })
  const status = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`, {
    as: 'otherClient',
  })
  assert.equal(status.json.remainingTries, 5)
})

test('a chip has the usual settings unless others are chosen, and keeps those that are not named', async () => {
  const members = { productId: 5110, bin: '45110012', cardTypes: ['Physical', 'Virtual'] }
  const chip = { profile: 'visa-cvn10', atcWindow: 0 }
  const created = await administer('POST', '/products', newProduct({ ...members, chip }))
  assert.deepEqual(created.json.chip, { ...usualChip, ...chip }, created.text)
  const { json } = await administer('PATCH', '/products/5110', { chip: { fallback: 'record' } })
  assert.deepEqual(json.chip, { ...usualChip, ...chip, fallback: 'record' })
  assert.deepEqual((await administer('GET', '/products/5110')).json, json)
  const listed = await service.call('GET', '/products')
  assert.ok(!listed.text.includes('chip'), 'clients see no chip')
})

test('a chip that is sent again is no change, whatever the order of its members', async () => {
  const chip = { profile: 'visa-cvn18', ...usualChip, keyVersions: { '0A': 1, '01': 1 } }
  const members = { productId: 5114, bin: '45114012', cardTypes: ['Physical'], chip }
  await administer('POST', '/products', newProduct(members))
  const reversed = Object.fromEntries(Object.entries(chip).reverse())
  const keyVersions = { '01': 1, '0A': 1 }
  await administer('PATCH', '/products/5114', { chip: { ...reversed, keyVersions } })
  const findDetails = async () => {
    const [act] = await sql<{ details: string }>(
      service.database,
      `select details from audit_act where subject = '5114' order by number desc limit 1`,
    )
    return JSON.parse(act?.details ?? '')
  }
  assert.deepEqual(await findDetails(), { before: {}, after: {} })
  await administer('PATCH', '/products/5114', { chip: { keyVersions: { '01': 1 } } })
  const less = { ...chip, keyVersions: { '01': 1 } }
  assert.deepEqual(await findDetails(), { before: { chip }, after: { chip: less } })
})

test('an impossible chip is refused with every reason', async () => {
  const physical = { productId: 5111, bin: '45110013', cardTypes: ['Physical'] }
  const refuse = async (members: object) => {
    const answer = await administer('POST', '/products', newProduct({ ...physical, ...members }))
    assert.equal(answer.status, 422, answer.text)
    return pointers(answer)
  }
  const profile = 'visa-cvn10'
  assert.deepEqual(await refuse({ chip: {} }), ['/chip/profile'])
  assert.deepEqual(await refuse({ chip: { profile: 'visa-cvn99' } }), ['/chip/profile'])
  assert.deepEqual(await refuse({ chip: { profile }, cardTypes: ['Virtual'] }), ['/chip'])
  const strange = { missingData: 'ignore', atcWindow: 64, atcJump: 0, colour: 'blue' }
  assert.deepEqual(await refuse({ chip: { profile, ...strange } }), [
    '/chip/atcJump',
    '/chip/atcWindow',
    '/chip/colour',
    '/chip/missingData',
  ])
  assert.deepEqual(await refuse({ chip: { profile, keyVersions: { c1: 1 } } }), [
    '/chip/keyVersions',
  ])
  assert.deepEqual(await refuse({ chip: 'visa-cvn10' }), ['/chip'])
  assert.deepEqual(await refuse({ chip: { profile: ['visa-cvn10'] } }), ['/chip/profile'])
})

test('chips in the field cannot be removed from their product, nor get another profile', async () => {
  const members = { productId: 5112, bin: '45110014', cardTypes: ['Physical', 'Virtual'] }
  await administer('POST', '/products', newProduct({ ...members, chip: { profile: 'cpa' } }))
  const change = (chip: object | null) => administer('PATCH', '/products/5112', { chip })
  assert.equal((await change({ profile: 'visa-cvn22' })).status, 200, 'no cards exist')
  await administer('PUT', '/clients/demo-client/products/5112')
  await service.createCard({ cardProduct: 5112, cardType: 'Physical' })
  assert.deepEqual(pointers(await change({ profile: 'cpa' })), ['/chip/profile'])
  const kept = await change({ profile: 'visa-cvn22', atcJump: 7 })
  assert.deepEqual([kept.status, kept.json.chip.atcJump], [200, 7])
  assert.deepEqual(pointers(await change(null)), ['/chip'])
})

test('a chip is added only with its profile, so that the product stays readable', async () => {
  const members = { productId: 5113, bin: '45110015', cardTypes: ['Physical'] }
  await administer('POST', '/products', newProduct(members))
  for (const chip of [{}, { keyVersions: {} }, { atcJump: 5 }]) {
    const refused = await administer('PATCH', '/products/5113', { chip })
    assert.deepEqual([refused.status, ...pointers(refused)], [422, '/chip/profile'])
    assert.match(refused.json.errors[0].detail, /^must be given/)
  }
  assert.equal((await administer('GET', '/products/5113')).json.chip, null)
  const storing = sql(
    service.database,
    `update product set chip = '{"atcJump": 5}' where product_id = 5113`,
  )
  await assert.rejects(storing, /product_chip_check/, 'the table refuses it, too')
})

test('a retired product has no new cards, and those that it has live on', async () => {
  const card = await service.createCard({ cardProduct: 1003 })
  const retired = await administer('PATCH', '/products/1003', { active: false })
  assert.deepEqual([retired.status, retired.json.active], [200, false])
  const refused = await service.call('POST', '/cards', { body: newCard({ cardProduct: 1003 }) })
  assert.deepEqual([refused.status, refused.json.code], [422, 'product_not_available'])
  const pin = await service.call('GET', `/card-pin/${card.publicToken}/pin`)
  assert.match(pin.json.pin, /^[0-9]{6}$/)
  await administer('PATCH', '/products/1003', { active: true })
  assert.equal((await service.createCard({ cardProduct: 1003 })).cardProduct, 1003)
})

test('a request that is sent twice under one key has one effect, and its act is on record once', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = newProduct({ productId: 5200, bin: '45200012' })
  const first = await administer('POST', '/products', body, headers)
  const again = await administer('POST', '/products', body, headers)
  assert.deepEqual([again.status, again.json], [201, first.json])
  assert.equal(again.headers['idempotency-replayed'], 'true')
  const change = { 'idempotency-key': randomUUID() }
  await administer('PATCH', '/products/5200', { active: false }, change)
  await administer('PATCH', '/products/5200', { active: false }, change)
  const { json } = await administer('GET', '/acts')
  const acts = json.filter(({ subject }: { subject: string }) => subject === '5200')
  assert.deepEqual(
    acts.map(({ act, clientId }: { act: string; clientId: string }) => [act, clientId]),
    [
      ['retired', 'demo-admin'],
      ['created', 'demo-admin'],
    ],
  )
  assert.deepEqual(acts[0].details, { before: { active: true }, after: { active: false } })
})

test('a refused change leaves no act', async () => {
  const before = (await administer('GET', '/acts')).json.length
  await administer('PATCH', '/products/1001', { pinTryLimit: 0 })
  await administer('PATCH', '/products/9999', { pinTryLimit: 1 })
  assert.equal((await administer('GET', '/acts')).json.length, before)
})

test('products and acts are listed page by page, none missing and none twice', async () => {
  for (const path of ['/products', '/acts']) {
    const whole = (await administer('GET', path)).json
    const seen: unknown[] = []
    let next: string | undefined = `${path}?limit=2`
    while (next) {
      const page: Answer = await administer('GET', next)
      seen.push(...page.json)
      next = /<([^>]+)>/.exec(String(page.headers.link ?? ''))?.[1]
    }
    assert.ok(whole.length > 4)
    assert.deepEqual(seen, whole)
  }
})

test('what names no product is not there', async () => {
  for (const id of ['0', '1x', '99999999999', '4294967297', '7']) {
    assert.equal((await administer('GET', `/products/${id}`)).status, 404, id)
    assert.equal((await administer('PATCH', `/products/${id}`, { active: true })).status, 404, id)
  }
})

test('a product that is changed while a card is made of it has the card made by what it is then', async () => {
  const database = await openTestDatabase()
  let change: (() => Promise<void>) | null = null
  const changing: Database = {
    ...database,
    async change(shared, subject, values) {
      const now = shared.one.name.startsWith('create_card') ? change : null
      if (now) change = null
      await now?.()
      return database.change(shared, subject, values)
    },
  }
  const other = await openTestService({ database: changing })
  const administerOther = administerOf(other)
  await administerOther('POST', '/products', newProduct())
  await administerOther('PATCH', '/clients/demo-client', { productIds: [5001] })
  change = async () => {
    const members = { bin: '45000099', pinLength: 6 }
    assert.equal((await administerOther('PATCH', '/products/5001', members)).status, 200)
  }
  const { publicToken } = await other.createCard({ cardProduct: 5001 })
  assert.equal((await other.call('GET', `/card-pin/${publicToken}/pin`)).json.pin.length, 6)
  change = async () => {
    await administerOther('PATCH', '/clients/demo-client', { productIds: [1001] })
  }
  const body = newCard({ cardProduct: 5001 })
  assert.equal((await other.call('POST', '/cards', { body })).json.code, 'product_not_available')
})
