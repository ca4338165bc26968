import Type from 'typebox'
import { listKeyActs } from '../../../operations/audit/acts.ts'
import type { KeyOperations } from '../../../operations/keys/keys.ts'
import { type KeyPosition, keyFamilies, listKeys } from '../../../operations/keys/list-keys.ts'
import { generateKey } from '../../../operations/keys/make-key.ts'
import { deleteKey, retireKey, retireNamedKey } from '../../../operations/keys/retire.ts'
import { rotateKey } from '../../../operations/keys/rotate.ts'
import { rotateMasterKey } from '../../../operations/keys/rotate-master-key.ts'

import { pageOf, parseLimit, readCursor } from '../../http/pages.ts'
import { answerOf, noContent, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import {
  checkValue,
  closedObject,
  formMembers,
  formOf,
  KeptVersionSchema,
  KeyActSchema,
  KeyParamsSchema,
  keyName,
  ListedKeySchema,
  targetMembers,
  targetOf,
  VersionParamsSchema,
  versionOf,
} from '../schemas/keys.ts'
import { PageQuerySchema } from '../schemas/products.ts'
import { operatorOf, parseActPosition } from './audit.ts'
import { travelRoutes } from './key-transport.ts'

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
export function hsmKeyRoutes(app: Server['app'], keys: KeyOperations): void {
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
      const acts = await listKeyActs(keys, after, pageSize + 1)
      return pageOf(request, reply, acts, pageSize, ({ actId, at }) => [at, actId])
    },
  )
  makingRoutes(app, keys)
  travelRoutes(app, keys)
  lifeRoutes(app, keys)
}

const NewKeySchema = Type.Object(
  { ...targetMembers, ...formMembers, exportable: Type.Optional(Type.Boolean()) },
  closedObject,
)

function makingRoutes(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/keys',
    {
      config: { ...actWithBody, problems: ['key_in_use', 'key_refused'] },
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
      config: { ...act, problems: ['key_in_use'] },
      schema: {
        operationId: 'rotateKey',
        summary: 'Rotate a key',
        tags,
        params: KeyParamsSchema,
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

function masterKeyRoute(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/keys/master-key/rotate',
    {
      config: { ...actWithBody, problems: ['key_in_use', 'key_refused'] },
      schema: {
        operationId: 'rotateMasterKey',
        summary: 'Rotate the master key',
        tags,
        body: Type.Object({ keyCheckValue: Type.Optional(checkValue) }, closedObject),
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

function lifeRoutes(app: Server['app'], keys: KeyOperations): void {
  const none = { response: { 204: Type.Null() } }
  app.post(
    '/keys/:key/versions/:version/retire',
    {
      config: { ...act, problems: ['key_in_use'] },
      schema: {
        operationId: 'retireKey',
        summary: 'Retire',
        tags,
        params: VersionParamsSchema,
        ...none,
      },
    },
    async (request, reply) => {
      const { key, version } = versionOf(request)
      const operator = operatorOf(request)
      return noContent(
        reply,
        await retireKey(keys, operator, { keyName: key, keyVersion: version }, repeatable(request)),
      )
    },
  )
  app.delete(
    '/keys/:key/versions/:version',
    {
      config: { ...act, problems: ['key_in_use'] },
      schema: {
        operationId: 'deleteKey',
        summary: 'Delete',
        tags,
        params: VersionParamsSchema,
        ...none,
      },
    },
    async (request, reply) => {
      const { key, version } = versionOf(request)
      const operator = operatorOf(request)
      return noContent(
        reply,
        await deleteKey(keys, operator, { keyName: key, keyVersion: version }, repeatable(request)),
      )
    },
  )
  app.post(
    '/keys/zones/retire',
    {
      config: { ...actWithBody, problems: ['not_found'] },
      schema: {
        operationId: 'retireZoneKey',
        summary: 'Retire a zone key or a zone master key',
        tags,
        body: Type.Object({ key: keyName, clientId: targetMembers.clientId }, closedObject),
        ...none,
      },
    },
    async (request, reply) => {
      const { clientId = null, key } = request.body
      return noContent(
        reply,
        await retireNamedKey(keys, operatorOf(request), { key, clientId }, repeatable(request)),
      )
    },
  )
}
