import type { FastifyReply } from 'fastify'
import Type, { type Static } from 'typebox'
import { type BackTestAnswer, changesMost } from '../../domain/back-test.ts'
import { entryModes } from '../../domain/entry-mode.ts'
import { Problem } from '../../domain/problem.ts'
import { transactionTypes } from '../../domain/transaction.ts'
import { ControlObjectionSchema, controlsMembers, productTerms } from './control-schemas.ts'
import { closed } from './validation.ts'

const periodMembers = {
  from: Type.String({
    format: 'instant',
    description: 'The beginning of the period.',
    examples: ['2026-10-01T00:00:00Z'],
  }),
  to: Type.String({
    format: 'instant',
    description: 'Its end: authorizations that arrived then or later are not read.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
}

export const BackTestCardControlsSchema = Type.Object(
  { ...periodMembers, ...controlsMembers },
  closed,
)
export const BackTestProductControlsSchema = Type.Object(
  { ...periodMembers, ...productTerms, ...controlsMembers },
  closed,
)

export const AuthorizationSumSchema = Type.Object({
  count: Type.Integer(),
  amount: Type.Integer({
    description:
      'What they charge, in the smallest unit of `currency`. Other currencies are left out.',
  }),
})

const sum = (description: string) => Type.Object(AuthorizationSumSchema.properties, { description })

const verdicts = (description: string) =>
  Type.Object(
    { approved: AuthorizationSumSchema, declined: AuthorizationSumSchema },
    { description },
  )

const { control, owner } = ControlObjectionSchema.properties

export const ControlEffectSchema = Type.Object({
  owner,
  control,
  declined: sum('What it declines as the first control that objects.'),
  newlyDeclined: sum('Those of them that were approved as recorded.'),
})

export const ChangedAuthorizationSchema = Type.Object({
  publicToken: Type.String({ examples: ['4820117360'] }),
  authorizationId: Type.String({ format: 'uuid' }),
  requestedAt: Type.String({ format: 'date-time', description: 'When the request arrived.' }),
  entryMode: Type.Enum([...entryModes]),
  transactionType: Type.Enum([...transactionTypes]),
  amount: Type.Optional(Type.Integer({ description: 'What the card is charged.' })),
  currency: Type.Optional(Type.String()),
  responseCode: Type.String({ description: 'As recorded.', examples: ['00'] }),
  control: Type.Optional(Type.String({ description: 'The control that declined, as recorded.' })),
  approved: Type.Boolean({ description: 'By the draft.' }),
  objection: Type.Optional(ControlObjectionSchema),
})

export const ControlsBackTestSchema = Type.Object({
  from: Type.String({ format: 'date-time' }),
  to: Type.String({ format: 'date-time' }),
  currency: Type.String({ description: 'Of the product.', examples: ['EUR'] }),
  recorded: verdicts('As they were answered.'),
  draft: verdicts('As they would be answered under the draft.'),
  newlyDeclined: sum('Approved, and declined by the draft.'),
  newlyApproved: sum('Declined by a control, and approved by the draft.'),
  controls: Type.Array(ControlEffectSchema, {
    description: 'The controls that decline, the one with the most declines first.',
  }),
  changes: Type.Array(ChangedAuthorizationSchema, {
    description: `The first ${changesMost} authorizations that change, oldest first.`,
  }),
})

type Answer = Static<typeof ControlsBackTestSchema>

/** Describes the result of a back-test. */
export function toBackTestAnswer({ changes, controls, from, to, ...sums }: BackTestAnswer): Answer {
  return {
    ...sums,
    from: from.toISOString(),
    to: to.toISOString(),
    controls: [...controls],
    changes: changes.map(({ at, control: declinedBy, objection, transaction, ...recorded }) => ({
      ...recorded,
      requestedAt: at.toISOString(),
      entryMode: transaction.entryMode,
      transactionType: transaction.transactionType,
      ...transaction.money,
      ...(declinedBy !== null && { control: declinedBy }),
      approved: objection === null,
      ...(objection && { objection }),
    })),
  }
}

/** Parses the period of a back-test. */
export const toPeriod = ({ from, to }: { readonly from: string; readonly to: string }) => ({
  from: new Date(from),
  to: new Date(to),
})

/** Returns a signal that is aborted when the caller of a request has gone. */
export function watchCaller({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => gone.abort(new Problem('malformed_request')))
  return gone.signal
}
