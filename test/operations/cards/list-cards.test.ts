import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { cardStatusCodes } from '../../../src/domain/card-status.ts'
import { listCards } from '../../../src/operations/cards/cards.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()
const caller = { clientId: 'demo-client', requestId: 'test' }

interface Listed {
  readonly publicToken: string
  readonly cardStatusCode: string
  readonly customerReference?: string
}

/** Cards of every status and reference, some of which expired in three months and were not swept. */
async function fill(service: TestService): Promise<void> {
  for (let number = 0; number < 48; number += 1) {
    await service.createCard(number % 3 === 0 ? {} : { customerReference: `C-${number % 3}` })
  }
  await sql(
    service.database,
    `with numbered as (
       select public_token, row_number() over (order by public_token) as number from card
     )
     update card set
       status_code = ($1::text[])[1 + number % 8], start_date = '2026-01-01',
       expiry_date = ($2::date[])[1 + number / 8 % 6], created_at = '2026-02-01'::timestamptz
     from numbered where card.public_token = numbered.public_token`,
    [
      cardStatusCodes,
      ['2030-03-31', '2030-04-30', '2030-05-31', '2030-06-30', '2030-07-31', '2031-01-31'],
    ],
  )
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
