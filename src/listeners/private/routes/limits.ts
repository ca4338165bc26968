import Type, { type Static } from 'typebox'
import { findCardLimits, listClientLimits } from '../../../operations/cards/limit-uses.ts'
import { findCardSpending } from '../../../operations/cards/spending.ts'
import { type PrivateApi, parseClientId, parsePublicToken, support } from '../api.ts'
import { CardSpendingSchema, EffectiveLimitSchema, UsedLimitSchema } from '../schemas/limits.ts'

const tags = ['Limits']

/** The name of a limit in `/limits`, by the name under which its uses are stored. */
const ofCard: Readonly<Record<string, string>> = {
  reveal: 'reveals-per-card',
  bad_session_key: 'bad-session-keys-per-card',
  'unblock-pin': 'unblocks-per-card',
  'unblock-cvv': 'unblocks-per-card',
}
const ofClient: Readonly<Record<string, string>> = {
  reveal: 'reveals-per-client',
  bad_session_key: 'bad-session-keys-per-client',
}

type UsedLimit = Static<typeof UsedLimitSchema>
type Used = Omit<UsedLimit, 'name' | 'left' | 'origin' | 'from' | 'allowed'> & {
  readonly allowed: number
}

/** Returns the used part of a limit, with the source of its value. */
function usedLimit(
  effectiveLimits: PrivateApi['effectiveLimits'],
  names: typeof ofCard,
  { limitName, ...used }: Used & { readonly limitName: string },
): UsedLimit {
  const known = effectiveLimits.find(({ name }) => name === names[limitName])
  return {
    ...used,
    name: limitName.replaceAll('_', '-'),
    left: used.allowed - used.used,
    origin: known?.origin ?? 'default',
    from: known?.variable ?? '',
  }
}

/** Routes that list the limits with their origin, and their use on a card. */
export function limitRoutes({ app, cards, effectiveLimits }: PrivateApi): void {
  app.get(
    '/limits',
    {
      config: support,
      schema: {
        operationId: 'listLimits',
        summary: 'List the limits in effect',
        description: 'Each with its source. Products limit the tries: see `/products`.',
        tags,
        response: { 200: Type.Array(EffectiveLimitSchema) },
      },
    },
    async () => [...effectiveLimits],
  )
  app.get(
    '/cards/:publicToken/limits',
    {
      config: support,
      schema: {
        operationId: 'readCardLimits',
        summary: 'Read the remaining uses of the limits on a card',
        description: 'Also the remaining tries. Limits that are off are omitted.',
        tags,
        params: Type.Object({ publicToken: Type.String() }),
        response: { 200: Type.Array(UsedLimitSchema) },
      },
    },
    async (request) => {
      const { limits, productId, tries } = await findCardLimits(cards, parsePublicToken(request))
      const product = { origin: 'product', from: String(productId) } as const
      return [
        ...limits.map((limit) => usedLimit(effectiveLimits, ofCard, limit)),
        ...tries.map(({ limitName, ...each }) => ({
          name: limitName,
          ...each,
          left: each.allowed - each.used,
          ...product,
        })),
      ]
    },
  )
}

/** Returns the spending limits in force for a card, and their use. */
export function cardSpendingRoute({ app, cards }: PrivateApi): void {
  app.get(
    '/cards/:publicToken/spending',
    {
      config: support,
      schema: {
        operationId: 'readCardSpending',
        summary: 'Read what a card may spend and has spent',
        description:
          'The spending limits of the product and of the card, with the use in the present ' +
          'window. Cards that replaced each other share it.',
        tags,
        params: Type.Object({ publicToken: Type.String() }),
        response: { 200: CardSpendingSchema },
      },
    },
    async (request) => {
      const { limits, ...terms } = await findCardSpending(cards, parsePublicToken(request))
      return { ...terms, limits: [...limits] }
    },
  )
}

/** Lists the use of a client's limits. */
export function clientLimitsRoute({ app, cards, effectiveLimits, rate }: PrivateApi): void {
  app.get(
    '/clients/:clientId/limits',
    {
      config: support,
      schema: {
        operationId: 'readClientLimits',
        summary: 'Read the remaining uses of the limits on a client',
        description: 'Over all its cards, and for its calls. Limits that are off are omitted.',
        tags,
        params: Type.Object({ clientId: Type.String() }),
        response: { 200: Type.Array(UsedLimitSchema) },
      },
    },
    async (request) => {
      const clientId = parseClientId(request)
      const limits = await listClientLimits(cards, clientId)
      const shown = limits.map((limit) => usedLimit(effectiveLimits, ofClient, limit))
      const burst = effectiveLimits.find(({ name }) => name === 'calls-burst')
      if (!rate || !burst || burst.value === null) return shown
      const left = rate.left(clientId)
      const calls = {
        name: 'calls',
        allowed: burst.value,
        used: burst.value - left,
        left,
        windowSeconds: null,
        freeInSeconds: left > 0 ? 0 : 1,
        origin: burst.origin,
        from: burst.variable,
      }
      return [...shown, calls]
    },
  )
}
