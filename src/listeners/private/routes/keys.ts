import Type from 'typebox'
import { listKeyActs } from '../../../operations/acts/acts.ts'
import {
  type KeyPosition,
  keyFamilies,
  type ListedKey,
  listKeys,
} from '../../../operations/keys/list-keys.ts'
import { generateKey } from '../../../operations/keys/make-key.ts'
import { deleteKey, retireKey, retireNamedKey } from '../../../operations/keys/retire.ts'
import { rotateKey } from '../../../operations/keys/rotate.ts'
import { rotateMasterKey } from '../../../operations/keys/rotate-master-key.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { closed } from '../../http/validation.ts'
import { createRequester, keysAct, keysChange, keysRead, type PrivateApi } from '../api.ts'
import * as keySchemas from '../schemas/keys.ts'
import { ActReasonSchema, actReason } from '../schemas/reasons.ts'
import { parseActPosition } from './audit.ts'

const tags = ['Keys']

/** Routes for keys and the acts on them. No call contains a clear key. */
export function keyRoutes({ app, keys }: PrivateApi): void {
  app.get(
    '/keys',
    {
      config: keysRead,
      schema: {
        operationId: 'listKeys',
        summary: 'List keys',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(keySchemas.ListedKeySchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, parseKeyPosition)
      const listed = await listKeys(keys, after, pageSize + 1)
      return cutPage(request, reply, listed.map(showKey), {
        limit: pageSize,
        toPosition: (last) => [last.family, last.key, last.version ?? 0, last.clientId ?? ''],
      })
    },
  )
  app.get(
    '/keys/acts',
    {
      config: keysRead,
      schema: {
        operationId: 'listKeyActs',
        summary: 'List acts on keys',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(keySchemas.KeyActSchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, parseActPosition)
      const acts = await listKeyActs(keys, after, pageSize + 1)
      return cutPage(request, reply, acts, {
        limit: pageSize,
        toPosition: ({ at, number }) => [at, number],
      })
    },
  )
}

/** Routes that generate keys. */
export function newKeyRoutes({ app, keys }: PrivateApi): void {
  app.post(
    '/keys',
    {
      config: { ...keysChange, problems: ['key_in_use', 'key_refused'] },
      schema: {
        operationId: 'generateKey',
        summary: 'Generate a key',
        tags,
        body: Type.Object(
          {
            ...keySchemas.targetMembers,
            ...keySchemas.formMembers,
            exportable: Type.Optional(Type.Boolean()),
          },
          closed,
        ),
        response: { 201: keySchemas.KeptVersionSchema },
      },
    },
    async (request, reply) => {
      const { exportable = false, ...body } = request.body
      const key = {
        target: keySchemas.parseKeyTarget(body),
        form: keySchemas.parseKeyForm(body),
        exportable,
      }
      const answer = await generateKey(keys, createRequester(request), key, repeatable(request))
      return reply.code(201).send(markReplay(reply, answer))
    },
  )
  app.post(
    '/keys/:key/rotate',
    {
      config: { ...keysAct, problems: ['key_in_use'] },
      schema: {
        operationId: 'rotateKey',
        summary: 'Rotate a key',
        tags,
        params: keySchemas.KeyParamsSchema,
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
      const answer = await rotateKey(keys, createRequester(request), key, repeatable(request))
      return reply.code(202).send(markReplay(reply, answer))
    },
  )
}

/** Rotates the key that wraps all others. */
export function rotateMasterKeyRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/keys/master-key/rotate',
    {
      config: {
        ...keysChange,
        problems: ['key_in_use', 'key_refused'],
        approval: { kinds: ['master-key-rotation'] },
      },
      schema: {
        operationId: 'rotateMasterKey',
        summary: 'Rotate the master key',
        tags,
        body: Type.Object(
          { keyCheckValue: Type.Optional(keySchemas.checkValue), reason: actReason },
          closed,
        ),
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
      const { keyCheckValue, reason } = request.body
      const checkValue = keyCheckValue?.toUpperCase() ?? null
      const operator = createRequester(request, reason)
      return markReplay(
        reply,
        await rotateMasterKey(keys, operator, checkValue, repeatable(request)),
      )
    },
  )
}

const none = { response: { 204: Type.Null() } }

/** Routes that end keys: retired ones protect no new data, deleted ones no longer exist. */
export function endKeyRoutes({ app, keys }: PrivateApi): void {
  app.post(
    '/keys/:key/versions/:version/retire',
    {
      config: { ...keysAct, problems: ['key_in_use'], approval: { kinds: ['key-retirement'] } },
      schema: {
        operationId: 'retireKey',
        summary: 'Retire',
        tags,
        params: keySchemas.VersionParamsSchema,
        body: ActReasonSchema,
        ...none,
      },
    },
    async (request, reply) => {
      const { key, version } = keySchemas.parseKeyVersion(request)
      const operator = createRequester(request, request.body?.reason)
      return noContent(
        reply,
        await retireKey(keys, operator, { keyName: key, keyVersion: version }, repeatable(request)),
      )
    },
  )
  app.post(
    '/keys/:key/versions/:version/delete',
    {
      config: { ...keysAct, problems: ['key_in_use'], approval: { kinds: ['key-deletion'] } },
      schema: {
        operationId: 'deleteKey',
        summary: 'Delete',
        tags,
        params: keySchemas.VersionParamsSchema,
        body: ActReasonSchema,
        ...none,
      },
    },
    async (request, reply) => {
      const { key, version } = keySchemas.parseKeyVersion(request)
      const operator = createRequester(request, request.body?.reason)
      return noContent(
        reply,
        await deleteKey(keys, operator, { keyName: key, keyVersion: version }, repeatable(request)),
      )
    },
  )
}

/** Retires a key without versions: a zone key, or a zone master key. */
export function retireZoneKeyRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/keys/zones/retire',
    {
      config: { ...keysChange, problems: ['not_found'], approval: { kinds: ['key-retirement'] } },
      schema: {
        operationId: 'retireZoneKey',
        summary: 'Retire a zone key or a zone master key',
        tags,
        body: Type.Object(
          {
            key: keySchemas.keyName,
            clientId: keySchemas.targetMembers.clientId,
            reason: actReason,
          },
          closed,
        ),
        ...none,
      },
    },
    async (request, reply) => {
      const { clientId = null, key, reason } = request.body
      return noContent(
        reply,
        await retireNamedKey(
          keys,
          createRequester(request, reason),
          { key, clientId },
          repeatable(request),
        ),
      )
    },
  )
}

/** Parses the end of a page of keys from its cursor. */
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

/** Converts instants to texts (RFC 3339), as in the schema. */
function showKey({ reEncryption, rotationDueAt, ...key }: ListedKey) {
  return {
    ...key,
    createdAt: showInstant(key.createdAt),
    activatesAt: showInstant(key.activatesAt),
    activatedAt: showInstant(key.activatedAt),
    retiredAt: showInstant(key.retiredAt),
    ...(rotationDueAt !== undefined && { rotationDueAt: showInstant(rotationDueAt) }),
    reEncryption: reEncryption && {
      ...reEncryption,
      startedAt: showInstant(reEncryption.startedAt),
      finishedAt: showInstant(reEncryption.finishedAt),
    },
  }
}

const showInstant = (at: Date | null): string | null => at?.toISOString() ?? null
