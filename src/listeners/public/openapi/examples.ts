import type { Static } from 'typebox'
import { makeProductId } from '../../../domain/identifiers.ts'
import type { ProblemCode } from '../../../domain/problem.ts'
import { type ProblemKind, problemKinds } from '../../../domain/problem-kinds.ts'
import type { AskedSimulation } from '../routes/simulator.ts'
import type { GetCardDataBody } from '../schemas/card-data.ts'
import type * as cardSchemas from '../schemas/cards.ts'
import type { CreateWebhookBody, ReplaySchema, UpdateWebhookBody } from '../schemas/webhooks.ts'
import { answerHeaders } from './answer-headers.ts'

const createCard: cardSchemas.CreateCardBody = {
  cardType: 'Virtual',
  cardProduct: makeProductId(1001),
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: {
    addressLine1: 'Calle Mayor 1',
    city: 'Madrid',
    postCode: '28013',
    country: 'ESP',
  },
  customerReference: 'C-1',
}
const setPin: cardSchemas.SetPinBody = { pin: '4821' }
const updateCvvStatus: Static<typeof cardSchemas.UpdateCvvStatusSchema> = { status: 'Unblocked' }
const unblockPin: Static<typeof cardSchemas.UnblockPinSchema> = {}
const getCardData: GetCardDataBody = {
  deviceKey: {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  },
  nonce: 'm2T9xkQ0wZ5bYc7Rr4hVJg',
}
const simulateAuthorization: AskedSimulation = { publicToken: '4820117360', pin: '1357' }
const changeCardStatus: Static<typeof cardSchemas.ChangeCardStatusSchema> = { cardStatusCode: '62' }
const createWebhook: CreateWebhookBody = {
  url: 'https://client.example/pinfold',
  events: ['pin.blocked', 'cvv.blocked'],
}
const updateWebhook: UpdateWebhookBody = { ...createWebhook, status: 'Enabled' }
const replayWebhook: Static<typeof ReplaySchema> = { since: '2026-11-20T08:00:00Z' }

/** A body for each operation that takes one, by `operationId`: what a reader tries first must work. */
export const bodyExamples: Readonly<Record<string, object>> = {
  createCard,
  setPin,
  updateCvvStatus,
  unblockPin,
  changeCardStatus,
  getCardData,
  simulateAuthorization,
  createWebhook,
  updateWebhook,
  rotateWebhookSecret: {},
  pingWebhook: {},
  resendDelivery: {},
  replayWebhook,
}

/** The responses that some problems are answered with, by status. */
export function problemResponses(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = Object.groupBy(codes, (code) => String(problemKinds[code].status))
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, those = []]) => {
      const [only] = those
      // A problem alone on its status has a response by its name: it is the same in every operation.
      const isAlone = those.length === 1 && only !== undefined
      const reference = isAlone && { $ref: `#/components/responses/${responseName(only)}` }
      return [status, reference || inlineResponse(those)]
    }),
  )
}

/** The named responses that some paths refer to. */
export function namedProblemResponses(paths: object): Record<string, object> {
  const text = JSON.stringify(paths)
  return Object.fromEntries(
    (Object.keys(problemKinds) as ProblemCode[])
      .map((code) => [responseName(code), inlineResponse([code])] as const)
      .filter(([name]) => text.includes(`"#/components/responses/${name}"`))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )
}

/** `card_not_found` is `CardNotFound`. */
const responseName = (code: ProblemCode): string =>
  code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

function inlineResponse(codes: readonly ProblemCode[]): object {
  const kinds: readonly ProblemKind[] = codes.map((code) => problemKinds[code])
  const requestId = '3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'
  return {
    description: codes.map((code) => `\`${code}\`: ${problemKinds[code].title}`).join('\n\n'),
    headers: answerHeaders(
      kinds.flatMap(({ retryAfterSeconds, status }) => [
        ...(status === 401 || status === 403 ? ['WWW-Authenticate'] : []),
        ...(retryAfterSeconds === undefined ? [] : ['Retry-After']),
      ]),
    ),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          codes.map((code) => {
            const { status, title } = problemKinds[code]
            return [code, { value: { type: `/problems/${code}`, title, status, code, requestId } }]
          }),
        ),
      },
    },
  }
}
