import type { ControlledTransaction } from '../../../domain/controls.ts'
import type { EntryMode } from '../../../domain/entry-mode.ts'
import {
  findCashCharge,
  findCharge,
  mayApprovePart,
  type TransactionMembers,
  toTransaction,
} from '../../../domain/transaction.ts'
import { backTestCard } from '../../../operations/authorizations/back-test.ts'
import * as controls from '../../../operations/cards/controls.ts'
import * as backTests from '../../http/back-test.ts'
import { controlsBodyLimit, limitRules } from '../../http/control-schemas.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { moneyRules } from '../../http/transaction-members.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'
import { CardParamsSchema } from '../schemas/cards.ts'
import * as schemas from '../schemas/controls.ts'

const tags = ['Controls']

/** Routes by which a client decides what a card may be used for. */
export function cardControlRoutes({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/cards/:publicToken/controls`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'getCardControls',
        summary: "Read a card's spending controls",
        tags,
        params: CardParamsSchema,
        response: { 200: schemas.CardControlsSchema },
      },
    },
    async (request) => {
      const requester = createRequester(request)
      return controls.findCardControls(issuing, requester, parsePublicToken(request))
    },
  )

  app.put(
    `${base}/cards/:publicToken/controls`,
    {
      bodyLimit: controlsBodyLimit,
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        bodyRules: limitRules,
        problems: ['card_closed', 'controls_version_conflict'],
      },
      schema: {
        operationId: 'replaceCardControls',
        summary: "Replace a card's spending controls",
        description:
          'Replaces them whole; an absent member allows everything. The controls of the product ' +
          'hold beside them: a card can narrow its product, and never widen it.',
        tags,
        params: CardParamsSchema,
        body: schemas.ReplaceCardControlsSchema,
        response: { 200: schemas.ControlsVersionSchema },
      },
    },
    async (request, reply) => {
      const { version, ...members } = request.body
      const answer = await controls.replaceCardControls(
        issuing,
        createRequester(request),
        { publicToken: parsePublicToken(request), version, controls: members },
        repeatable(request),
      )
      return markReplay(reply, answer)
    },
  )
}

/** A dry run: the controls decide a described transaction, and nothing is recorded. */
export function explainControlsRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/cards/:publicToken/controls/explain`,
    {
      config: {
        access: 'cards.read',
        notRepeatable: 'it changes nothing',
        bodyRequired: true,
        bodyRules: moneyRules,
      },
      schema: {
        operationId: 'explainControls',
        summary: 'Explain the spending controls of a card',
        description:
          'Decides a transaction by the controls of the card and its product, and returns every ' +
          'objection. Nothing is spent or recorded. Only controls are checked: not the status of ' +
          'the card nor a PIN. An inquiry or another currency than the card’s is declined before ' +
          'the controls.',
        tags,
        params: CardParamsSchema,
        body: schemas.ExplainControlsSchema,
        response: { 200: schemas.ControlsExplanationSchema },
      },
    },
    async (request) => {
      const { entryMode, partialAllowed = false, ...members } = request.body
      const explanation = await controls.explainControls(
        issuing,
        createRequester(request),
        parsePublicToken(request),
        toControlled(entryMode, members),
        partialAllowed && mayApprovePart(toTransaction(members), entryMode),
      )
      const { objections, shadowObjections, ...rest } = explanation
      return { ...rest, objections: [...objections], shadowObjections: [...shadowObjections] }
    },
  )
}

/** A draft of controls decides recorded authorizations again, and nothing is recorded. */
export function backTestControlsRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/cards/:publicToken/controls/back-test`,
    {
      bodyLimit: controlsBodyLimit,
      config: {
        access: 'cards.read',
        notRepeatable: 'it changes nothing',
        bodyRequired: true,
        bodyRules: limitRules,
        lists: true,
      },
      schema: {
        operationId: 'backTestCardControls',
        summary: "Back-test a draft of a card's spending controls",
        description:
          'Decides the recorded authorizations of a period again, as if the draft had been in ' +
          "force instead of the card's controls, beside the present controls of its product. " +
          'Nothing is spent or recorded. Takes up to some seconds; one back-test runs at a time.',
        tags,
        params: CardParamsSchema,
        body: schemas.BackTestCardControlsSchema,
        response: { 200: schemas.ControlsBackTestSchema },
      },
    },
    async (request, reply) => {
      const { from, to, ...members } = request.body
      const result = await backTestCard(
        issuing,
        createRequester(request),
        parsePublicToken(request),
        { ...backTests.toPeriod({ from, to }), controls: members },
        { gone: backTests.watchCaller(reply) },
      )
      return backTests.toBackTestAnswer(result)
    },
  )
}

/** The charge of the card counts: the amount that the network converted, if it sent one. */
function toControlled(entryMode: EntryMode, members: TransactionMembers): ControlledTransaction {
  const transaction = toTransaction(members)
  const money = findCharge(transaction)
  return { ...transaction, entryMode, money, cashCharge: findCashCharge(transaction) }
}
