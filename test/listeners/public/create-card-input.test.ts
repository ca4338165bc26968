import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { formatDate } from '../../../src/domain/calendar.ts'
import { newCard, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

const holder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
const address = { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' }
const pan = '4000001234567899'

const tomorrow = (): string => formatDate(new Date(Date.now() + 86_400_000))

/** Values that are refused, each at its pointer. */
const refused: readonly (readonly [string, unknown, unknown?])[] = [
  ['/cardType', 'Plastic'],
  ['/cardType', 1],
  ['/cardProduct', '1001'],
  ['/cardProduct', 1001.5],
  ['/cardProduct', 0],
  ['/cardProduct', 2_147_483_648],
  ['/cardProduct', null],
  ['/activateNow', 'true'],
  ['/nameOnCard', 'Ana Lim'],
  ['/nameOnCard', ''],
  ['/nameOnCard', 'A'.repeat(27)],
  ['/nameOnCard', '.-/'],
  ['/nameOnCard', pan],
  ['/customerReference', 'a'.repeat(26)],
  ['/customerReference', ''],
  ['/customerReference', pan],
  ['/customerReference', '4000 0012 3456 7899 x'],
  ['/customerReference', '4000-0012-3456-7899'],
  ['/customerReference', 'a\u0000b'],
  ['/customerReference', 7],
  ['/designId', pan],
  ['/designId', 'a'.repeat(51)],
  ['/expiryDate', '2030-13'],
  ['/expiryDate', '2030-1'],
  ['/expiryDate', '2030-11-30'],
  ['/expiryDate', 203011],
  ...['Ana 💳', 'A\u0007na', 'A\u0000na', 'A\ud800na', '', ' ', '123', 'A'.repeat(31), 7, null].map(
    (name) => ['/cardHolder/firstName', name] as const,
  ),
  ['/cardHolder/lastName', 'L\u202eim'],
  ['/cardHolder/title', 'Doctor'],
  ['/cardHolder/mobile', '+34 600 123 456 78'],
  ['/cardHolder/mobile', 'none'],
  ['/cardHolder/email', 'ana'],
  ['/cardHolder/email', 'a@b\u0000'],
  ...['2027-02-29', '1990-02-30', '1990-13-01', '90-01-01', '1990-4-17', '', 19900417].map(
    (date) => ['/cardHolder/dateOfBirth', date] as const,
  ),
  ['/cardHolder/dateOfBirth', tomorrow()],
  ['/cardHolder/age', 36],
  ...['ES', 'esp', 'XXX', 'ZZZ', '', 724].map((code) => ['/address/country', code] as const),
  ['/address/addressLine1', 'a'.repeat(101)],
  ['/address/addressLine1', 'a\nb'],
  ['/address/addressLine1', '\udc00'],
  ['/address/postCode', '12345678901'],
  ['/address/postCode', 28013],
  ['/address/county', 'a'.repeat(21)],
  ['/address/planet', 'Earth'],
]

const withValue = (pointer: string, value: unknown): Record<string, unknown> => {
  const [, first = '', second] = pointer.split('/')
  const parts: Record<string, object> = { cardHolder: holder, address }
  return newCard({ [first]: second ? { ...parts[first], [second]: value } : value })
}

const cards = async (): Promise<unknown> =>
  (await sql(service.database, 'select count(*)::int as n from card'))[0]?.n

test('every value that breaks a rule is refused at its own pointer, and no card is made', async () => {
  const before = await cards()
  for (const [pointer, value] of refused) {
    const { json, status } = await service.call('POST', '/cards', {
      body: withValue(pointer, value),
    })
    assert.deepEqual([status, json.code], [422, 'validation_failed'], `${pointer} ${value}`)
    const pointers = new Set(json.errors.map((error: { pointer: string }) => error.pointer))
    assert.deepEqual([...pointers], [pointer], `${pointer} ${JSON.stringify(value)}`)
    const text = String(value)
    if (text.length > 6) assert.ok(!JSON.stringify(json).includes(text), text)
  }
  assert.equal(await cards(), before)
})

test('all that is wrong is told at once', async () => {
  const body = {
    cardType: 'Plastic',
    cardProduct: 'x',
    cardHolder: { firstName: '💳', lastName: 'Lim', dateOfBirth: 'never', middle: 'x' },
    address: { addressLine1: '', country: 'XX' },
    extra: 1,
  }
  const { json } = await service.call('POST', '/cards', { body })
  assert.deepEqual(json.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/address/addressLine1',
    '/address/country',
    '/address/postCode',
    '/cardHolder/dateOfBirth',
    '/cardHolder/firstName',
    '/cardHolder/middle',
    '/cardProduct',
    '/cardType',
    '/extra',
  ])
})

test('a card without any of the required members is told all of them', async () => {
  const { json } = await service.call('POST', '/cards', { body: {} })
  assert.deepEqual(json.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/address',
    '/cardHolder',
    '/cardProduct',
    '/cardType',
  ])
})

test('what the rules allow at their edges is taken as it is', async () => {
  const members = {
    cardType: 'PHYSICAL',
    cardHolder: {
      title: 'Dr.',
      firstName: 'Ж'.repeat(30),
      middleName: 'de la',
      lastName: "O'Brien-Łukasz",
      dateOfBirth: '2024-02-29',
      mobile: '+34 600 123 456',
      email: 'ana@example.test',
    },
    address: { ...address, addressLine1: '💳'.repeat(100), country: 'XKX', county: 'a'.repeat(20) },
    fulfilment: address,
    customerReference: 'a'.repeat(25),
    designId: 'b'.repeat(50),
    nameOnCard: "A & B / C. D-E'F 012345678",
  }
  const card = await service.createCard(members)
  assert.equal(card.embossName, members.nameOnCard)
  assert.equal(card.customerReference, members.customerReference)
  assert.deepEqual([card.cardType, card.status], ['Physical', 'Inactive'])
})
