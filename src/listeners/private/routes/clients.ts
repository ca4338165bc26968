import Type from 'typebox'
import { isClientId } from '../../../domain/client.ts'
import { Problem } from '../../../domain/problem.ts'
import {
  confirmClient,
  rotateClientSecret,
} from '../../../operations/clients/client-credentials.ts'
import type { ClientOperations } from '../../../operations/clients/clients.ts'
import {
  type ClientRecord,
  changeClient,
  createClient,
  getClient,
  listClients,
} from '../../../operations/clients/clients.ts'
import { pageOf, parseLimit, readCursor } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import {
  ChangeClientSchema,
  ClientSchema,
  ConfirmClientSchema,
  CreateClientSchema,
  CreatedClientSchema,
  RotatedClientSecretSchema,
  RotateSecretSchema,
} from '../schemas/clients.ts'
import { admin, adminChange, PageQuerySchema } from '../schemas/products.ts'
import { operatorOf } from './audit.ts'

const tags = ['Clients']
const params = Type.Object({ clientId: Type.String() })

/** Hours for which the secret before a rotation is taken, unless it is said. */
const overlapHoursDefault = 24

/** Who may call: client systems, card networks, administrators. */
export function clientRoutes(app: Server['app'], administration: ClientOperations): void {
  readingRoutes(app, administration)
  createRoute(app, administration)
  changeRoute(app, administration)
  rotateSecretRoute(app, administration)
  confirmRoute(app, administration)
}

function readingRoutes(app: Server['app'], administration: ClientOperations): void {
  app.get(
    '/clients',
    {
      config: admin,
      schema: {
        operationId: 'listClients',
        summary: 'List clients',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ClientSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const clients = await listClients(administration, readAfter(cursor), null, pageSize + 1)
      return pageOf(request, reply, clients, pageSize, (last) => [last.clientId]).map(told)
    },
  )
  app.get(
    '/clients/:clientId',
    {
      config: admin,
      schema: {
        operationId: 'findClient',
        summary: 'Read a client',
        tags,
        params,
        response: { 200: ClientSchema },
      },
    },
    async (request) => told(await getClient(administration, clientIdOf(request))),
  )
}

/** The client that a path names. @throws `Problem` `not_found` when it can be no client's id. */
export function clientIdOf({ params }: { params: { clientId: string } }): string {
  if (!isClientId(params.clientId)) throw new Problem('not_found')
  return params.clientId
}

/** The client after which a page begins. */
export const readAfter = (cursor: string | undefined): string =>
  readCursor(cursor, ([id]) => (isClientId(id) ? id : null)) ?? ''

function createRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/clients',
    {
      config: adminChange,
      schema: {
        operationId: 'createClient',
        summary: 'Register a client',
        description: 'Without `jwks` it gets a secret, which is shown this once.',
        tags,
        body: CreateClientSchema,
        response: { 201: CreatedClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await createClient(
        administration,
        operatorOf(request),
        request.body,
        repeatable(request),
      )
      const client = told(answerOf(reply, answer))
      return reply.code(201).header('location', `/clients/${client.clientId}`).send(client)
    },
  )
}

function changeRoute(app: Server['app'], administration: ClientOperations): void {
  app.patch(
    '/clients/:clientId',
    {
      config: adminChange,
      schema: {
        operationId: 'changeClient',
        summary: 'Change a client',
        description: 'What is left out stays. `active` false disables it within 60 seconds.',
        tags,
        params,
        body: ChangeClientSchema,
        response: { 200: ClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await changeClient(
        administration,
        operatorOf(request),
        { clientId: clientIdOf(request), draft: request.body },
        repeatable(request),
      )
      return told(answerOf(reply, answer))
    },
  )
}

function rotateSecretRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/clients/:clientId/rotate-secret',
    {
      config: { access: 'admin', repeatable: true },
      schema: {
        operationId: 'rotateClientSecret',
        summary: "Change a client's secret",
        description: 'The new one is shown this once. For `overlapHours` both are taken.',
        tags,
        params,
        body: RotateSecretSchema,
        response: { 200: RotatedClientSecretSchema },
      },
    },
    async (request, reply) => {
      const answer = await rotateClientSecret(
        administration,
        operatorOf(request),
        {
          clientId: clientIdOf(request),
          overlapHours: request.body?.overlapHours ?? overlapHoursDefault,
        },
        repeatable(request),
      )
      return answerOf(reply, answer)
    },
  )
}

function confirmRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/clients/:clientId/confirm',
    {
      config: adminChange,
      schema: {
        operationId: 'confirmClient',
        summary: 'Confirm who holds the credentials of an administrator',
        description:
          'By another administrator who had no hand in it, after looking at its keys with their owner.',
        tags,
        params,
        body: ConfirmClientSchema,
        response: { 200: ClientSchema },
      },
    },
    async (request, reply) => {
      const answer = await confirmClient(
        administration,
        operatorOf(request),
        { clientId: clientIdOf(request), credentialsVersion: request.body.credentialsVersion },
        repeatable(request),
      )
      return told(answerOf(reply, answer))
    },
  )
}

const told = <Told extends ClientRecord>({
  confirmedBy,
  controlledBy,
  jwks,
  productIds,
  scopes,
  ...client
}: Told) => ({
  ...client,
  confirmedBy: [...confirmedBy],
  controlledBy: [...controlledBy],
  jwks: jwks && { keys: [...jwks.keys] },
  productIds: [...productIds],
  scopes: [...scopes],
})
