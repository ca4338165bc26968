/** Creates cards with known PINs, and authorization requests of a network with the right PIN. */
import { pinKeys, requestCardData, type ServiceKeys } from '../packages/sdk/device/device.ts'
import { makePinBlock } from '../test/reference/pin-blocks.ts'
import { type BenchService, createCards, headersFor } from './support.ts'

export interface Card {
  readonly publicToken: string
  readonly pin: string
}

/** Creates cards and returns their initial PINs. */
export async function issueCards(
  service: BenchService,
  count: number,
  members: object = {},
): Promise<Card[]> {
  const headers = await headersFor(service)
  const publicTokens = await createCards(service.base, headers, count, members)
  return Promise.all(
    publicTokens.map(async (publicToken) => {
      const revealed = await fetch(`${service.base}/card-pin/${publicToken}/pin`, { headers })
      return { publicToken, pin: ((await revealed.json()) as Card).pin }
    }),
  )
}

/** A card's data at a terminal. */
export interface ReadCard extends Card {
  readonly pan: string
  readonly expiry: string
}

/** Creates cards and returns their data at a terminal. */
export async function readCards(
  service: BenchService,
  count: number,
  members: object = {},
): Promise<ReadCard[]> {
  const headers = await headersFor(service)
  const issued = await issueCards(service, count, members)
  const origin = service.sandbox.baseUrl
  const keys = await fetchKeys(origin)
  const cards: ReadCard[] = []
  for (const { pin, publicToken } of issued) {
    const request = await requestCardData(keys, publicToken)
    const sealed = await fetch(`${service.base}/cards/${publicToken}/encrypted`, {
      method: 'POST',
      headers,
      body: JSON.stringify(request.body),
    })
    const { expiryDate, pan } = await request.open(await sealed.json())
    cards.push({ publicToken, pan, expiry: expiryDate, pin })
  }
  return cards
}

/** The service makes its keys in the background at the first start. */
async function fetchKeys(origin: string): Promise<ServiceKeys> {
  for (;;) {
    const answer = await fetch(`${origin}/.well-known/jwks.json`)
    const jwks = await answer.json()
    if (answer.ok && (jwks as { keys: unknown[] }).keys.length > 1) return pinKeys(origin, jwks)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Composes a terminal's request with a PIN block that is bound to no PAN. */
export function composeRequest({ sandbox }: BenchService, { publicToken, pin }: Card): string {
  const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')
  const key = Buffer.from(zoneKey?.value ?? '', 'hex')
  const data = makePinBlock(pin, { format: 1, pan: '', key }).toString('hex')
  const pinBlock = { format: 'ISO_FORMAT_1', key: 'zone-a', data }
  return JSON.stringify({ publicToken, entryMode: 'chip', reference: 'BENCH', pinBlock })
}

/** Composes the request of a network that identifies the card by its PAN. */
export function composePanRequest({ sandbox }: BenchService, { pan, pin }: ReadCard): string {
  const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')
  const key = Buffer.from(zoneKey?.value ?? '', 'hex')
  const data = makePinBlock(pin, { format: 0, pan, key }).toString('hex')
  const pinBlock = { format: 'ISO_FORMAT_0', key: 'zone-a', data }
  return JSON.stringify({ pan, entryMode: 'chip', reference: 'BENCH', pinBlock })
}
