import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import {
  confirmClient,
  rotateClientSecret,
} from '../../../operations/clients/client-credentials.ts'
import * as clientOperations from '../../../operations/clients/clients.ts'
import { cutPage, PageQuerySchema, parseLimit } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import * as privateApi from '../api.ts'
import { approvalByBody, judgeAgain } from '../approval-gate.ts'
import {
  findKeyFault,
  findScopeFault,
  findSecretHashFault,
  listChangeKinds,
  listRegistrationKinds,
  listRotationKinds,
} from '../client-approvals.ts'
import * as clientSchemas from '../schemas/clients.ts'

const tags = ['Clients']
const params = Type.Object({ clientId: Type.String() })
type ClientRequest = FastifyRequest<{ Params: { clientId: string } }>

/** Routes for clients: client systems, card networks and administrators. */
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
      return cutPage(request, reply, clients, {
        limit: pageSize,
        toPosition: (last) => [last.clientId],
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
        response: { 200: clientSchemas.NamedClientSchema },
      },
    },
    async (request) =>
      clientAnswer(
        await clientOperations.findNamedClient(administration, privateApi.parseClientId(request)),
      ),
  )
}

export function createClientRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/clients',
    {
      config: {
        ...privateApi.adminChange,
        approval: approvalByBody(clientSchemas.CreateClientSchema, {
          kinds: ['administrator', 'disclosure-scopes', 'network'],
          findKinds: listRegistrationKinds,
          findFault: findKeyFault,
        }),
      },
      schema: {
        operationId: 'createClient',
        summary: 'Register a client',
        description: 'Without `jwks`, the answer has a secret, which is shown only now.',
        tags,
        body: clientSchemas.CreateClientSchema,
        response: { 201: clientSchemas.CreatedClientSchema },
      },
    },
    async (request, reply) => {
      const { reason = null, ...draft } = request.body
      const answer = await clientOperations.createClient(
        administration,
        privateApi.createRequester(request, reason),
        draft,
        repeatable(request),
      )
      const client = clientAnswer(markReplay(reply, answer))
      return reply.code(201).header('location', `/clients/${client.clientId}`).send(client)
    },
  )
}

export function changeClientRoute({ administration, app, approvals }: privateApi.PrivateApi): void {
  app.patch(
    '/clients/:clientId',
    {
      config: {
        ...privateApi.adminChange,
        approval: approvalByBody(clientSchemas.ChangeClientSchema, {
          kinds: ['administrator', 'disclosure-scopes', 'client-credentials', 'network'],
          async findKinds(change, request) {
            const clientId = privateApi.parseClientId(request as ClientRequest)
            const before = await clientOperations.findClientRecord(administration, clientId)
            return listChangeKinds(before, change)
          },
          async findFault(change, request) {
            const clientId = privateApi.parseClientId(request as ClientRequest)
            const before = await clientOperations.findClientRecord(administration, clientId)
            return findScopeFault(before, change)
          },
        }),
      },
      schema: {
        operationId: 'changeClient',
        summary: 'Change a client',
        description:
          'Absent members do not change. `active` false disables the client within 60 seconds.',
        tags,
        params,
        body: clientSchemas.ChangeClientSchema,
        response: { 200: clientSchemas.ClientSchema },
      },
    },
    async (request, reply) => {
      const { reason = null, ...draft } = request.body
      const answer = await clientOperations.changeClient(
        administration,
        privateApi.createRequester(request, reason),
        {
          clientId: privateApi.parseClientId(request),
          draft,
          assertAllowed: (before) =>
            judgeAgain(
              approvals,
              request,
              listChangeKinds(before, draft),
              findScopeFault(before, draft),
            ),
        },
        repeatable(request),
      )
      return clientAnswer(markReplay(reply, answer))
    },
  )
}

export function rotateClientSecretRoute({
  administration,
  app,
  approvals,
}: privateApi.PrivateApi): void {
  app.post(
    '/clients/:clientId/rotate-secret',
    {
      config: {
        ...privateApi.adminAct,
        approval: approvalByBody(clientSchemas.RotateSecretSchema, {
          kinds: ['administrator', 'client-credentials', 'network'],
          async findKinds(_, request) {
            const clientId = privateApi.parseClientId(request as ClientRequest)
            return listRotationKinds(
              await clientOperations.findClientRecord(administration, clientId),
            )
          },
          findFault: findSecretHashFault,
        }),
      },
      schema: {
        operationId: 'rotateClientSecret',
        summary: "Change a client's secret",
        description:
          'The answer shows the new secret once, unless you generated it and sent its hash. ' +
          'Both secrets are accepted for `overlapHours`, by default 24.',
        tags,
        params,
        body: clientSchemas.RotateSecretSchema,
        response: { 200: clientSchemas.RotatedClientSecretSchema },
      },
    },
    async (request, reply) => {
      const answer = await rotateClientSecret(
        administration,
        privateApi.createRequester(request, request.body?.reason),
        {
          clientId: privateApi.parseClientId(request),
          overlapHours: request.body?.overlapHours ?? 24,
          secretHash: request.body?.secretHash ?? null,
          assertAllowed: (before) => judgeAgain(approvals, request, listRotationKinds(before)),
        },
        repeatable(request),
      )
      return markReplay(reply, answer)
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
          'For another administrator who did not register the client or issue its credentials, ' +
          'after comparing its keys with their owner.',
        tags,
        params,
        body: clientSchemas.ConfirmClientSchema,
        response: { 200: clientSchemas.ClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await confirmClient(
        administration,
        privateApi.createRequester(request),
        {
          clientId: privateApi.parseClientId(request),
          credentialsVersion: request.body.credentialsVersion,
        },
        repeatable(request),
      )
      return clientAnswer(markReplay(reply, answer))
    },
  )
}

/** Converts a client to its schema, whose lists are mutable. */
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
