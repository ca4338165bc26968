/** What a card network asks: cards whose PINs are known, and questions with the right one. */
import { makePinBlock } from '../test/reference/pin-blocks.ts'
import { type BenchService, createCards, headersFor } from './support.ts'

export interface Card {
  readonly publicToken: string
  readonly pin: string
}

/** New cards, with the PINs that they were created with. */
export async function issueCards(service: BenchService, count: number): Promise<Card[]> {
  const headers = await headersFor(service)
  const publicTokens = await createCards(service.base, headers, count)
  return Promise.all(
    publicTokens.map(async (publicToken) => {
      const revealed = await fetch(`${service.base}/card-pin/${publicToken}/pin`, { headers })
      return { publicToken, pin: ((await revealed.json()) as Card).pin }
    }),
  )
}

/** The question of a terminal, with a block that is bound to no PAN. */
export function question({ sandbox }: BenchService, { publicToken, pin }: Card): string {
  const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')
  const key = Buffer.from(zoneKey?.value ?? '', 'hex')
  const data = makePinBlock(pin, { format: 1, pan: '', key }).toString('hex')
  const pinBlock = { format: 'ISO_FORMAT_1', key: 'zone-a', data }
  return JSON.stringify({ publicToken, entryMode: 'chip', reference: 'BENCH', pinBlock })
}
