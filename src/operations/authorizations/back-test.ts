import * as testing from '../../domain/back-test.ts'
import type { Requester } from '../../domain/client.ts'
import * as rules from '../../domain/controls.ts'
import { type ControlsInForce, nothingSpent } from '../../domain/decide-controls.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { prepareControls } from '../../domain/prepared-controls.ts'
import { Problem } from '../../domain/problem.ts'
import * as stored from '../../storage/authorizations/decided-again.ts'
import { findControlsInForce } from '../../storage/cards/controls.ts'
import type { Database } from '../../storage/engine/database.ts'
import { findProduct } from '../../storage/products/products.ts'
import * as pages from './recorded-pages.ts'

interface BackTestContext {
  readonly database: Database
}

/** A draft of controls, and the period whose authorizations it decides again. */
interface Draft<Members> extends pages.Period {
  readonly controls: Members
}

/**
 * Decides the recorded authorizations of the requester's card again, under a draft of the card's
 * controls and the present controls of its product. Nothing is changed.
 * @throws `Problem` `card_not_found`; `validation_failed` for a period that is empty or too long;
 *   `unavailable` while another back-test runs in this process.
 */
export async function backTestCard(
  { database }: BackTestContext,
  { clientId }: Requester,
  publicToken: PublicToken,
  { controls, from, to }: Draft<rules.ControlsMembers>,
  bounds: pages.ReadingBounds,
): Promise<testing.BackTestAnswer> {
  const range = pages.toIdRange({ from, to })
  const card = await findControlsInForce(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  const inForce = { ...card.inForce, card: rules.completeControls(controls) }
  const tested = { controls: prepareControls(inForce), spending: nothingSpent }
  const reading = pages.countReading(bounds)
  const result = await runAlone(async () => {
    const test = testing.beginBackTest()
    const list = (next: stored.IdRange) => stored.listDecidedOfCard(database, publicToken, next)
    for await (const page of pages.readPages(list, range)) {
      reading.note(page.length, 0)
      for (const row of page) test.decide(tested, pages.toRecordedDecision(row))
    }
    return test.summarize()
  })
  return { from, to, currency: inForce.currency, ...result }
}

/**
 * Decides the recorded authorizations of all cards of a product again, under a draft of the
 * product's controls and the present controls of each card. Nothing is changed.
 * @throws `Problem` `not_found`; otherwise like `backTestCard`.
 */
export async function backTestProduct(
  { database }: BackTestContext,
  productId: ProductId,
  { controls, from, to }: Draft<rules.ControlsMembers & rules.ProductTermsMembers>,
  bounds: pages.ReadingBounds,
): Promise<testing.BackTestAnswer> {
  const range = pages.toIdRange({ from, to })
  const product = await findProduct(database, productId)
  if (!product) throw new Problem('not_found', { detail: 'No product has this productId.' })
  const currency = product.currencyCode
  const inForce = { product: rules.completeProductControls(controls), card: null, currency }
  const reading = pages.countReading(bounds)
  const result = await runAlone(async () => {
    const test = testing.beginBackTest()
    // A client whose grant was revoked still has its cards.
    let clientId = await stored.findNextClient(database, '')
    while (clientId !== null) {
      const cards = createTestedCards(database, { productId, inForce })
      await testClient(database, { clientId, range, cards, test, reading })
      clientId = await stored.findNextClient(database, clientId)
    }
    return test.summarize()
  })
  return { from, to, currency, ...result }
}

let isRunning = false

/** Runs one back-test at a time in this process: each takes a good part of a processor. */
async function runAlone<Result>(work: () => Promise<Result>): Promise<Result> {
  if (isRunning) {
    const detail = 'Another back-test is running. Nothing was done.'
    throw new Problem('unavailable', { detail, isExpected: true })
  }
  isRunning = true
  try {
    return await work()
  } finally {
    isRunning = false
  }
}

interface ClientTest {
  readonly clientId: string
  readonly range: stored.IdRange
  readonly cards: TestedCards
  readonly test: testing.BackTest
  readonly reading: pages.Reading
}

/** Decides the authorizations of a client's cards of one product. */
async function testClient(
  database: Database,
  { cards, clientId, range, reading, test }: ClientTest,
): Promise<void> {
  const list = (next: stored.IdRange) => stored.listDecidedOfClient(database, clientId, next)
  for await (const page of pages.readPages(list, range)) {
    reading.note(page.length, await cards.addFrom(page))
    for (const row of page) {
      const card = cards.find(row.publicToken)
      if (card) test.decide(card, pages.toRecordedDecision(row))
    }
  }
}

/** The cards whose authorizations were read. */
interface TestedCards {
  /** Reads the unknown cards of a page. @returns their number. */
  addFrom(page: readonly stored.DecidedRow[]): Promise<number>
  /** Returns a card, or null if it is of another product. */
  find(publicToken: PublicToken): testing.TestedCard | null
}

function createTestedCards(
  database: Database,
  tested: { readonly productId: ProductId; readonly inForce: ControlsInForce },
): TestedCards {
  const known = new Map<PublicToken, testing.TestedCard | null>()
  const ofAll = prepareControls(tested.inForce)
  const prepare = (card: rules.Controls | null) =>
    card ? prepareControls({ ...tested.inForce, card }) : ofAll
  return {
    async addFrom(page) {
      const tokens = page.map(({ publicToken }) => publicToken)
      const unknown = [...new Set(tokens.filter((token) => !known.has(token)))]
      const rows = unknown.length === 0 ? [] : await stored.listDecidedCards(database, unknown)
      for (const { controls, productId, publicToken } of rows) {
        const isTested = productId === tested.productId
        const card = isTested ? { controls: prepare(controls), spending: nothingSpent } : null
        known.set(publicToken, card)
      }
      return rows.length
    },
    find: (publicToken) => known.get(publicToken) ?? null,
  }
}
