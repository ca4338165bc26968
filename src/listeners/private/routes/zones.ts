import Type from 'typebox'
import type { ClientOperations } from '../../../operations/clients/clients.ts'

import { createClient } from '../../../operations/clients/clients.ts'
import { listZones, retireZone, type ZoneRecord } from '../../../operations/clients/zones.ts'
import { pageOf, parseLimit } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import { CreateZoneSchema, EmptyObjectSchema, ZoneSchema } from '../schemas/clients.ts'
import { admin, adminChange, PageQuerySchema } from '../schemas/products.ts'
import { operatorOf } from './audit.ts'
import { clientIdOf, readAfter } from './clients.ts'

const tags = ['Zones']

/** Card networks: each is a client that asks for authorizations, with keys for its PIN blocks. */
export function zoneRoutes(app: Server['app'], administration: ClientOperations): void {
  app.get(
    '/zones',
    {
      config: admin,
      schema: {
        operationId: 'listZones',
        summary: 'List card networks and their keys',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ZoneSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const zones = await listZones(administration, readAfter(cursor), pageSize + 1)
      return pageOf(request, reply, zones, pageSize, (last) => [last.clientId]).map(told)
    },
  )
  createRoute(app, administration)
  retireRoute(app, administration)
}

function createRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/zones',
    {
      config: adminChange,
      schema: {
        operationId: 'createZone',
        summary: 'Register a card network',
        description: 'Without `jwks` its secret is shown this once. Its keys are brought by /keys.',
        tags,
        body: CreateZoneSchema,
        response: {
          201: Type.Intersect([
            ZoneSchema,
            Type.Object({ clientSecret: Type.Optional(Type.String({ 'x-secret': true })) }),
          ]),
        },
      },
    },
    async (request, reply) => {
      const answer = await createClient(
        administration,
        operatorOf(request),
        { ...request.body, kind: 'network', scopes: ['authorizations.write'] },
        repeatable(request),
      )
      const { active, clientId, clientName, clientSecret } = answerOf(reply, answer)
      const zone = { clientId, clientName, active, keys: [] }
      return reply.code(201).send({ ...zone, ...(clientSecret !== undefined && { clientSecret }) })
    },
  )
}

function retireRoute(app: Server['app'], administration: ClientOperations): void {
  app.post(
    '/zones/:clientId/retire',
    {
      config: { access: 'admin', repeatable: true },
      schema: {
        operationId: 'retireZone',
        summary: 'Retire a card network with all of its keys',
        tags,
        params: Type.Object({ clientId: Type.String() }),
        body: EmptyObjectSchema,
        response: { 200: ZoneSchema },
      },
    },
    async (request, reply) => {
      const clientId = clientIdOf(request)
      const operator = operatorOf(request)
      return told(
        answerOf(reply, await retireZone(administration, operator, clientId, repeatable(request))),
      )
    },
  )
}

const told = ({ keys, ...zone }: ZoneRecord) => ({
  ...zone,
  keys: keys.map(({ pinBlockFormats, ...key }) => ({
    ...key,
    pinBlockFormats: [...pinBlockFormats],
  })),
})
