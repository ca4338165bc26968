import type { CardStatusCode } from '../../domain/card-status.ts'
import { type Controls, completeControls, type ProductControls } from '../../domain/controls.ts'
import type { CardSpending, ControlsInForce } from '../../domain/decide-controls.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { SpendingWindows } from '../../domain/spending.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type CardAct, type CardActValues, cardActParameters } from './card-act.ts'

const declare = loadStatements(import.meta.url)

interface OwnCard {
  readonly publicToken: PublicToken
  readonly clientId: string
}

/** The controls of a card, and whether they can be changed. */
interface ControlledCard {
  readonly statusCode: CardStatusCode
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  readonly isRetired: boolean
  readonly controls: Controls
  /** 0 before the first change. */
  readonly version: number
}

const selectControls = declare<
  OwnCard,
  Omit<ControlledCard, 'controls'> & { readonly controls: string | null }
>('find_card_controls')

/** Returns the controls of a client's card, or null. */
export async function findCardControls(
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
): Promise<ControlledCard | null> {
  const row = firstRow(await selectControls(connection, { publicToken, clientId }))
  return row && { ...row, controls: parseControls(row.controls) ?? completeControls() }
}

const parseControls = (text: string | null): Controls | null =>
  text === null ? null : (JSON.parse(text) as Controls)

interface InForceRow {
  readonly cardControls: string | null
  readonly cardVersion: number
  readonly productControls: string | null
  readonly productVersion: number
  readonly currency: string
  /** The first card of the line of cards that replaced each other. */
  readonly lineToken: string
}

interface SpendingRow {
  readonly windows: string
  readonly lockedMerchant: string | null
}

const selectInForce = declare<OwnCard, InForceRow>('find_controls_in_force')

const selectSpending = declare<{ lineToken: string }, SpendingRow>('find_spending_of_line')

/** The controls in force for a card, and what its line has spent under them. */
interface CardInForce {
  readonly inForce: ControlsInForce
  readonly versions: { readonly product: number; readonly card: number }
  readonly spending: CardSpending
}

/** Returns the controls in force for a client's card, or null. */
export async function findControlsInForce(
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardInForce | null> {
  const row = firstRow(await selectInForce(connection, { publicToken, clientId }))
  if (!row) return null
  const { currency, lineToken, productControls } = row
  const spent = firstRow(await selectSpending(connection, { lineToken }))
  const product = productControls === null ? null : (JSON.parse(productControls) as ProductControls)
  return {
    inForce: { product, card: parseControls(row.cardControls), currency },
    versions: { product: row.productVersion, card: row.cardVersion },
    spending: {
      windows: spent === null ? {} : (JSON.parse(spent.windows) as SpendingWindows),
      lockedMerchant: spent?.lockedMerchant ?? null,
    },
  }
}

interface ControlsChange extends CardActValues {
  readonly today: string
  readonly version: number
  /** JSON. */
  readonly controls: string
}

const change = declare<ControlsChange, { readonly isDone: boolean }>('change_card_controls')

/**
 * Replaces the controls of a card.
 * @param version the version that is replaced
 * @param today `YYYY-MM-DD`
 * @returns whether it was done: not if the version is another one, or the card is closed.
 */
export async function updateCardControls(
  connection: Connection,
  act: CardAct,
  { controls, today, version }: { controls: Controls; today: string; version: number },
): Promise<boolean> {
  const rows = await change(connection, {
    ...cardActParameters(act),
    today,
    version,
    controls: JSON.stringify(controls),
  })
  return firstRow(rows)?.isDone ?? false
}
