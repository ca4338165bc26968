import Type from 'typebox'
import { parseLimit, readCursor } from '../../http/cursor.ts'
import { pageOf } from '../../http/page.ts'
import { answerOf, noContent, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import { generateKey } from '../../key-management/generate-key.ts'
import type { KeyManagement } from '../../key-management/key-management.ts'
import { listActs } from '../../key-management/list-acts.ts'
import { type KeyPosition, keyFamilies, listKeys } from '../../key-management/list-keys.ts'
import { deleteKey, retireKey } from '../../key-management/retire-key.ts'
import { retireZone } from '../../key-management/retire-zone.ts'
import { rotateKey } from '../../key-management/rotate-key.ts'
import { rotateMasterKey } from '../../key-management/rotate-master-key.ts'
import { parseActPosition } from './administration/acts.ts'
import { PageQuerySchema } from './administration/schemas.ts'
import {
  checkValue,
  closed,
  formMembers,
  formOf,
  KeptVersionSchema,
  KeyActSchema,
  keyName,
  ListedKeySchema,
  targetMembers,
  targetOf,
} from './key-schemas.ts'
import { travelRoutes } from './key-travel.ts'
import { operatorOf } from './operator.ts'

const admin = { access: 'admin' } as const
const act = { access: 'admin', repeatable: true } as const
const actWithBody = { ...act, bodyRequired: true } as const
const tags = ['Keys']

function parseKeyPosition([
  family,
  key,
  version,
  clientId,
]: readonly unknown[]): KeyPosition | null {
  const known = keyFamilies.find((each) => each === family)
  const isText = typeof key === 'string' && typeof clientId === 'string'
  const isNumber = Number.isInteger(version) && Number(version) >= 0 && Number(version) < 2 ** 31
  if (!known || !isText || !isNumber || `${key}${clientId}`.includes('\0')) return null
  return { family: known, key, version: Number(version), clientId }
}

/** The life of keys. None of these calls carries a key in clear, either way. */
export function keyRoutes(app: Server['app'], keys: KeyManagement): void {
  app.get(
    '/keys',
    {
      config: admin,
      schema: {
        operationId: 'listKeys',
        summary: 'List keys',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ListedKeySchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, parseKeyPosition)
      const listed = await listKeys(keys, after, pageSize + 1)
      return pageOf(request, reply, listed, pageSize, (last) => [
        ...[last.family, last.key, last.version ?? 0, last.clientId ?? ''],
      ]) as never
    },
  )
  app.get(
    '/keys/acts',
    {
      config: admin,
      schema: {
        operationId: 'listKeyActs',
        summary: 'List what was done to keys',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(KeyActSchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, parseActPosition)
      const acts = await listActs(keys, after, pageSize + 1)
      return pageOf(request, reply, acts, pageSize, ({ actId, at }) => [at, actId])
    },
  )
  makingRoutes(app, keys)
  travelRoutes(app, keys)
  lifeRoutes(app, keys)
}

const NewKeySchema = Type.Object(
  { ...targetMembers, ...formMembers, exportable: Type.Optional(Type.Boolean()) },
  closed,
)

function makingRoutes(app: Server['app'], keys: KeyManagement): void {
  app.post(
    '/keys',
    {
      config: actWithBody,
      schema: {
        operationId: 'generateKey',
        summary: 'Generate a key',
        tags,
        body: NewKeySchema,
        response: { 201: KeptVersionSchema },
      },
    },
    async (request, reply) => {
      const { exportable = false, ...body } = request.body
      const key = { target: targetOf(body), form: formOf(body), exportable }
      const answer = await generateKey(keys, operatorOf(request), key, repeatable(request))
      return reply.code(201).send(answerOf(reply, answer))
    },
  )
  app.post(
    '/keys/:key/rotate',
    {
      config: act,
      schema: {
        operationId: 'rotateKey',
        summary: 'Rotate a key',
        tags,
        params: Type.Object({ key: keyName }),
        response: {
          202: Type.Object({
            key: Type.String(),
            version: Type.Integer(),
            activatesAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
          }),
        },
      },
    },
    async (request, reply) => {
      const { key } = request.params
      const answer = await rotateKey(keys, operatorOf(request), key, repeatable(request))
      return reply.code(202).send(answerOf(reply, answer))
    },
  )
  masterKeyRoute(app, keys)
}

function masterKeyRoute(app: Server['app'], keys: KeyManagement): void {
  app.post(
    '/keys/master-key/rotate',
    {
      config: actWithBody,
      schema: {
        operationId: 'rotateMasterKey',
        summary: 'Rotate the master key',
        tags,
        body: Type.Object({ keyCheckValue: Type.Optional(checkValue) }, closed),
        response: {
          200: Type.Object({
            before: Type.String(),
            after: Type.String(),
            keyBlocks: Type.Integer(),
          }),
        },
      },
    },
    async (request, reply) => {
      const checkValue = request.body.keyCheckValue?.toUpperCase() ?? null
      const operator = operatorOf(request)
      return answerOf(reply, await rotateMasterKey(keys, operator, checkValue, repeatable(request)))
    },
  )
}

const VersionParams = Type.Object({
  key: keyName,
  version: Type.String({ pattern: '^[1-9][0-9]{0,4}$' }),
})

function lifeRoutes(app: Server['app'], keys: KeyManagement): void {
  const none = { response: { 204: Type.Null() } }
  app.post(
    '/keys/:key/versions/:version/retire',
    {
      config: act,
      schema: { operationId: 'retireKey', summary: 'Retire', tags, params: VersionParams, ...none },
    },
    async (request, reply) => {
      const { key, version } = request.params
      const operator = operatorOf(request)
      return noContent(
        reply,
        await retireKey(keys, operator, key, Number(version), repeatable(request)),
      )
    },
  )
  app.delete(
    '/keys/:key/versions/:version',
    {
      config: act,
      schema: { operationId: 'deleteKey', summary: 'Delete', tags, params: VersionParams, ...none },
    },
    async (request, reply) => {
      const { key, version } = request.params
      const operator = operatorOf(request)
      return noContent(
        reply,
        await deleteKey(keys, operator, key, Number(version), repeatable(request)),
      )
    },
  )
  app.post(
    '/keys/zones/retire',
    {
      config: actWithBody,
      schema: {
        operationId: 'retireZoneKey',
        summary: 'Retire a zone key or a zone master key',
        tags,
        body: Type.Object({ key: keyName, clientId: targetMembers.clientId }, closed),
        ...none,
      },
    },
    async (request, reply) => {
      const { clientId = null, key } = request.body
      return noContent(
        reply,
        await retireZone(keys, operatorOf(request), key, clientId, repeatable(request)),
      )
    },
  )
}
