import Type, { type Static } from 'typebox'
import type { Requester } from '../../../domain/client.ts'
import { Cvv2 } from '../../../domain/cvv2.ts'
import { Pin } from '../../../domain/pin.ts'
import {
  entryModes,
  SimulatedAuthorizationSchema,
} from '../../../operations/authorizations/authorization.ts'
import type { Answer, RepeatableRequest } from '../../../operations/idempotency/idempotency.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import {
  moneyRules,
  partialMember,
  toCanonicalRequest,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { chipMembers, chipRules, simulatedChipMember } from '../../http/virtual-chip-members.ts'
import { createRequester, type PublicApi } from '../api.ts'

const secret = { 'x-secret': true } as const

export const SimulateSchema = Type.Object(
  {
    publicToken: Type.String({ maxLength: 32, examples: ['4820117360'] }),
    pin: Type.Optional(Type.String({ pattern: stringPatterns.pin, examples: ['1357'], ...secret })),
    cvv: Type.Optional(Type.String({ pattern: stringPatterns.cvv, examples: ['123'], ...secret })),
    expiryDate: Type.Optional(Type.String({ format: 'year-month', examples: ['2030-11'] })),
    entryMode: Type.Optional(
      Type.Enum([...entryModes], {
        description: 'Default: `chip` with a PIN, otherwise `ecommerce`.',
      }),
    ),
    ...chipMembers,
    ...transactionMembers,
    ...partialMember,
  },
  closed,
)

/** The answer, and what happened in the virtual chip. */
const AnsweredSimulationSchema = Type.Object({
  ...SimulatedAuthorizationSchema.properties,
  ...simulatedChipMember,
})

/** A simulated authorization request for the client's own card. */
export type AskedSimulation = Static<typeof SimulateSchema>

/** The same with its secrets as secret types. */
interface Simulation extends Omit<AskedSimulation, 'pin' | 'cvv' | 'offlinePin'> {
  /** The payment that the request raises. */
  readonly increment?: { readonly paymentId: string | null }
  readonly pin?: Pin
  readonly cvv?: Cvv2
  readonly offlinePin?: Pin
}

/** Acts as the card network, in a sandbox only. */
export type Simulate = (
  caller: Requester & { readonly onWaiting?: () => void },
  simulation: Simulation,
  request: RepeatableRequest | null,
) => Promise<Answer<Static<typeof AnsweredSimulationSchema>>>

export function simulatorRoute({ app, base }: PublicApi, simulate: Simulate): void {
  app.post(
    `${base}/simulator/authorizations`,
    {
      config: {
        access: 'simulator.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: [...moneyRules, ...chipRules],
        problems: ['card_not_found', 'virtual_chip_unusable'],
      },
      schema: {
        operationId: 'simulateAuthorization',
        summary: 'Simulate an authorization',
        description:
          'Sandbox only. Builds a real PIN block and authorizes as for a card network, so that a ' +
          'PIN or CVV can be tried until it is blocked. With `chip`, the virtual chip of the ' +
          'card makes a real cryptogram, verifies the answer and executes its commands.',
        tags: ['Simulator'],
        body: SimulateSchema,
        response: { 200: AnsweredSimulationSchema },
      },
    },
    async (request, reply) => {
      const { cvv, offlinePin, pin, ...members } = request.body
      const simulation = {
        ...members,
        ...(pin !== undefined && { pin: new Pin(pin) }),
        ...(cvv !== undefined && { cvv: new Cvv2(cvv) }),
        ...(offlinePin !== undefined && { offlinePin: new Pin(offlinePin) }),
      }
      const canonical = toCanonicalRequest(request.body)
      const repeat = repeatable(request, { bearsSecret: true, body: canonical })
      const onWaiting = () => request.inFlight?.leave()
      const caller = { ...createRequester(request), onWaiting }
      return markReplay(reply, await simulate(caller, simulation, repeat))
    },
  )
}
