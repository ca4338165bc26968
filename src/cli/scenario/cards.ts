import { setTimeout as wait } from 'node:timers/promises'
import { fetchKeys, requestCardData } from '../../../packages/sdk/device/device.ts'
import type { SendCall } from './callers.ts'
import type { CardActor } from './schema.ts'
import type { Variables } from './values.ts'

/** A card could not be prepared. */
export class CardRefused extends Error {}

interface CardTools {
  readonly send: SendCall
  readonly baseUrl: string
  /** The sandbox's clock, by which sealed card data is dated. */
  readonly now: () => Promise<Date>
}

/** Creates the card of an actor, and sets its variables: `ana.publicToken`, … */
export async function prepareCard(
  tools: CardTools,
  actor: string,
  {
    activated = true,
    knows = [],
    of: as = 'client',
    product = as === 'client' ? 1001 : 2001,
    type,
  }: CardActor,
  variables: Variables,
): Promise<void> {
  const { send } = tools
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await send({ as, method, path, body })
    if (answer.status < 300) return answer.body
    const { code } = (answer.body ?? {}) as { code?: string }
    throw new CardRefused(`${method} of the card of ${actor} was answered ${answer.status} ${code}`)
  }
  const card = (await ask('POST', '/cards', {
    cardType: type ?? 'Virtual',
    cardProduct: product,
    cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
    address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    activateNow: activated,
  })) as { publicToken: string; expiryDate: string }
  const { expiryDate, publicToken } = card
  const set = (name: string, value: string) => variables.set(`${actor}.${name}`, value)
  set('publicToken', publicToken)
  set('expiry', expiryDate.slice(0, 7))
  set('wrongExpiry', `${Number(expiryDate.slice(0, 4)) + 1}${expiryDate.slice(4, 7)}`)
  if (knows.includes('pin')) {
    const { pin } = (await ask('GET', `/card-pin/${publicToken}/pin`)) as { pin: string }
    set('pin', pin)
    set('wrongPin', otherDigits(pin))
  }
  if (knows.includes('cvv')) {
    const aheadMs = (await tools.now()).getTime() - Date.now()
    const keys = await findKeys(tools.baseUrl)
    const request = await requestCardData(keys, publicToken, {
      nowMs: () => Date.now() + aheadMs,
    })
    const { cvv } = await request.open(
      await ask('POST', `/cards/${publicToken}/encrypted`, request.body),
    )
    set('cvv', cvv)
    set('wrongCvv', otherDigits(cvv))
  }
}

/** Digits of the same length that differ in the last one. */
const otherDigits = (digits: string): string =>
  digits.slice(0, -1) + ((Number(digits.slice(-1)) + 1) % 10)

/** A new sandbox makes the keys of card data in its first minute. */
async function findKeys(baseUrl: string) {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await fetchKeys(baseUrl)
    } catch (error) {
      if (attempts === 60) throw error
      await wait(1_000)
    }
  }
}
