import type { ChipProfileName } from '../../src/domain/chip-profile.ts'
import type { PublicToken } from '../../src/domain/identifiers.ts'
import { usualChip } from '../../src/domain/product-chip.ts'
import { type CreatedCard, sql, type TestService } from './service.ts'

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
