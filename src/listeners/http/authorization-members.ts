import Type from 'typebox'
import { checkNames, checkResults } from '../../domain/authorization-check.ts'
import { chipFindings } from '../../domain/chip-findings.ts'
import { controlOwners } from '../../domain/decide-controls.ts'
import { deciders } from '../../domain/decision.ts'
import { declineReasons, decliners, retries } from '../../domain/decline-reason.ts'
import { recordedTransactionMembers } from './transaction-members.ts'

/** The members of a check of an authorization, on both listeners. */
export const checkMembers = {
  check: Type.Enum([...checkNames], {
    description:
      '`controls`: those without money. `shadow`: controls that decide nothing; they object. ' +
      '`answer`: of a repeat, whose first request was lost before it was answered.',
  }),
  result: Type.Enum([...checkResults], {
    description:
      '`not_given`: the request had nothing to check. `blocked`: no try was left, and ' +
      'nothing was compared. `unresolved`: the HSM gave no answer.',
  }),
  cardStatusCode: Type.Optional(Type.String({ description: 'The status that the card had.' })),
  remainingTries: Type.Optional(Type.Integer({ description: 'After this check.' })),
  atc: Type.Optional(
    Type.Integer({ description: 'Of `cryptogram`: the transaction counter of the chip.' }),
  ),
  findings: Type.Optional(
    Type.Array(Type.Enum([...chipFindings]), {
      description: 'What a chip or a stripe had to report.',
      examples: [['atc_jump']],
    }),
  ),
  control: Type.Optional(
    Type.String({ description: 'The control that objected.', examples: ['limits.day'] }),
  ),
  owner: Type.Optional(
    Type.Enum([...controlOwners], { description: 'Whose control it is.', examples: ['card'] }),
  ),
  decidedBy: Type.Optional(
    Type.Enum([...deciders], {
      description: 'Of `decision`: who decided, the endpoint of the client or what stood in.',
    }),
  ),
  reason: Type.Optional(
    Type.String({
      description: 'Of `decision`: why it declined.',
      examples: ['insufficient_funds'],
    }),
  ),
}

const onDeclines = 'On declines only.'

/** Why an authorization was declined (docs/guides/why-was-it-declined.md). */
export const declineMembers = {
  declineReason: Type.Optional(
    Type.Enum([...declineReasons], {
      description: `Why: stable, so switch on it. ${onDeclines}`,
      examples: ['wrong_pin'],
    }),
  ),
  declinedBy: Type.Optional(
    Type.Enum([...decliners], { description: `What declined. ${onDeclines}`, examples: ['pin'] }),
  ),
  control: Type.Optional(
    Type.String({
      description: 'The control that declined, where one did.',
      examples: ['limits.day'],
    }),
  ),
}

/** The same, with what may be done about it. */
export const explainedDeclineMembers = {
  ...declineMembers,
  advice: Type.Optional(
    Type.String({ description: `One sentence to the cardholder. ${onDeclines}` }),
  ),
  retry: Type.Optional(
    Type.Enum([...retries], {
      description:
        'Whether the same purchase may succeed: `never`; `with_other_data`, such as the right ' +
        `PIN; \`later\`, after the card or the service has changed. ${onDeclines}`,
    }),
  ),
}

/** The payment of an authorization. */
export const paymentIdMember = {
  paymentId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'The payment that the approval opened or raised; left out if nothing is held.',
      examples: ['01a207f1-05bc-71f8-97ce-911aef6582b9'],
    }),
  ),
}

/** The members of an answered authorization, on both listeners. */
export const authorizationMembers = {
  authorizationId: Type.String({ format: 'uuid' }),
  publicToken: Type.String({ examples: ['4820117360'] }),
  approved: Type.Boolean(),
  responseCode: Type.String({ description: 'ISO 8583, field 39.', examples: ['55'] }),
  ...explainedDeclineMembers,
  ...paymentIdMember,
  entryMode: Type.String({ examples: ['chip'] }),
  ...recordedTransactionMembers,
  reference: Type.String({ description: "The network's own.", examples: ['512345678901'] }),
  requestedAt: Type.String({ format: 'date-time', description: 'When the request arrived.' }),
  decidedAt: Type.String({ format: 'date-time', description: 'When it was answered.' }),
}
