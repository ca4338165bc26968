import { randomBytes } from 'node:crypto'
import { type ChipReport, composeApplicationData } from '../../src/domain/chip-application-data.ts'
import { composeChipData } from '../../src/domain/chip-data.ts'
import {
  type ChipProfileName,
  chipProfiles,
  composeCryptogramData,
} from '../../src/domain/chip-profile.ts'
import type { PublicToken } from '../../src/domain/identifiers.ts'
import { usualChip } from '../../src/domain/product-chip.ts'
import { type IssuedCard, issueCard } from './network.ts'
import { type CreatedCard, sql, type TestService } from './service.ts'

/**
 * Plays the chip of a card: makes real cryptograms under the keys of the sandbox.
 *
 * ```ts
 * const card = await issueChipCard(service)
 * const chip = await playChip(service, card)
 * const answer = await ask(service, { ...named, chip: await chip.present({ atc: 1 }) })
 * ```
 */

/** An active card with a chip. */
export const issueChipCard = (service: TestService, members: object = {}): Promise<IssuedCard> =>
  issueCard(service, { cardType: 'Physical', activateNow: true, ...members })

/** What a chip and its terminal put into a message, with what a test wants otherwise. */
export interface Presented {
  readonly atc: number
  /** Of the smallest unit; 1000 EUR cents by default. */
  readonly amount?: number
  readonly report?: Partial<ChipReport>
  /** TVR, in hexadecimal digits. */
  readonly tvr?: string
  /** Tags that the chip makes its cryptogram of, otherwise than it does by default. */
  readonly made?: Readonly<Record<string, string>>
  /** Tags to add, to replace, or (null) to leave out, after the cryptogram is made. */
  readonly changed?: Readonly<Record<string, string | null>>
}

/** What the chip of each test's purchase agrees with. */
export const chipMoney = { amount: 1_000, currency: 'EUR' }

const quiet: ChipReport = {
  derivationKeyIndex: 1,
  kind: 'request',
  isOfflinePinPerformed: false,
  isOfflinePinFailed: false,
  isOfflinePinBlocked: false,
  remainingOfflineTries: null,
  processedCommands: 0,
  hasFailedCommand: false,
  isLastOnlineIncomplete: false,
}

/** Tag 9F27. */
const informationCodes = { request: '80', approval: '40', decline: '00' } as const

export interface PlayedChip {
  /** The member `chip` of a request. */
  present(presented: Presented): Promise<{ readonly data: string }>
}

export async function playChip(
  { database, issuing }: TestService,
  { publicToken }: Pick<IssuedCard, 'publicToken'> & { readonly publicToken: PublicToken },
  profileName: ChipProfileName = 'visa-cvn18',
  panSequenceNumber = '01',
): Promise<PlayedChip> {
  const [row] = await sql<{ encryptedPan: Uint8Array }>(
    database,
    'select encrypted_pan as "encryptedPan" from card where public_token = $1',
    [publicToken],
  )
  if (!row) throw new Error('There is no such card.')
  const profile = chipProfiles[profileName]
  const chip = { card: { publicToken, encryptedPan: row.encryptedPan }, panSequenceNumber, profile }
  return {
    async present({ amount = chipMoney.amount, atc, changed = {}, made = {}, ...others }) {
      const { report, tvr = '0000000000' } = others
      const values: Record<string, string> = {
        '9F02': String(amount).padStart(12, '0'),
        '9F03': '000000000000',
        '9F1A': '0724',
        '95': tvr,
        '5F2A': '0978',
        '9A': '261128',
        '9C': '00',
        '9F37': randomBytes(4).toString('hex'),
        '82': '1980',
        '9F36': atc.toString(16).padStart(4, '0'),
        '9F10': composeApplicationData(profile, { ...quiet, ...report }).toString('hex'),
        ...made,
      }
      const tags = new Map(
        Object.entries(values).map(([tag, value]) => [tag, Buffer.from(value, 'hex')] as const),
      )
      const data = composeCryptogramData(profile, tags)
      if (!data) throw new Error('The chip has no cryptogram.')
      const keyVersion = report?.derivationKeyIndex ?? quiet.derivationKeyIndex
      const arqc = await issuing.hsm.generateCryptogram(chip, `chip-ac/${keyVersion}`, {
        data,
        atc: Buffer.from(values['9F36'] ?? '', 'hex'),
        unpredictableNumber: Buffer.from(values['9F37'] ?? '', 'hex'),
      })
      const sent: Record<string, string | null> = {
        ...values,
        '9F26': Buffer.from(arqc).toString('hex'),
        '9F27': informationCodes[report?.kind ?? quiet.kind],
        '5F34': panSequenceNumber,
        ...changed,
      }
      const parts = Object.entries(sent).flatMap(([tag, value]) =>
        value === null ? [] : [[tag, Buffer.from(value, 'hex')] as const],
      )
      return { data: composeChipData(parts).toString('hex') }
    },
  }
}

/** A physical card whose product has a chip. All cards of the product then have one. */
export async function chippedCard(
  service: Pick<TestService, 'createCard' | 'database'>,
  profile: ChipProfileName = 'visa-cvn18',
  members: object = {},
): Promise<CreatedCard> {
  const card = await service.createCard({ cardType: 'Physical', activateNow: true, ...members })
  // Two statements: a cluster does not change a product by a statement that reads cards.
  const [row] = await sql<{ productId: number }>(
    service.database,
    `select product_id as "productId" from card where public_token = $1`,
    [card.publicToken],
  )
  await sql(service.database, 'update product set chip = $1::jsonb where product_id = $2', [
    JSON.stringify({ profile, ...usualChip }),
    row?.productId ?? null,
  ])
  return card
}

/** The numbers of a card's commands, oldest first. */
export const listCommandNumbers = async (
  { database }: Pick<TestService, 'database'>,
  publicToken: PublicToken,
): Promise<readonly number[]> =>
  (
    await sql<{ number: number }>(
      database,
      `select command_number as number from chip_command where public_token = $1 order by 1`,
      [publicToken],
    )
  ).map(({ number }) => number)
