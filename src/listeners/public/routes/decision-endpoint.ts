import type { FastifyRequest } from 'fastify'
import type { EndpointSettings } from '../../../domain/decision.ts'
import { makeProductId, type ProductId } from '../../../domain/identifiers.ts'
import { type ProblemError, validationFailed } from '../../../domain/problem.ts'
import type { WebhookSecret } from '../../../domain/webhook-secret.ts'
import * as endpoints from '../../../operations/decisions/endpoints.ts'
import { rotateDecisionKeys } from '../../../operations/decisions/rotate-keys.ts'
import { checkRule } from '../../../operations/decisions/rule.ts'
import type { RepeatableRequest } from '../../../operations/idempotency/idempotency.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { apiVersion } from '../../http/request.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PublicApi } from '../api.ts'
import { NoContentSchema } from '../schemas/cards.ts'
import * as schemas from '../schemas/decision-endpoint.ts'
import { boundTrials } from './decision-trials.ts'

const tags = ['Decisions']
const access = 'decisions.write'
const querystring = schemas.EndpointQuerySchema

/** Routes by which a client says where its authorizations are decided. */
export function decisionEndpointRoutes(api: PublicApi): void {
  findRoute(api)
  registerRoute(api)
  removeRoute(api)
  activateRoute(api)
  rollBackRoute(api)
  rotateRoute(api)
}

function findRoute({ app, base, decisionEndpoints }: PublicApi): void {
  app.get(
    `${base}/decision-endpoint`,
    {
      config: { access, problems: ['not_found'] },
      schema: {
        operationId: 'findDecisionEndpoint',
        summary: 'Read the decision endpoint',
        description: 'The draft, and the versions in force, each with its settings.',
        tags,
        querystring,
        response: { 200: schemas.DecisionEndpointSchema },
      },
    },
    async (request) => {
      const productId = parseProduct(request)
      const record = await endpoints.findEndpoint(
        decisionEndpoints,
        createRequester(request),
        productId,
      )
      return toAnswer(record)
    },
  )
}

function registerRoute({ app, base, decisionEndpoints, faultOfTarget }: PublicApi): void {
  app.put(
    `${base}/decision-endpoint`,
    {
      config: {
        access,
        repeatable: true,
        bodyRequired: true,
        problems: ['product_not_available'],
      },
      schema: {
        operationId: 'setDecisionEndpoint',
        summary: 'Register a draft of the decision endpoint',
        description:
          'Nothing is sent to it before it is activated. Settings that are registered already ' +
          'make no version. The answer to the first registration shows the `secret`.',
        tags,
        querystring,
        body: schemas.PutDecisionEndpointSchema,
        response: { 200: schemas.RegisteredDecisionEndpointSchema },
      },
    },
    async (request, reply) => {
      const settings = parseSettings(request.body, faultOfTarget)
      const answer = await endpoints.registerEndpoint(
        decisionEndpoints,
        createRequester(request),
        parseProduct(request),
        { settings, apiVersion },
        repeatableOf(request),
      )
      const { secret, ...record } = markReplay(reply, answer)
      return { ...toAnswer(record), ...revealed(secret) }
    },
  )
}

function removeRoute({ app, base, decisionEndpoints }: PublicApi): void {
  app.delete(
    `${base}/decision-endpoint`,
    {
      config: { access, problems: ['not_found'] },
      schema: {
        operationId: 'removeDecisionEndpoint',
        summary: 'Remove the decision endpoint',
        description: 'The checks alone decide from then on. Its versions stay on record.',
        tags,
        querystring: schemas.RemovalQuerySchema,
        response: { 204: NoContentSchema },
      },
    },
    async (request, reply) => {
      const part = request.query.mode ?? 'all'
      const requester = createRequester(request)
      await endpoints.removeEndpoint(decisionEndpoints, requester, parseProduct(request), part)
      return reply.code(204).send(null)
    },
  )
}

function activateRoute({ app, base, decisionEndpoints }: PublicApi): void {
  const ask = boundTrials()
  app.post(
    `${base}/decision-endpoint/activate`,
    {
      config: {
        access,
        repeatable: true,
        problems: ['not_found', 'decision_version_conflict', 'decision_ping_failed'],
      },
      schema: {
        operationId: 'activateDecisionEndpoint',
        summary: 'Put the draft of the decision endpoint in force',
        description:
          'A signed ping goes to it first, which it must answer with status 200 and the same ' +
          '`challenge`, within its time-out.',
        tags,
        querystring,
        body: EmptyBodySchema,
        response: { 200: schemas.DecisionEndpointSchema },
      },
    },
    async (request, reply) => {
      const answer = await ask(request, (onWaiting) =>
        endpoints.activateEndpoint(
          { ...decisionEndpoints, onWaiting },
          createRequester(request),
          parseProduct(request),
          repeatableOf(request),
        ),
      )
      return toAnswer(markReplay(reply, answer))
    },
  )
}

function rollBackRoute({ app, base, decisionEndpoints }: PublicApi): void {
  app.post(
    `${base}/decision-endpoint/rollback`,
    {
      config: {
        access,
        repeatable: true,
        problems: ['not_found', 'decision_version_conflict'],
      },
      schema: {
        operationId: 'rollBackDecisionEndpoint',
        summary: 'Put the previous version in force',
        description: 'At once, without a ping. What it replaces becomes the draft.',
        tags,
        querystring,
        body: EmptyBodySchema,
        response: { 200: schemas.DecisionEndpointSchema },
      },
    },
    async (request, reply) => {
      const answer = await endpoints.rollBackEndpoint(
        decisionEndpoints,
        createRequester(request),
        parseProduct(request),
        repeatableOf(request),
      )
      return toAnswer(markReplay(reply, answer))
    },
  )
}

function rotateRoute({ app, base, decisionEndpoints }: PublicApi): void {
  app.post(
    `${base}/decision-endpoint/rotate-secret`,
    {
      config: { access, repeatable: true, problems: ['not_found'] },
      schema: {
        operationId: 'rotateDecisionSecret',
        summary: 'Change the keys that sign requests for decisions',
        description:
          'Only this answer shows the new `secret`. For 24 hours the former keys also sign every ' +
          'request. At most five times in 24 hours.',
        tags,
        body: EmptyBodySchema,
        response: { 200: schemas.RotatedDecisionKeysSchema },
      },
    },
    async (request, reply) => {
      const answer = await rotateDecisionKeys(
        decisionEndpoints,
        createRequester(request),
        repeatable(request),
      )
      const { secret, signingKeys } = markReplay(reply, answer)
      return { signingKeys: [...signingKeys], ...revealed(secret) }
    },
  )
}

type EndpointRequest = FastifyRequest & { readonly query: { readonly productId?: string } }

/** Returns the product of the endpoint; null for all products. */
const parseProduct = ({ query: { productId } }: EndpointRequest): ProductId | null =>
  productId === undefined ? null : makeProductId(Number(productId))

/** The product in the query is a part of the request: the same key for another one is refused. */
const repeatableOf = (request: EndpointRequest): RepeatableRequest | null =>
  repeatable(request, { body: { productId: request.query.productId, body: request.body } })

/** Applies the defaults. @throws `Problem` `validation_failed`. */
function parseSettings(
  { fallback = {}, ...body }: schemas.PutDecisionEndpointBody,
  faultOfTarget: PublicApi['faultOfTarget'],
): EndpointSettings {
  const settings: EndpointSettings = {
    url: body.url ?? null,
    timeoutMs: body.timeoutMs ?? 1_500,
    maxInFlight: body.maxInFlight ?? 100,
    fallback: {
      onTimeout: fallback.onTimeout ?? 'decline',
      onError: fallback.onError ?? 'decline',
      rule: fallback.rule ?? null,
    },
    mode: body.mode ?? 'enforce',
    samplePercent: body.sample ?? 100,
    format: body.format ?? 'pinfold',
  }
  const faults = findFaults(settings, faultOfTarget)
  if (faults.length > 0) throw validationFailed(...faults)
  return settings
}

function findFaults(
  { fallback, format, url }: EndpointSettings,
  faultOfTarget: PublicApi['faultOfTarget'],
): ProblemError[] {
  const faults: ProblemError[] = []
  const ofTarget = url === null ? null : faultOfTarget(url)
  if (ofTarget !== null) faults.push({ pointer: '/url', detail: ofTarget })
  if (url === null && format !== 'pinfold') {
    faults.push({ pointer: '/format', detail: 'must be pinfold without a url' })
  }
  const needsRule = fallback.onTimeout === 'rule' || fallback.onError === 'rule'
  if (needsRule && fallback.rule === null) {
    faults.push({ pointer: '/fallback/rule', detail: 'must be given for the kind rule' })
  }
  const ofRule = fallback.rule === null ? null : checkRule(fallback.rule)
  if (ofRule !== null) faults.push({ pointer: '/fallback/rule', detail: ofRule })
  return faults
}

/** Returns a secret that is shown once; nothing in a repeat. */
const revealed = (secret: WebhookSecret | undefined): { readonly secret?: string } =>
  secret ? { secret: secret.reveal() } : {}

/** The types of the schema have no read-only lists. */
const toAnswer = (record: endpoints.EndpointRecord) => ({
  ...record,
  signingKeys: [...record.signingKeys],
})
