import { parseChipData } from '../../../../src/domain/chip-data.ts'
import type { Profile } from '../../../../src/listeners/iso8583/profile-schema.ts'
import { playChip } from '../../../support/chip.ts'
import type { IssuedCard } from '../../../support/network.ts'
import type { TestService } from '../../../support/service.ts'
import { chipFieldOf, createWalker, manage, type WalkStep, type WalkValue } from './walk.ts'

/** Purchases with a chip for which two commands wait: the first in template 72, the next in 71. */
export const chipSteps = async (
  service: TestService,
  profile: Profile,
  card: IssuedCard,
): Promise<readonly WalkStep[]> => {
  await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
  const unblock = { command: 'unblock_application' }
  await service.call('POST', `/cards/${card.publicToken}/chip/commands`, { body: unblock })
  const walker = createWalker(service, profile, card)
  const chip = await playChip(service, card)
  const pay = async (
    present: Parameters<typeof chip.present>[0],
  ): Promise<Record<string, WalkValue>> => {
    const { 52: _, 53: __, ...fields } = walker.purchase(card.pin)
    const { data } = await chip.present(present)
    return { ...fields, 55: chipFieldOf(profile, readTags(data)) }
  }
  const wrong = { '9F26': '0102030405060708' }
  const answered = { tags: ['72', '91'] }
  const first = await pay({ atc: 1 })
  const { 55: used = '' } = first
  return [
    ...manage(walker, 'signOn').slice(0, 1),
    walker.step('a purchase with a chip', 'approved', '0100', first, answered),
    walker.step('its repeat', 'approved', '0101', first, {
      ...answered,
      repeats: 'a purchase with a chip',
    }),
    walker.step('its cryptogram in another purchase', 'wrongChip', '0100', {
      ...walker.purchase(card.pin),
      55: used,
    }),
    walker.step('a wrong cryptogram', 'wrongChip', '0100', await pay({ atc: 2, changed: wrong })),
    walker.step('the next purchase', 'approved', '0200', await pay({ atc: 3 }), {
      tags: ['71', '91'],
    }),
  ]
}

/** Chip data by tag, in hexadecimal digits. */
function readTags(data: string): Record<string, string> {
  const parsed = parseChipData(Buffer.from(data, 'hex'))
  if (!('tags' in parsed)) throw new Error(`The chip data have the fault ${parsed.fault}.`)
  return Object.fromEntries(
    [...parsed.tags].map(
      ([tag, value]) => [tag, Buffer.from(value).toString('hex').toUpperCase()] as const,
    ),
  )
}
