import Type from 'typebox'
import { createClient } from '../../../operations/clients/clients.ts'
import { listZones, retireZone, type ZoneRecord } from '../../../operations/keys/zones.ts'
import { cutPage, PageQuerySchema, parseLimit } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import * as privateApi from '../api.ts'
import { approvalByBody } from '../approval-gate.ts'
import { findKeyFault } from '../client-approvals.ts'
import { CreateZoneSchema, ZoneSchema } from '../schemas/clients.ts'
import { ActReasonSchema } from '../schemas/reasons.ts'

const tags = ['Zones']

/**
 * Routes for card networks: each is a client that sends authorization requests, with keys for its
 * PIN blocks.
 */
export function listZonesRoute({ administration, app }: privateApi.PrivateApi): void {
  app.get(
    '/zones',
    {
      config: privateApi.adminOrSupport,
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
      const zones = await listZones(administration, privateApi.clientAfter(cursor), pageSize + 1)
      return cutPage(request, reply, zones, {
        limit: pageSize,
        toPosition: (last) => [last.clientId],
      }).map(zoneAnswer)
    },
  )
}

export function createZoneRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/zones',
    {
      config: {
        ...privateApi.adminChange,
        approval: approvalByBody(CreateZoneSchema, {
          kinds: ['network'],
          findFault: findKeyFault,
        }),
      },
      schema: {
        operationId: 'createZone',
        summary: 'Register a card network',
        description:
          'Without `jwks`, the answer has a secret, which is shown only now. Add its keys at ' +
          '/keys.',
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
      const { reason = null, ...draft } = request.body
      const answer = await createClient(
        administration,
        privateApi.createRequester(request, reason),
        { ...draft, kind: 'network', scopes: ['authorizations.write'] },
        repeatable(request),
      )
      const { active, clientId, clientName, clientSecret } = markReplay(reply, answer)
      const zone = { clientId, clientName, active, keys: [] }
      return reply.code(201).send({ ...zone, ...(clientSecret !== undefined && { clientSecret }) })
    },
  )
}

export function retireZoneRoute({ administration, app }: privateApi.PrivateApi): void {
  app.post(
    '/zones/:clientId/retire',
    {
      config: { ...privateApi.adminAct, approval: { kinds: ['network-retirement'] } },
      schema: {
        operationId: 'retireZone',
        summary: 'Retire a card network with all of its keys',
        tags,
        params: Type.Object({ clientId: Type.String() }),
        body: ActReasonSchema,
        response: { 200: ZoneSchema },
      },
    },
    async (request, reply) => {
      const clientId = privateApi.parseClientId(request)
      const operator = privateApi.createRequester(request, request.body?.reason)
      return zoneAnswer(
        markReplay(
          reply,
          await retireZone(administration, operator, clientId, repeatable(request)),
        ),
      )
    },
  )
}

const zoneAnswer = ({ keys, ...zone }: ZoneRecord) => ({
  ...zone,
  keys: keys.map(({ pinBlockFormats, ...key }) => ({
    ...key,
    pinBlockFormats: [...pinBlockFormats],
  })),
})
