import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expiryMonthsAfter, parseExpiry } from '../../../src/domain/calendar.ts'
import { cardStatusCodes } from '../../../src/domain/card-status.ts'
import { makeProductId } from '../../../src/domain/identifiers.ts'
import { type CardContext, listCards } from '../../../src/operations/cards/cards.ts'
import { createCard } from '../../../src/operations/cards/create-card.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  newCard,
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()
let service: TestService

before(async () => {
  service = await openTestService()
})

const person = (firstName: string, lastName: string) => ({
  cardHolder: { firstName, lastName, dateOfBirth: '1990-04-17' },
})

test('the name on a card is the holder’s in capitals without accents, cut to 26 characters', async () => {
  const names: readonly (readonly [string, string, string])[] = [
    ['Ana', 'Lim', 'ANA LIM'],
    ['Søren', 'Weiß', 'SOREN WEISS'],
    ['Łukasz', 'Ægir', 'LUKASZ AEGIR'],
    ['José María', 'Ñúñez', 'JOSE MARIA NUNEZ'],
    ['Wolfeschlegel', 'Hausenbergerdorff', 'W HAUSENBERGERDORFF'],
    ['Ana', 'A'.repeat(30), `A ${'A'.repeat(24)}`],
    ['李', 'Lim', 'LIM'],
  ]
  for (const [first, last, expected] of names) {
    assert.equal((await service.createCard(person(first, last))).embossName, expected)
  }
  const given = await service.createCard({ ...person('Ana', 'Lim'), nameOnCard: 'THE BOSS' })
  assert.equal(given.embossName, 'THE BOSS')
})

test('a name of which nothing can be embossed needs one for the card', async () => {
  const body = newCard(person('李', '明'))
  const { json, status } = await service.call('POST', '/cards', { body })
  assert.deepEqual(
    [status, json.code, json.errors[0].pointer],
    [422, 'validation_failed', '/nameOnCard'],
  )
  assert.equal((await service.createCard({ ...body, nameOnCard: 'LI MING' })).embossName, 'LI MING')
})

/** Card creation on another day than today. */
const at = (instant: string): CardContext => ({
  ...service.issuing,
  now: () => new Date(instant),
})
const caller = { clientId: 'demo-client', requestId: 'test' }

const createAt = async (instant: string, yearMonth?: string) => {
  const expiry = yearMonth === undefined ? null : parseExpiry(yearMonth)
  const { result } = await createCard(
    at(instant),
    caller,
    {
      cardType: 'Virtual',
      cardProduct: makeProductId(1001),
      ...person('Ana', 'Lim'),
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
      ...(expiry && { expiry }),
    },
    null,
  )
  return result
}

test('a card is valid to the last day of its month, as many months as its product says', async () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['2026-11-20T08:00:00Z', '2026-11-20', '2030-11-30'],
    ['2024-02-29T23:59:59.999Z', '2024-02-29', '2028-02-29'],
    ['2026-12-31T23:30:00-02:00', '2027-01-01', '2031-01-31'],
  ]
  for (const [instant, startDate, expiryDate] of cases) {
    const card = await createAt(instant)
    assert.deepEqual([card.startDate, card.expiryDate], [startDate, expiryDate])
  }
})

test('an expiry date of the client’s choice lies ahead and within the product’s validity', async () => {
  const today = '2026-11-20T08:00:00Z'
  for (const [yearMonth, lastDay] of [
    ['2026-11', '2026-11-30'],
    ['2028-02', '2028-02-29'],
    ['2030-11', '2030-11-30'],
  ] as const) {
    assert.equal((await createAt(today, yearMonth)).expiryDate, lastDay)
  }
  for (const yearMonth of ['2026-10', '2030-12', '2000-01', '9999-12']) {
    await assert.rejects(
      createAt(today, yearMonth),
      (error: { code?: string; errors?: unknown }) => {
        assert.equal(error.code, 'validation_failed')
        return JSON.stringify(error.errors).includes('/expiryDate')
      },
    )
  }
  await assert.rejects(createAt('2026-11-30T00:00:00Z', '2026-11'), { code: 'validation_failed' })
  const latest = expiryMonthsAfter('2026-11-20', 48).yearMonth()
  assert.equal(latest, '2030-11')
})

test('a virtual card starts active and a physical one inactive, unless the client says otherwise', async () => {
  for (const [cardType, activateNow, code] of [
    ['Virtual', undefined, '00'],
    ['Physical', undefined, '02'],
    ['Virtual', false, '02'],
    ['Physical', true, '00'],
  ] as const) {
    const card = await service.createCard({ cardType, activateNow })
    assert.equal(card.cardStatusCode, code, `${cardType} ${activateNow}`)
  }
})

test('a type that the product does not offer is refused, and all that it does not allow at once', async () => {
  const body = newCard({ cardProduct: 1003, cardType: 'Physical', expiryDate: '2001-01' })
  const { json } = await service.call('POST', '/cards', { body })
  assert.deepEqual(
    json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/cardType', '/expiryDate'],
  )
  assert.equal(json.errors[0].detail, 'must be a type that the product offers: Virtual')
})

test('a delivery address is for physical cards alone', async () => {
  const fulfilment = { addressLine1: 'Gran Vía 1', postCode: '28013', country: 'ESP' }
  const body = newCard({ fulfilment })
  const { json, status } = await service.call('POST', '/cards', { body })
  assert.deepEqual([status, json.errors[0].pointer], [422, '/fulfilment'])
  await service.createCard({ fulfilment, cardType: 'Physical' })
})

test('personal data of a cardholder is stored encrypted', async () => {
  const { publicToken } = await service.createCard(person('Zacharias', 'Quillfeather'))
  const [row] = await sql<{ text: string }>(
    service.database,
    'select card::text as "text" from card where public_token = $1',
    [publicToken],
  )
  for (const text of ['Zacharias', 'QUILLFEATHER', '1990-04-17', 'Mayor']) {
    assert.ok(!row?.text.includes(text))
    assert.ok(!row?.text.includes(Buffer.from(text).toString('hex')))
  }
})

test('a number that is taken is drawn again, and a BIN that is full makes no card and no row', async () => {
  const { hsm } = service.issuing
  const taken = await hsm.generateCardNumber('400000', 'cvk')
  let draws = 0
  const drawing = (fresh: number): CardContext => ({
    ...service.issuing,
    hsm: {
      ...hsm,
      generateCardNumber: async (bin, cvk) => {
        draws += 1
        return draws <= fresh ? taken : hsm.generateCardNumber(bin, cvk)
      },
    },
  })
  const create = (operations: CardContext) =>
    createCard(operations, caller, { ...newCard(), cardType: 'Virtual' } as never, null)
  const first = await create(drawing(1))
  assert.equal(first.result.publicToken, taken.publicToken)
  draws = 0
  const second = await create(drawing(3))
  assert.deepEqual([draws, second.result.publicToken === taken.publicToken], [4, false])
  const counted = () =>
    sql(
      service.database,
      `select (select count(*)::int from card) as cards,
         (select count(*)::int from pan_fingerprint) as pans`,
    )
  const before = await counted()
  draws = 0
  await assert.rejects(create(drawing(Number.POSITIVE_INFINITY)), /No number is free/)
  assert.deepEqual(await counted(), before)
  assert.equal(before[0]?.cards, before[0]?.pans)
})

interface Listed {
  readonly publicToken: string
  readonly cardStatusCode: string
  readonly customerReference?: string
}

/**
 * Cards of every status and reference, some of which expired in three months and were not swept.
 */
async function fill(service: TestService): Promise<void> {
  for (let number = 0; number < 48; number += 1) {
    await service.createCard(number % 3 === 0 ? {} : { customerReference: `C-${number % 3}` })
  }
  const cards = await sql<{ publicToken: string }>(
    service.database,
    'select public_token as "publicToken" from card order by public_token',
  )
  const expiries = [
    '2030-03-31',
    '2030-04-30',
    '2030-05-31',
    '2030-06-30',
    '2030-07-31',
    '2031-01-31',
  ]
  for (const [at, { publicToken }] of cards.entries()) {
    const [status, expiry] = [(at + 1) % 8, Math.floor((at + 1) / 8) % 6]
    await sql(
      service.database,
      `update card set status_code = $2,
         status_before_expiry = case when $2 = '54' then '00' end, start_date = '2026-01-01', expiry_date = $3::date,
         created_at = '2026-02-01'::timestamptz
       where public_token = $1`,
      [publicToken, cardStatusCodes[status] ?? '00', expiries[expiry] ?? ''],
    )
  }
}

/** All pages of a filter, one after the other. */
async function readPages(
  { issuing }: TestService,
  filter: Pick<Parameters<typeof listCards>[2], 'customerReference' | 'statusCode'>,
  limit: number,
): Promise<Listed[]> {
  const at = { ...issuing, now: () => new Date('2030-06-15T08:00:00Z') }
  const found: Listed[] = []
  let after: Parameters<typeof listCards>[2]['after'] = null
  do {
    const { cards, next } = await listCards(at, caller, { ...filter, after, limit })
    assert.ok(next === null || cards.length === limit, 'only the last page is short')
    found.push(...cards)
    after = next
  } while (after)
  return found
}

async function assertFiltersAgree(service: TestService): Promise<void> {
  const all = await readPages(service, { customerReference: null, statusCode: null }, 100)
  assert.equal(all.length, 48)
  for (const customerReference of [null, 'C-1', 'nobody']) {
    for (const statusCode of [null, ...cardStatusCodes]) {
      const expected = all.filter(
        (card) =>
          (customerReference === null || card.customerReference === customerReference) &&
          (statusCode === null || card.cardStatusCode === statusCode),
      )
      for (const limit of [2, 100]) {
        const found = await readPages(service, { customerReference, statusCode }, limit)
        assert.deepEqual(found, expected, `${customerReference} ${statusCode} by ${limit}`)
      }
    }
  }
}

let embedded: TestService

before(async () => {
  embedded = await openTestService()
  await fill(embedded)
})

const title =
  'every filter finds a card by the status that holds now, swept or not, each once in one order'

test(title, () => assertFiltersAgree(embedded))

test(`${title}, on a PostgreSQL server`, { skip: postgres.leftOut }, async () => {
  const { database } = await openServerDatabase(postgres)
  const service = await openTestService({ database })
  await fill(service)
  await assertFiltersAgree(service)
})
