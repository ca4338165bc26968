import Type from 'typebox'
import {
  confirmClient,
  rotateClientSecret,
} from '../../../operations/clients/client-credentials.ts'
import {
  type ClientRecord,
  changeClient,
  createClient,
  getClient,
  listClients,
} from '../../../operations/clients/clients.ts'
import { PageQuerySchema, pageOf, parseLimit } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import {
  admin,
  adminAct,
  adminChange,
  clientAfter,
  clientIdOf,
  operatorOf,
  type PrivateApi,
} from '../api.ts'
import {
  ChangeClientSchema,
  ClientSchema,
  ConfirmClientSchema,
  CreateClientSchema,
  CreatedClientSchema,
  RotatedClientSecretSchema,
  RotateSecretSchema,
} from '../schemas/clients.ts'

const tags = ['Clients']
const params = Type.Object({ clientId: Type.String() })

/** Who may call: client systems, card networks, administrators. */
export function clientRoutes({ administration, app }: PrivateApi): void {
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
      const clients = await listClients(administration, clientAfter(cursor), null, pageSize + 1)
      return pageOf(request, reply, clients, pageSize, (last) => [last.clientId]).map(clientAnswer)
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
    async (request) => clientAnswer(await getClient(administration, clientIdOf(request))),
  )
}

export function createClientRoute({ administration, app }: PrivateApi): void {
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
      const client = clientAnswer(answerOf(reply, answer))
      return reply.code(201).header('location', `/clients/${client.clientId}`).send(client)
    },
  )
}

export function changeClientRoute({ administration, app }: PrivateApi): void {
  app.patch(
    '/clients/:clientId',
    {
      config: adminChange,
      schema: {
        operationId: 'changeClient',
        summary: 'Change a client',
        description:
          'Members that are left out stay as they are. `active` false disables it within 60 seconds.',
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
      return clientAnswer(answerOf(reply, answer))
    },
  )
}

export function rotateClientSecretRoute({ administration, app }: PrivateApi): void {
  app.post(
    '/clients/:clientId/rotate-secret',
    {
      config: adminAct,
      schema: {
        operationId: 'rotateClientSecret',
        summary: "Change a client's secret",
        description:
          'The new one is shown this once. Both are accepted for `overlapHours`, 24 unless given.',
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
        { clientId: clientIdOf(request), overlapHours: request.body?.overlapHours ?? 24 },
        repeatable(request),
      )
      return answerOf(reply, answer)
    },
  )
}

export function confirmClientRoute({ administration, app }: PrivateApi): void {
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
      return clientAnswer(answerOf(reply, answer))
    },
  )
}

/** A client in the form of its schema, whose lists can be changed. */
const clientAnswer = <Record extends ClientRecord>({
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
