import Type from 'typebox'
import { approvalKinds, approvalStates, countedMost } from '../../../domain/approval.ts'
import { pageMembers } from '../../http/pages.ts'
import { closed } from '../../http/validation.ts'
import { reasonText } from './reasons.ts'

const instant = Type.String({ format: 'date-time' })
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const PartySchema = Type.Object({
  id: Type.String({ description: 'A client, or the id of a person.' }),
  name: orNull(Type.String()),
  isPerson: Type.Boolean(),
})

const states = Type.Enum([...approvalStates], {
  description:
    '`waiting` for another person, `approved` and about to be executed; final: `done`, ' +
    '`failed`, `refused`, `withdrawn`, `expired` or `stale`.',
})

const members = {
  approvalId: Type.String({ format: 'uuid' }),
  kind: Type.Enum(Object.keys(approvalKinds)),
  description: Type.String(),
  state: states,
  method: Type.String(),
  path: Type.String(),
  subject: Type.Union([Type.String(), Type.Null()], {
    description: 'The key, link or client that the request names; null without one.',
  }),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'The reason in the request; null without one.',
  }),
  isReadable: Type.Boolean({
    description:
      'False if a sealed part cannot be opened because its key is lost: the `reason`, and in ' +
      '`readApproval` also `payload` and `outcome`. Such a part is null.',
  }),
  scopes: Type.Array(Type.String(), {
    description: 'The approver needs one of these, and `approve`.',
  }),
  payloadHash: Type.String({ description: 'SHA-256 of `payload`, in hexadecimal.' }),
  requestedBy: PartySchema,
  requestedAt: instant,
  expiresAt: instant,
  decidedBy: orNull(PartySchema),
  decidedAt: orNull(instant),
  decisionReason: orNull(Type.String()),
  brokeGlass: Type.Boolean({ description: 'Whether the requester approved it in an emergency.' }),
  outcomeStatus: orNull(Type.Integer({ description: "The status of the route's answer." })),
  endedAt: orNull(instant),
}

export const ListedApprovalSchema = Type.Object(members)

export const WaitingApprovalsSchema = Type.Object({
  count: Type.Integer({
    minimum: 0,
    maximum: countedMost,
    description: `Up to ${countedMost}; more are not counted.`,
  }),
})

const keyThumbprints = Type.Array(Type.String(), {
  description: 'Thumbprints of public keys: SHA-256, base64url (RFC 7638).',
})

export const ApprovalSchema = Type.Object({
  ...members,
  client: Type.Union(
    [
      Type.Object({
        clientId: Type.String(),
        kind: Type.String(),
        active: Type.Boolean(),
        scopes: Type.Array(Type.String()),
        authentication: Type.Enum(['client_secret', 'private_key_jwt', 'none'], {
          description: 'How it authenticates. The people who issued its secret may still know it.',
        }),
        credentialsVersion: Type.Integer(),
        credentialsChangedAt: instant,
        credentialsGivenBy: Type.Array(Type.String(), {
          description: 'The people who registered it or issued its credentials, the latest last.',
        }),
        keyThumbprints,
      }),
      Type.Null(),
    ],
    {
      description:
        'The present state of the client that the request concerns; null without a client.',
    },
  ),
  keyThumbprints: Type.Array(Type.String(), {
    description: 'Thumbprints of the public keys in the request (RFC 7638).',
  }),
  payload: orNull(
    Type.String({
      description:
        'The exact approved text: JSON with `method`, `path`, `body` and a `nonce`. Null after ' +
        'it was deleted.',
    }),
  ),
  outcome: Type.Unknown({
    description:
      'The body of the answer. Null before it, and for callers without the scope of that route.',
  }),
})

export const ApprovalsQuerySchema = Type.Object(
  {
    ...pageMembers,
    requestedBy: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'A client id or person id: lists only the requests of this requester.',
      }),
    ),
    state: Type.Optional(states),
  },
  closed,
)

export const ApprovalParamsSchema = Type.Object({ approvalId: Type.String() })

export const ApproveSchema = Type.Object(
  {
    payloadHash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'The SHA-256 of the payload, from `payloadHash` of the approval.',
    }),
  },
  closed,
)

export const DecisionReasonSchema = Type.Object(
  {
    reason: reasonText(500, 'The reason, which stays in the log. Give no personal data.'),
  },
  closed,
)
