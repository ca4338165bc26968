import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import {
  confirmClient,
  rotateClientSecret,
} from '../../../operations/clients/client-credentials.ts'
import * as clientOperations from '../../../operations/clients/clients.ts'
import { PageQuerySchema, pageOf, parseLimit } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import * as privateApi from '../api.ts'
import { grantsDisclosure } from '../approval-gate.ts'
import * as clientSchemas from '../schemas/clients.ts'

const tags = ['Clients']
const params = Type.Object({ clientId: Type.String() })
type ClientRequest = FastifyRequest<{ Params: { clientId: string } }>

/** Who may call: client systems, card networks, administrators. */
export function clientRoutes({ administration, app }: privateApi.PrivateApi): void {
  app.get(
    '/clients',
    {
      config: privateApi.adminOrSupport,
      schema: {
        operationId: 'listClients',
        summary: 'List clients',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(clientSchemas.ClientSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const clients = await clientOperations.listClients(
        administration,
        privateApi.clientAfter(cursor),
        null,
        pageSize + 1,
      )
      return pageOf(request, reply, clients, {
        limit: pageSize,
        positionOf: (last) => [last.clientId],
      }).map(clientAnswer)
    },
  )
  app.get(
    '/clients/:clientId',
    {
      config: privateApi.adminOrSupport,
      schema: {
        operationId: 'findClient',
        summary: 'Read a client',
        tags,
        params,
        response: { 200: clientSchemas.ClientSchema },
      },
    },
    async (request) =>
      clientAnswer(
        await clientOperations.getClient(administration, privateApi.clientIdOf(request)),
      ),
  )
}

export function createClientRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/clients',
    {
      config: {
        ...privateApi.adminChange,
        approval: {
          kinds: ['administrator', 'disclosure-scopes'],
          async kindOf({ body }) {
            const { kind, scopes } = Object(body)
            if (kind === 'admin') return 'administrator'
            return grantsDisclosure(scopes) ? 'disclosure-scopes' : null
          },
          fault: ({ body }) =>
            Object(body).jwks === undefined
              ? { pointer: '/jwks', detail: 'must be given: nobody would be shown a secret' }
              : null,
        },
      },
      schema: {
        operationId: 'createClient',
        summary: 'Register a client',
        description: 'Without `jwks` it gets a secret, which is shown this once.',
        tags,
        body: clientSchemas.CreateClientSchema,
        response: { 201: clientSchemas.CreatedClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await clientOperations.createClient(
        administration,
        privateApi.operatorOf(request),
        request.body,
        repeatable(request),
      )
      const client = clientAnswer(answerOf(reply, answer))
      return reply.code(201).header('location', `/clients/${client.clientId}`).send(client)
    },
  )
}

export function changeClientRoute({ administration, app }: privateApi.PrivateApi): void {
  app.patch(
    '/clients/:clientId',
    {
      config: {
        ...privateApi.adminChange,
        approval: {
          kinds: ['administrator', 'disclosure-scopes'],
          async kindOf(request) {
            const { active, jwks, scopes } = Object(request.body)
            const clientId = privateApi.clientIdOf(request as ClientRequest)
            const before = await clientOperations.getClient(administration, clientId)
            if (before.kind === 'admin') {
              // Other keys are another administrator, and so is one who is let in again.
              const isNew = active === true || jwks !== undefined || scopes !== undefined
              return isNew ? 'administrator' : null
            }
            const isGiven = grantsDisclosure(scopes)
            const isEnabled = active === true && !before.active && grantsDisclosure(before.scopes)
            return isGiven || isEnabled ? 'disclosure-scopes' : null
          },
        },
      },
      schema: {
        operationId: 'changeClient',
        summary: 'Change a client',
        description:
          'Members that are left out stay as they are. `active` false disables it within 60 seconds.',
        tags,
        params,
        body: clientSchemas.ChangeClientSchema,
        response: { 200: clientSchemas.ClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await clientOperations.changeClient(
        administration,
        privateApi.operatorOf(request),
        { clientId: privateApi.clientIdOf(request), draft: request.body },
        repeatable(request),
      )
      return clientAnswer(answerOf(reply, answer))
    },
  )
}

export function rotateClientSecretRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/clients/:clientId/rotate-secret',
    {
      config: {
        ...privateApi.adminAct,
        approval: {
          kinds: ['administrator'],
          async kindOf(request) {
            const clientId = privateApi.clientIdOf(request as ClientRequest)
            const { kind } = await clientOperations.getClient(administration, clientId)
            return kind === 'admin' ? 'administrator' : null
          },
          fault: () => ({ pointer: '', detail: 'is not for an administrator here: give it jwks' }),
        },
      },
      schema: {
        operationId: 'rotateClientSecret',
        summary: "Change a client's secret",
        description:
          'The new one is shown this once. Both are accepted for `overlapHours`, 24 unless given.',
        tags,
        params,
        body: clientSchemas.RotateSecretSchema,
        response: { 200: clientSchemas.RotatedClientSecretSchema },
      },
    },
    async (request, reply) => {
      const answer = await rotateClientSecret(
        administration,
        privateApi.operatorOf(request),
        {
          clientId: privateApi.clientIdOf(request),
          overlapHours: request.body?.overlapHours ?? 24,
        },
        repeatable(request),
      )
      return answerOf(reply, answer)
    },
  )
}

export function confirmClientRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/clients/:clientId/confirm',
    {
      config: privateApi.adminChange,
      schema: {
        operationId: 'confirmClient',
        summary: 'Confirm who holds the credentials of an administrator',
        description:
          'By another administrator who had no hand in it, after looking at its keys with their owner.',
        tags,
        params,
        body: clientSchemas.ConfirmClientSchema,
        response: { 200: clientSchemas.ClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await confirmClient(
        administration,
        privateApi.operatorOf(request),
        {
          clientId: privateApi.clientIdOf(request),
          credentialsVersion: request.body.credentialsVersion,
        },
        repeatable(request),
      )
      return clientAnswer(answerOf(reply, answer))
    },
  )
}

/** A client in the form of its schema, whose lists can be changed. */
const clientAnswer = <Record extends clientOperations.ClientRecord>({
  confirmedBy,
  controlledBy,
  jwks,
  productIds,
  scopes,
  ...client
}: Record) => ({
  ...client,
  confirmedBy: [...confirmedBy],
  controlledBy: [...controlledBy],
  jwks: jwks && { keys: [...jwks.keys] },
  productIds: [...productIds],
  scopes: [...scopes],
})
