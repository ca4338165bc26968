import Type, { type Static } from 'typebox'
import type { Requester } from '../../../domain/client.ts'
import { Cvv2 } from '../../../domain/cvv2.ts'
import { Pin } from '../../../domain/pin.ts'
import { Problem } from '../../../domain/problem.ts'
import type { TransactionMembers } from '../../../domain/transaction.ts'
import {
  AuthorizationSchema,
  entryModes,
} from '../../../operations/authorizations/authorization.ts'
import type { Answer, RepeatableRequest } from '../../../operations/idempotency/idempotency.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import {
  moneyRules,
  toCanonicalRequest,
  transactionMembers,
} from '../../http/transaction-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'
import { chipMembers, chipRules, simulatedChipMember } from '../../http/virtual-chip-members.ts'
import { admin, adminChange, createRequester, type PrivateApi } from '../api.ts'

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
  readonly chip?: boolean
  readonly offlinePin?: Pin
}

/** The answer, and what happened in the virtual chip. */
const AnsweredSimulationSchema = Type.Object({
  ...AuthorizationSchema.properties,
  ...simulatedChipMember,
})

/** A snapshot, to which the sandbox can be restored. */
interface Snapshot {
  readonly snapshotName: string
  readonly takenAt: string
  readonly clock: string | null
  readonly rows: number
}

/** The snapshots of a sandbox. */
interface SandboxSnapshots {
  /** Takes a snapshot, and replaces one of the same name. */
  take(snapshotName: string): Promise<Snapshot>
  /** @throws `Problem` `not_found`, `snapshot_unusable`. */
  restore(operator: Requester, snapshotName: string): Promise<Snapshot>
  /** Lists the snapshots after a name, by name. */
  list(after: string, limit: number): Promise<readonly Snapshot[]>
  /** Does now what background work would do within a second: publishes events. */
  settle(): Promise<void>
  /** @throws `Problem` `not_found`. */
  delete(snapshotName: string): Promise<void>
}

/** The functions that only a sandbox has. */
export interface Sandbox {
  readonly clock: SandboxClock
  readonly snapshots: SandboxSnapshots
  /** Acts as the card network for a card of any client, since no card is real. */
  simulate(
    caller: { readonly clientId: null; readonly requestId: string },
    simulation: Simulation,
    request: RepeatableRequest | null,
  ): Promise<Answer<Static<typeof AnsweredSimulationSchema>>>
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
      config: {
        ...adminChange,
        bodyRules: [...moneyRules, ...chipRules],
        problems: ['card_not_found', 'virtual_chip_unusable'],
      },
      schema: {
        operationId: 'simulateAnyAuthorization',
        summary: 'Simulate an authorization of a card of any client',
        description:
          'As for a terminal or a shop, with a real PIN block and, with `chip`, the virtual chip.',
        tags,
        body: Type.Object(
          {
            publicToken: Type.String({ maxLength: 32, examples: ['4820117360'] }),
            pin: Type.Optional(Type.String({ pattern: stringPatterns.pin, ...secret })),
            cvv: Type.Optional(Type.String({ pattern: stringPatterns.cvv, ...secret })),
            expiryDate: Type.Optional(Type.String({ format: 'year-month' })),
            entryMode: Type.Optional(Type.Enum([...entryModes])),
            ...chipMembers,
            ...transactionMembers,
          },
          closed,
        ),
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
      const caller = { clientId: null, requestId: request.id }
      const canonical = toCanonicalRequest(request.body)
      const repeat = repeatable(request, { bearsSecret: true, body: canonical })
      return markReplay(reply, await sandbox.simulate(caller, simulation, repeat))
    },
  )
}

const SnapshotSchema = Type.Object({
  snapshotName: Type.String({ examples: ['before-each'] }),
  takenAt: Type.String({ format: 'date-time' }),
  clock: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'The instant that a restore sets. Null: the clock was never moved.',
  }),
  rows: Type.Integer({ description: 'The number of stored rows.' }),
})

const SnapshotNameSchema = Type.Object({
  snapshotName: Type.String({
    description: 'Lower-case letters, digits, `.`, `_` and `-`; at most 64.',
    examples: ['before-each'],
  }),
})

const isSnapshotName = (name: unknown): name is string =>
  typeof name === 'string' && /^[a-z][a-z0-9._-]{0,63}$/.test(name)

/** Parses the name in a path. @throws `Problem` `not_found` when it is none. */
function parseSnapshotName({ params }: { params: { snapshotName: string } }): string {
  if (isSnapshotName(params.snapshotName)) return params.snapshotName
  throw new Problem('not_found', {
    detail:
      'A snapshot is named by at most 64 lower-case letters, digits, ".", "_" and "-", and ' +
      'begins with a letter.',
  })
}

/** A route for tests, which would otherwise wait for background work. */
export function settleSandboxRoute({ app }: Pick<PrivateApi, 'app'>, { snapshots }: Sandbox): void {
  app.post(
    '/sandbox/settle',
    {
      config: { ...admin, notRepeatable: 'a repeat publishes what occurred since' },
      schema: {
        operationId: 'settleSandbox',
        summary: 'Publish all events now',
        description: 'The service does so within a second otherwise.',
        tags,
        response: { 204: Type.Null() },
      },
    },
    async (_, reply) => {
      await snapshots.settle()
      return reply.code(204).send(null)
    },
  )
}

/** Routes for snapshots of the sandbox. */
export function sandboxSnapshotRoutes(
  { app }: Pick<PrivateApi, 'app'>,
  { snapshots }: Sandbox,
): void {
  const path = '/sandbox/snapshots'
  app.get(
    path,
    {
      config: { ...admin, lists: true },
      schema: {
        operationId: 'listSnapshots',
        summary: "List the sandbox's snapshots",
        description: 'By name. There are at most 100.',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(SnapshotSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([name]) => (isSnapshotName(name) ? name : null)) ?? ''
      const listed = await snapshots.list(after, pageSize + 1)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: ({ snapshotName }) => [snapshotName],
      })
    },
  )
  app.put(
    `${path}/:snapshotName`,
    {
      config: {
        ...admin,
        holdsCalls: true,
        notRepeatable: 'a repeat takes the snapshot again',
        problems: ['snapshot_unusable'],
      },
      schema: {
        operationId: 'takeSnapshot',
        summary: 'Take a snapshot of the sandbox',
        description:
          'Replaces a snapshot of the same name. Other calls wait until it is taken, at most ' +
          'four seconds.',
        tags,
        params: SnapshotNameSchema,
        response: { 200: SnapshotSchema },
      },
    },
    async (request) => snapshots.take(parseSnapshotName(request)),
  )
  app.post(
    `${path}/:snapshotName/restore`,
    {
      config: {
        ...admin,
        holdsCalls: true,
        notRepeatable: 'a repeat restores again, and the records of keys are restored, too',
        problems: ['snapshot_unusable'],
      },
      schema: {
        operationId: 'restoreSnapshot',
        summary: 'Restore the sandbox to a snapshot',
        description:
          'Restores cards, tries, limits, authorizations, events, webhooks, products, clients, ' +
          'idempotency records and the clock. Running calls end before, and other calls wait. ' +
          'The audit log keeps every act, and records the restore.',
        tags,
        params: SnapshotNameSchema,
        response: { 200: SnapshotSchema },
      },
    },
    async (request) => snapshots.restore(createRequester(request), parseSnapshotName(request)),
  )
  app.delete(
    `${path}/:snapshotName`,
    {
      config: admin,
      schema: {
        operationId: 'deleteSnapshot',
        summary: 'Delete a snapshot of the sandbox',
        tags,
        params: SnapshotNameSchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await snapshots.delete(parseSnapshotName(request))
      return reply.code(204).send(null)
    },
  )
}
