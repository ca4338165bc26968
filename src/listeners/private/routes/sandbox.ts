import Type from 'typebox'
import { Cvv2 } from '../../../domain/cvv2.ts'
import { Pin } from '../../../domain/pin.ts'
import type { TransactionMembers } from '../../../domain/transaction.ts'
import {
  type Authorization,
  AuthorizationSchema,
  entryModes,
} from '../../../operations/authorizations/authorization.ts'
import type { Answer, RepeatableRequest } from '../../../operations/idempotency/idempotency.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import {
  moneyRules,
  toCanonicalRequest,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { admin, adminChange, type PrivateApi } from '../api.ts'

/** The sandbox's clock, which this listener can move. */
export interface SandboxClock {
  now(): Date
  /**
   * Moves it forward, and lets everything due happen.
   * @throws `Problem` `validation_failed` for an earlier instant.
   */
  moveTo(instant: Date, request: RepeatableRequest | null): Promise<Answer<{ now: string }>>
}

/** An authorization request as a terminal or a shop would send it. */
interface Simulation extends TransactionMembers {
  readonly publicToken: string
  readonly pin?: Pin
  readonly cvv?: Cvv2
  readonly expiryDate?: string
  readonly entryMode?: (typeof entryModes)[number]
}

/** The functions that only a sandbox has. */
export interface Sandbox {
  readonly clock: SandboxClock
  /** Acts as the card network for a card of any client, since no card is real. */
  simulate(
    caller: { readonly clientId: null; readonly requestId: string },
    simulation: Simulation,
    request: RepeatableRequest | null,
  ): Promise<Answer<Authorization>>
}

const tags = ['Sandbox']
const ClockSchema = Type.Object({ now: Type.String({ format: 'date-time' }) })

/** Routes for the movable clock, which only a sandbox has. */
export function sandboxClockRoutes({ app }: Pick<PrivateApi, 'app'>, { clock }: Sandbox): void {
  const path = '/sandbox/clock'
  const read = {
    operationId: 'readClock',
    summary: "Read the sandbox's clock",
    tags,
    response: { 200: ClockSchema },
  }
  app.get(path, { config: admin, schema: read }, async () => ({ now: clock.now().toISOString() }))
  app.post(
    path,
    {
      config: adminChange,
      schema: {
        operationId: 'moveClock',
        summary: "Move the sandbox's clock forward",
        description: 'Everything that is due by then happens.',
        tags,
        body: Type.Object(
          { now: Type.String({ format: 'instant', examples: ['2030-12-01T00:00:00Z'] }) },
          closed,
        ),
        response: { 200: ClockSchema },
      },
    },
    async (request, reply) =>
      markReplay(reply, await clock.moveTo(new Date(request.body.now), repeatable(request))),
  )
}

const secret = { 'x-secret': true } as const

/** The simulator for operators, for a card of any client. */
export function sandboxSimulatorRoute({ app }: Pick<PrivateApi, 'app'>, sandbox: Sandbox): void {
  app.post(
    '/sandbox/authorizations',
    {
      config: { ...adminChange, bodyRules: moneyRules, problems: ['card_not_found'] },
      schema: {
        operationId: 'simulateAnyAuthorization',
        summary: 'Simulate an authorization of a card of any client',
        description: 'As for a terminal or a shop, with a real PIN block.',
        tags,
        body: Type.Object(
          {
            publicToken: Type.String({ maxLength: 32, examples: ['4820117360'] }),
            pin: Type.Optional(Type.String({ pattern: stringPatterns.pin, ...secret })),
            cvv: Type.Optional(Type.String({ pattern: stringPatterns.cvv, ...secret })),
            expiryDate: Type.Optional(Type.String({ format: 'year-month' })),
            entryMode: Type.Optional(Type.Enum([...entryModes])),
            ...transactionMembers,
          },
          closed,
        ),
        response: { 200: AuthorizationSchema },
      },
    },
    async (request, reply) => {
      const { cvv, pin, ...members } = request.body
      const simulation = {
        ...members,
        ...(pin !== undefined && { pin: new Pin(pin) }),
        ...(cvv !== undefined && { cvv: new Cvv2(cvv) }),
      }
      const caller = { clientId: null, requestId: request.id }
      const canonical = toCanonicalRequest(request.body)
      const repeat = repeatable(request, { bearsSecret: true, body: canonical })
      return markReplay(reply, await sandbox.simulate(caller, simulation, repeat))
    },
  )
}
