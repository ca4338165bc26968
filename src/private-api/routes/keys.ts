import Type from 'typebox'
import type { Server } from '../../http/server.ts'
import { generateKey } from '../../key-management/generate-key.ts'
import type { KeyManagement } from '../../key-management/key-management.ts'
import { listActs } from '../../key-management/list-acts.ts'
import { listKeys } from '../../key-management/list-keys.ts'
import { deleteKey, retireKey } from '../../key-management/retire-key.ts'
import { retireZone } from '../../key-management/retire-zone.ts'
import { rotateKey } from '../../key-management/rotate-key.ts'
import { rotateMasterKey } from '../../key-management/rotate-master-key.ts'
import {
  checkValue,
  closed,
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
} from './key-schemas.ts'
import { travelRoutes } from './key-travel.ts'
import { operatorOf } from './operator.ts'

const admin = { access: 'admin' } as const
const adminWithBody = { access: 'admin', bodyRequired: true } as const
const tags = ['Keys']

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
        response: { 200: Type.Array(ListedKeySchema) },
      },
    },
    async () => [...(await listKeys(keys))] as never,
  )
  app.get(
    '/keys/acts',
    {
      config: admin,
      schema: {
        operationId: 'listKeyActs',
        summary: 'List what was done to keys',
        tags,
        response: { 200: Type.Array(KeyActSchema) },
      },
    },
    async () => (await listActs(keys)).map(({ at, ...act }) => ({ at: at.toISOString(), ...act })),
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
      config: { ...adminWithBody, problems: ['key_in_use', 'key_refused'] },
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
      return reply.code(201).send(await generateKey(keys, operatorOf(request), key))
    },
  )
  app.post(
    '/keys/:key/rotate',
    {
      config: { ...admin, problems: ['key_in_use'] },
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
      const { activatesAt, ...rotation } = await rotateKey(
        keys,
        operatorOf(request),
        request.params.key,
      )
      return reply.code(202).send({ ...rotation, activatesAt: activatesAt?.toISOString() ?? null })
    },
  )
  masterKeyRoute(app, keys)
}

function masterKeyRoute(app: Server['app'], keys: KeyManagement): void {
  app.post(
    '/keys/master-key/rotate',
    {
      config: { ...adminWithBody, problems: ['key_in_use', 'key_refused'] },
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
    async (request) =>
      rotateMasterKey(keys, operatorOf(request), request.body.keyCheckValue?.toUpperCase() ?? null),
  )
}

function lifeRoutes(app: Server['app'], keys: KeyManagement): void {
  const none = { response: { 204: Type.Null() } }
  app.post(
    '/keys/:key/versions/:version/retire',
    {
      config: { ...admin, problems: ['key_in_use'] },
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
      await retireKey(keys, operatorOf(request), key, version)
      return reply.code(204).send(null)
    },
  )
  app.delete(
    '/keys/:key/versions/:version',
    {
      config: { ...admin, problems: ['key_in_use'] },
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
      await deleteKey(keys, operatorOf(request), key, version)
      return reply.code(204).send(null)
    },
  )
  app.post(
    '/keys/zones/retire',
    {
      config: { ...adminWithBody, problems: ['not_found'] },
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
      await retireZone(keys, operatorOf(request), key, clientId)
      return reply.code(204).send(null)
    },
  )
}
